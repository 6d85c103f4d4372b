import path from 'node:path';
import type { BodyOf, QueryOf, ResponseOf } from '../../../api/endpoint.ts';
import type {
  createProcess,
  getProcessLogs,
  listProcesses,
  Process,
  ProcessDiagnostics,
  waitForProcess,
  writeToProcess,
} from '../../../api/processes.ts';
import type { Session } from '../../../api/sessions.ts';
import { invalidError, isAppError } from '../../../api/errors.ts';
import { assertOpen } from '../../conversations/sessions/session.ts';
import { workingDirectory } from '../../conversations/sessions/working-directory.ts';
import type { RecordPage } from '../../../core/store/records.ts';
import { assertCommand, assertProgram } from './command.ts';
import type { StreamName } from './output.ts';
import { hasEnded, requestKill } from './process.ts';
import type { PrivateDirs } from '../../../core/children/sandbox/private-directories.ts';
import { Undo } from '../../../core/lib/undo.ts';
import { readOn, readPiece, readTail } from './reading.ts';
import type { ProcessDependencies } from './dependencies.ts';
import type { SurvivingProcess } from './surviving-processes.ts';
import type { ProcessRunner } from './runner.ts';
import { CALLER, type ProcessOwner } from './store.ts';
import { waitFor } from './waits.ts';
import type { Reader, Writer } from '../../../core/store/transaction.ts';

/** The maximum size of a frame of a log stream, in bytes. */
const PIECE_BYTES = 64 * 1024;

/** A command to run. `caller_id` is the external caller that owns it, by the id of its token. */
type NewProcess = BodyOf<typeof createProcess> & { caller_id?: string | null };

/** Runs in the transaction that stores a process. */
type AndThen = (tx: Writer, process: Process) => void;

type Dependencies = Pick<
  ProcessDependencies,
  | 'db'
  | 'store'
  | 'sessionStore'
  | 'supervisor'
  | 'sandbox'
  | 'clock'
  | 'logger'
  | 'ids'
  | 'settings'
  | 'assertRoom'
> & { runner: ProcessRunner };

/** The use-cases of processes. Each method resolves once its result is on disk. */
export class ProcessService {
  readonly #deps: Dependencies;

  constructor(deps: Dependencies) {
    this.#deps = deps;
  }

  /** Runs the command of a process again, once the process has ended; one that still runs is ended. */
  async restart(id: string, owner: string | undefined, andThen?: AndThen): Promise<Process> {
    return this.run(await this.get(id, owner), andThen, id);
  }

  /** Accepts a command. It starts as soon as there is room for it, and after the end of the process `old`. */
  async run(body: NewProcess, andThen?: AndThen, old?: string): Promise<Process> {
    this.#deps.assertRoom();
    const { command, session_id = null, caller_id = null, on_exit } = body;
    const settings = this.#deps.settings();
    assertCommand(command, settings.allow_shell);
    if (on_exit && session_id === null)
      throw invalidError(
        'on_exit: the process has no session to notify: set session_id to the session that owns the process',
      );
    const owner =
      session_id === null ? null : this.#deps.db.peek((rx) => this.#owner(rx, session_id));
    const cwd = await workingDirectory(path.resolve(owner?.cwd ?? '.', body.cwd ?? '.'));
    if (!settings.allow_shell) await assertProgram(command, cwd, globalThis.process.env.PATH);
    const own = this.#deps.sandbox.privateDirectories({ session_id, caller_id });
    const sandbox = await this.#sandboxOf(body, owner, cwd, own);
    if (body.outlive) this.#assertMayOutlive(body);
    await using published = new Undo();
    published.use(await this.#deps.sandbox.publish(sandbox?.kept ?? null, body.ports ?? []));
    using reservation = this.#deps.runner.reserve(session_id ?? caller_id);
    const queued = this.#queued(body, cwd, sandbox !== null);
    using prepared = this.#deps.runner.prepare(queued, reservation, { sandbox, after: old });
    await this.#deps.db.transact((tx) => {
      if (session_id !== null) this.#owner(tx, session_id);
      if (old !== undefined) this.#kill(tx, old, undefined, 'restarted');
      this.#deps.runner.accept(tx, prepared);
      return queued;
    }, andThen);
    this.#tidyAfter(queued, sandbox === null ? null : (owner?.cwd ?? cwd), published.move());
    return queued;
  }

  /** Continues with processes that another server has left. */
  async attach(left: readonly SurvivingProcess[]): Promise<void> {
    const { db, runner, sandbox, sessionStore, logger } = this.#deps;
    await runner.attach(left);
    for (const { process } of left) {
      const { process_id, session_id, cwd } = process;
      const kept = runner.find(process_id)?.child?.sandbox;
      if (!kept) continue;
      const root = session_id ? db.peek((rx) => sessionStore.session(rx, session_id).cwd) : cwd;
      const ports = await sandbox.publish(kept, process.ports ?? []).catch((error: unknown) => {
        logger.warn({ err: error, process_id }, 'cannot publish the ports of a process again');
        return new Undo();
      });
      this.#tidyAfter(process, root, ports);
    }
  }

  /** Closes the ports of a process once it has ended, and removes what it has left in the root of its sandbox (null: it has none). */
  #tidyAfter({ process_id }: Process, root: string | null, ports: AsyncDisposable): void {
    void this.#deps.runner.done(process_id).then(async () => {
      await ports[Symbol.asyncDispose]();
      if (root !== null) await this.#deps.sandbox.sweep(root);
    });
  }

  /** Throws `invalid` for a process that cannot outlive the server. */
  #assertMayOutlive({ stdin }: NewProcess): void {
    if (!this.#deps.supervisor.canOutlive)
      throw invalidError(
        'outlive: processes end with the server, because server.reattach_ms is 0: set server.reattach_ms in the configuration, and restart the server',
      );
    if (stdin === 'pipe')
      throw invalidError(
        'outlive: a process that reads input ends with the server: omit stdin, or omit outlive',
      );
  }

  /** Resolves with the sandbox of a command. A process of a session can write only the directory of the session, not its own `cwd`. */
  #sandboxOf(
    { session_id = null, caller_id = null }: NewProcess,
    owner: Session | null,
    cwd: string,
    own: PrivateDirs,
  ) {
    const { sandbox } = this.#deps;
    const childClass = (session_id ?? caller_id) === null ? 'user' : 'tools';
    const chosen = owner?.sandbox;
    return sandbox.planFor(childClass, { root: owner?.cwd ?? cwd, cwd, own, chosen });
  }

  #queued(body: NewProcess, cwd: string, isSandboxed: boolean): Process {
    const { session_id, caller_id, command, on_exit, ports } = body;
    return {
      process_id: this.#deps.ids.next('proc'),
      session_id: session_id ?? null,
      caller_id: caller_id ?? null,
      command,
      cwd,
      status: 'queued',
      pid: null,
      exit_code: null,
      signal: null,
      stdin: body.stdin ?? 'none',
      outlive: body.outlive ?? false,
      timeout_ms: body.timeout_ms ?? this.#deps.settings().default_timeout_ms,
      kill_requested_at: null,
      kill_reason: null,
      failure: null,
      stdout_bytes: 0,
      stderr_bytes: 0,
      stdout_truncated: false,
      stderr_truncated: false,
      on_exit: on_exit ?? null,
      notice: null,
      queued_at: this.#deps.clock.now(),
      started_at: null,
      ended_at: null,
      ...(ports?.length ? { ports } : {}),
      sandbox: isSandboxed,
      trimmed: false,
    };
  }

  get(id: string, owner?: string): Promise<Process> {
    return this.#deps.db.read((rx) =>
      this.#deps.runner.withTotals(this.#deps.store.process(rx, id, owner)),
    );
  }

  async list(
    query: QueryOf<typeof listProcesses> & { caller_id?: string },
  ): Promise<RecordPage<Process>> {
    const { db, sessionStore, store, runner } = this.#deps;
    const { session_id, caller_id, status, limit, cursor } = query;
    return db.read((rx) => {
      if (session_id !== undefined) sessionStore.session(rx, session_id);
      const filters = { session_id, [CALLER]: caller_id, status };
      const page = store.processes.page(rx, filters, limit, cursor);
      return { ...page, records: page.records.map((process) => runner.withTotals(process)) };
    });
  }

  /** Ends a process. Resolves once the request is on disk. A process that has ended is returned unchanged. */
  kill(
    id: string,
    owner: string | undefined,
    reason: string | null,
    andThen?: AndThen,
  ): Promise<Process> {
    return this.#deps.db.transact((tx) => this.#kill(tx, id, owner, reason), andThen);
  }

  #kill(tx: Writer, id: string, owner: string | undefined, reason: string | null): Process {
    const { store, runner } = this.#deps;
    const found = store.process(tx, id, owner);
    if (hasEnded(found)) return found;
    const asked = requestKill(found, reason, this.#deps.clock.now());
    store.move(tx, asked, 'process.kill_requested');
    tx.whenDurable(() => runner.kill(id, { status: 'killed', reason }));
    return runner.withTotals(asked);
  }

  /** Sends input to a process; see `ProcessRunner.write`. Returns the number of bytes. */
  async write(
    id: string,
    owner: string | undefined,
    { data, encoding, eof }: BodyOf<typeof writeToProcess>,
  ): Promise<number> {
    await this.get(id, owner);
    const bytes = Buffer.from(data ?? '', encoding ?? 'utf8');
    if (encoding === 'base64' && bytes.toString('base64') !== data)
      throw invalidError('body.data: the data is not valid base64');
    await this.#deps.runner.write(id, bytes, eof ?? false);
    return bytes.length;
  }

  /** Ends the queued and running processes of an owner, once the transaction is on disk. */
  killAllOf(tx: Writer, owner: ProcessOwner, reason: string): void {
    for (const { process_id } of this.#deps.store.unfinishedOf(tx, owner))
      this.#kill(tx, process_id, undefined, reason);
  }

  async logs(
    id: string,
    query: QueryOf<typeof getProcessLogs> & { before_byte?: number | undefined },
  ): Promise<ResponseOf<typeof getProcessLogs>> {
    const process = await this.get(id, query.session_id);
    const { process_id } = process;
    const { tail_lines: lines, max_bytes: bytes, before_byte: before } = query;
    const bounds = { lines, bytes, before };
    if (query.from_byte !== undefined && query.stream === 'both')
      throw invalidError('from_byte requires the name of a stream: set stream to stdout or stderr');
    const part = async (stream: StreamName) => {
      if (query.stream !== 'both' && query.stream !== stream) return null;
      const file = this.#deps.runner.logPath(process_id, stream);
      const tail = await this.#noting(
        `${stream} of process ${process_id}`,
        query.from_byte === undefined
          ? readTail(file, bounds)
          : readOn(file, query.from_byte, bytes, await this.#hasEnded(process_id)),
      );
      // The file does not count the bytes that the disk refused, or that retention removed.
      const total_bytes = Math.max(tail.total_bytes, process[`${stream}_bytes`]);
      // Without output there is no log.
      const isEmpty = process.trimmed || total_bytes === 0;
      return {
        ...tail,
        total_bytes,
        truncated: tail.truncated || tail.bytes < total_bytes,
        verified: tail.verified || isEmpty,
      };
    };
    const [stdout, stderr] = await Promise.all([part('stdout'), part('stderr')]);
    return { process_id, stdout, stderr };
  }

  /**
   * Yields the output of a process from byte `from` on, until the process has ended and all of it was yielded. Once `ending`
   * aborts, yields only the stored output.
   */
  async *followOutput(
    id: string,
    {
      stream,
      from,
      signal,
      ending,
    }: { stream: StreamName; from: number; signal: AbortSignal; ending: AbortSignal },
  ): AsyncGenerator<{ offset: number; text: string; next: number }, void> {
    const file = this.#deps.runner.logPath(id, stream);
    let next = from;
    let changed = Promise.withResolvers<void>();
    const wake = () => changed.resolve();
    using _listening = this.#deps.runner.listen(id, wake);
    void this.#deps.runner.done(id).then(wake);
    signal.addEventListener('abort', wake, { once: true });
    ending.addEventListener('abort', wake, { once: true, signal });
    for (;;) {
      changed = Promise.withResolvers<void>();
      // Clients take the end of a stream for the end of the process, so the end has to be on disk.
      const isOver = await this.#hasEnded(id);
      const piece = await this.#noting(
        `${stream} of process ${id}`,
        readPiece(file, next, PIECE_BYTES, isOver),
      );
      if (signal.aborted) return;
      if (piece.text !== '') {
        next = piece.next;
        yield piece;
        continue;
      }
      if (isOver || ending.aborted) return;
      await changed.promise;
    }
  }

  /** Waits until the condition of the query holds, the process has ended, or the time limit is reached. */
  async wait(
    id: string,
    query: QueryOf<typeof waitForProcess>,
    disconnected: AbortSignal,
  ): Promise<ResponseOf<typeof waitForProcess>> {
    await this.get(id, query.session_id);
    const matched = await this.#noting(
      `the output of process ${id}`,
      waitFor(this.#deps, id, query, disconnected),
    );
    return { process: await this.get(id), matched };
  }

  diagnostics(): ProcessDiagnostics {
    const settings = this.#deps.settings();
    const { max_concurrent, max_queued, max_per_session, max_queued_per_session } = settings;
    const limits = { max_concurrent, max_queued, max_per_session, max_queued_per_session };
    return { ...this.#deps.runner.counts, ...limits, ended: { ...this.#deps.runner.ended } };
  }

  /** Notes the damage of a log that a read has found, so that health reports it. */
  async #noting<T>(what: string, read: Promise<T>): Promise<T> {
    try {
      return await read;
    } catch (error) {
      if (isAppError(error, 'storage_damaged'))
        this.#deps.db.damage.note('logs of processes', what);
      throw error;
    }
  }

  #hasEnded(id: string): Promise<boolean> {
    return this.#deps.db.read((rx) => hasEnded(this.#deps.store.process(rx, id)));
  }

  #owner(rx: Reader, id: string) {
    const owner = this.#deps.sessionStore.session(rx, id);
    assertOpen(owner);
    return owner;
  }
}
