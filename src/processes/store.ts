import type { KindIn } from '../api/events.ts';
import type { Process } from '../api/processes.ts';
import { AppError } from '../errors.ts';
import type { EventBody } from '../events/event.ts';
import type { EventLog } from '../events/log.ts';
import type { Database } from '../store/database.ts';
import { RecordTable } from '../store/records.ts';
import { hasEnded, processInEvents } from './process.ts';
import type { OutputNews } from './output.ts';

/** The rows of processes. Each change is written with the event that tells of it. */
export class ProcessStore {
  readonly processes: RecordTable<Process>;
  readonly #log: EventLog;

  constructor({ db, log }: { db: Database; log: EventLog }) {
    this.#log = log;
    this.processes = new RecordTable(db, 'processes', ({ process_id }) => process_id);
  }

  /** A process as `owner` may see it (undefined: all). Throws `not_found`, also for another owner's process. */
  process(id: string, owner?: string): Process {
    const process = this.processes.get(id);
    if (process && (owner === undefined || process.session_id === owner)) return process;
    throw new AppError('not_found', `no process "${id}"`);
  }

  create(process: Process): void {
    this.processes.insert(process);
    this.#append(process, { kind: 'process.queued', payload: { process } });
  }

  /** Writes a process that moved on. Once it has ended, what it printed may leave the log. */
  move(
    process: Process,
    kind: Exclude<KindIn<'process'>, 'process.queued' | 'process.output'>,
  ): void {
    this.processes.update(process);
    this.#append(process, { kind, payload: { process: processInEvents(process) } });
    if (hasEnded(process)) this.#log.settleItem(process.process_id);
  }

  tellOutput(process: Process, news: OutputNews): void {
    this.#append(process, { kind: 'process.output', payload: news });
  }

  /** Processes that a dead server left as they were, oldest first. */
  unfinished(): Process[] {
    return this.processes.where("status IN ('queued', 'running')");
  }

  /** Processes that run in a directory, or below it, or are to. */
  unfinishedIn(directory: string): Process[] {
    return this.processes.where(
      "status IN ('queued', 'running') AND substr(record ->> '$.cwd' || '/', 1, ?) = ?",
      directory.length + 1,
      `${directory}/`,
    );
  }

  unfinishedOf(sessionId: string): Process[] {
    return this.processes.where("session_id = ? AND status IN ('queued', 'running')", sessionId);
  }

  /** The process that ended first of those that retention has not taken everything of. */
  oldestTrimmable(): Process | undefined {
    return this.processes.first(
      {
        index: 'processes_trimmable',
        where: "status NOT IN ('queued', 'running') AND trimmed IS NOT 1",
        order: 'ended_at',
      },
      1,
    )[0];
  }

  /** Writes that nothing is left of a process but its record. */
  markTrimmed(process: Process): void {
    this.processes.update({ ...process, trimmed: true });
  }

  #append({ process_id, session_id }: Process, body: EventBody): void {
    this.#log.append({ ...body, process_id, session_id });
  }
}
