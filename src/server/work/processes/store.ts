import type { KindIn } from '../../../api/events.ts';
import type { Process } from '../../../api/processes.ts';
import { notFoundError } from '../../../api/errors.ts';
import type { EventBody } from '../../../core/events/event.ts';
import type { EventLog } from '../../../core/events/log.ts';
import type { Database } from '../../../core/store/database.ts';
import { RecordTable } from '../../../core/store/records.ts';
import { ownerOf, processInEvents } from './process.ts';
import type { OutputPayload } from './output.ts';
import type { Reader, Writer } from '../../../core/store/transaction.ts';

/** The external caller that owns a process, as the index over it has it. */
export const CALLER = "record ->> '$.caller_id'";
const UNFINISHED = "status IN ('queued', 'running')";

/** A session, or an external caller by the id of its token. */
export type ProcessOwner = { session_id: string } | { caller_id: string };

/** The rows of processes. Each change is written with its event, in one transaction. */
export class ProcessStore {
  readonly processes: RecordTable<Process>;
  readonly #log: EventLog;

  constructor({ db, log }: { db: Database; log: EventLog }) {
    this.#log = log;
    this.processes = new RecordTable(db, 'processes', ({ process_id }) => process_id);
  }

  /**
   * Returns a process of `owner`, the id of a session or of an external caller (undefined: of any). Throws `not_found`,
   * also for another owner's process.
   */
  process(rx: Reader, id: string, owner?: string): Process {
    const process = this.processes.get(rx, id);
    if (process && (owner === undefined || ownerOf(process) === owner)) return process;
    throw notFoundError(`process "${id}" not found`);
  }

  create(tx: Writer, process: Process): void {
    this.processes.insert(tx, process);
    this.#append(tx, process, { kind: 'process.queued', payload: { process } });
  }

  /** Writes a process in its new state. The event of its end lets the log remove the events of its output. */
  move(
    tx: Writer,
    process: Process,
    kind: Exclude<KindIn<'process'>, 'process.queued' | 'process.output'>,
  ): void {
    this.processes.update(tx, process);
    this.#append(tx, process, { kind, payload: { process: processInEvents(process) } });
  }

  appendOutput(tx: Writer, process: Process, payload: OutputPayload): void {
    this.#append(tx, process, { kind: 'process.output', payload });
  }

  /** Returns the offset up to which events have announced an output of a process that has not ended. */
  announced(rx: Reader, processId: string, stream: OutputPayload['stream']): number {
    const last = this.#log.lastOutput(rx, processId, stream);
    return last ? last.offset + last.bytes : 0;
  }

  /** Returns the queued and running processes; at startup, those that the previous run left. Oldest first. */
  unfinished(rx: Reader): Process[] {
    return this.processes.where(rx, UNFINISHED);
  }

  /** Returns the queued and running processes whose `cwd` is a directory or below it. */
  unfinishedIn(rx: Reader, directory: string): Process[] {
    return this.processes.where(
      rx,
      `${UNFINISHED} AND substr(record ->> '$.cwd' || '/', 1, length(?1)) = ?1`,
      `${directory}/`,
    );
  }

  unfinishedOf(rx: Reader, owner: ProcessOwner): Process[] {
    return 'session_id' in owner
      ? this.processes.where(rx, `session_id = ? AND ${UNFINISHED}`, owner.session_id)
      : this.processes.where(rx, `${CALLER} = ? AND ${UNFINISHED}`, owner.caller_id);
  }

  /** Returns the process that ended first, of those that `isWanted` and that retention has not trimmed. */
  oldestTrimmable(rx: Reader, isWanted: (process: Process) => boolean): Process | undefined {
    return this.processes.firstIntact(
      rx,
      {
        index: 'processes_trimmable',
        where: "status NOT IN ('queued', 'running') AND trimmed IS NOT 1",
        order: 'ended_at',
      },
      isWanted,
    );
  }

  /** Marks a process as trimmed: retention has removed all of it but its record. */
  markTrimmed(tx: Writer, process: Process): void {
    this.processes.update(tx, { ...process, trimmed: true });
  }

  #append(tx: Writer, { process_id, session_id }: Process, body: EventBody): void {
    this.#log.append(tx, { ...body, process_id, session_id });
  }
}
