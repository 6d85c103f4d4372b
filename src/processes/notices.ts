import type { Process } from '../api/processes.ts';
import type { Turn } from '../api/sessions.ts';
import type { Clock } from '../lib/clock.ts';
import type { Ids } from '../lib/ids.ts';
import { beginTurn } from '../sessions/session.ts';
import type { SessionStore } from '../sessions/store.ts';
import { newTurn } from '../sessions/turn.ts';
import type { Database } from '../store/database.ts';
import type { Statement } from '../store/statement.ts';
import type { ProcessStore } from './store.ts';

/** The end of what a process printed that its owner is told, of each stream. */
export const NOTICE_TAIL = { lines: 40, bytes: 4096 };

/**
 * Tells owners of the end of processes that were started with `on_exit: notify`, as a turn: at once where the owner
 * is idle, else when its turn has ended; once, also over a restart. Every method belongs inside a transaction.
 */
export class ExitNotices {
  readonly #db: Database;
  readonly #store: ProcessStore;
  readonly #sessions: SessionStore;
  readonly #clock: Clock;
  readonly #ids: Ids;
  readonly #start: (turn: Turn) => void;
  readonly #insert: Statement;
  readonly #waiting: Statement<[n: number, process_id: string, text: string]>;
  readonly #owners: Statement<[session_id: string]>;
  readonly #delete: Statement;

  constructor(given: {
    db: Database;
    store: ProcessStore;
    sessions: SessionStore;
    clock: Clock;
    ids: Ids;
    /** Runs a turn that was accepted. */
    start: (turn: Turn) => void;
  }) {
    const { db } = given;
    this.#db = db;
    this.#store = given.store;
    this.#sessions = given.sessions;
    this.#clock = given.clock;
    this.#ids = given.ids;
    this.#start = given.start;
    this.#insert = db.prepare(
      'INSERT INTO process_notices (session_id, process_id, text) VALUES (?, ?, ?)',
    );
    this.#waiting = db.prepare(
      'SELECT n, process_id, text FROM process_notices WHERE session_id = ? ORDER BY n',
    );
    this.#owners = db.prepare('SELECT DISTINCT session_id FROM process_notices');
    this.#delete = db.prepare('DELETE FROM process_notices WHERE n = ?');
  }

  /** Keeps what the owner of a process wants to know, until `deliver`. */
  keep(process: Process, tails: { stdout: string; stderr: string }): void {
    const { session_id, process_id, notice } = process;
    if (session_id !== null && notice === 'pending')
      this.#insert.run(session_id, process_id, noticeText(process, tails));
  }

  /** Tells a session what waits for it, if it is idle. After an interrupt it rests until it is at work again. */
  deliver(sessionId: string): void {
    const session = this.#sessions.sessions.get(sessionId);
    const notices = this.#waiting.all(sessionId);
    if (!session || notices.length === 0) return;
    if (session.status === 'closed') {
      for (const notice of notices) this.#settle(notice, 'dropped');
      return;
    }
    const last = session.last_turn_id && this.#sessions.turns.get(session.last_turn_id);
    const rests = last && last.interrupt_requested_at !== null;
    if (session.status !== 'ready' || rests) return;
    for (const notice of notices) this.#settle(notice, 'delivered');
    const text = notices.map(([, , words]) => words).join('\n\n');
    const turn = newTurn({
      turn_id: this.#ids.next('turn'),
      session_id: sessionId,
      source: 'process_exit',
      input: [{ type: 'text', text }],
      accepted_at: this.#clock.now(),
    });
    this.#sessions.acceptTurn(beginTurn(session, turn, turn.accepted_at), turn);
    this.#db.whenDurable(() => this.#start(turn));
  }

  /** Tells whoever was not told before a restart. */
  deliverAll(): void {
    for (const [sessionId] of this.#owners.all()) this.deliver(sessionId);
  }

  #settle([n, processId]: [number, string, string], notice: 'delivered' | 'dropped'): void {
    this.#delete.run(n);
    const process = this.#store.processes.get(processId);
    if (process) this.#store.processes.update({ ...process, notice });
  }
}

/** What the owner is told of the end of a process. */
function noticeText(process: Process, tails: { stdout: string; stderr: string }): string {
  const { process_id, command, status, exit_code, signal, started_at, ended_at } = process;
  const ran = ((ended_at ?? 0) - (started_at ?? ended_at ?? 0)) / 1000;
  const how = [
    status,
    exit_code === null ? null : `exit code ${exit_code}`,
    signal === null ? null : `signal ${signal}`,
    `after ${ran.toFixed(1)} s`,
  ];
  const parts = Object.entries(tails)
    .filter(([, text]) => text !== '')
    .map(([stream, text]) => `${stream}, its end:\n${text.trimEnd()}`);
  const told = how.filter((one) => one !== null).join(', ');
  return [`Process ${process_id} has ended: ${told}.`, command.slice(0, 1000), ...parts].join('\n');
}
