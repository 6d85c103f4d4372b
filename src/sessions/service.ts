import fs from 'node:fs';
import path from 'node:path';
import type {
  createSession,
  InputItem,
  Item,
  listSessions,
  sendTurn,
  Session,
  Turn,
} from '../api/sessions.ts';
import type { BodyOf, QueryOf } from '../api/endpoint.ts';
import { AppError } from '../errors.ts';
import type { Clock } from '../lib/clock.ts';
import type { Ids } from '../lib/ids.ts';
import type { Provider } from '../providers/provider.ts';
import type { Database } from '../store/database.ts';
import type { RecordPage } from '../store/records.ts';
import { assertTakesTurn, beginTurn } from './session.ts';
import type { SessionStore } from './store.ts';
import type { TurnRunner } from './turn-runner.ts';

/** What can be done with sessions. Every answer is on disk, and so is what a refusal was decided by. */
export class SessionService {
  readonly #db: Database;
  readonly #store: SessionStore;
  readonly #runner: TurnRunner;
  readonly #clock: Clock;
  readonly #ids: Ids;
  readonly #usableProvider: (id: Session['provider']) => Provider;

  constructor(given: {
    db: Database;
    store: SessionStore;
    runner: TurnRunner;
    clock: Clock;
    ids: Ids;
    /** Throws `provider_unavailable` for one that could start no agent. */
    usableProvider: (id: Session['provider']) => Provider;
  }) {
    this.#db = given.db;
    this.#store = given.store;
    this.#runner = given.runner;
    this.#clock = given.clock;
    this.#ids = given.ids;
    this.#usableProvider = given.usableProvider;
  }

  /** Opens a session. Checks what is cheap to check; its agent starts with the first turn. */
  async create(body: BodyOf<typeof createSession>): Promise<Session> {
    const cwd = workingDirectory(body.cwd);
    if (body.permission_mode === 'require_approval') {
      throw new AppError(
        'invalid',
        'permission_mode "require_approval" is not supported by this version of cadre',
      );
    }
    this.#usableProvider(body.provider);
    const now = this.#clock.now();
    const session: Session = {
      id: this.#ids.next('sess'),
      provider: body.provider,
      model: body.model ?? null,
      cwd,
      permission_mode: body.permission_mode ?? null,
      thinking_effort: null,
      metadata: body.metadata ?? null,
      title: body.title ?? null,
      status: 'ready',
      active_turn_id: null,
      last_turn_id: null,
      provider_session_ref: null,
      worktree_id: null,
      usage: null,
      close_reason: null,
      failure: null,
      created_at: now,
      updated_at: now,
      closed_at: null,
    };
    await this.#db.transact(() => this.#store.createSession(session));
    return session;
  }

  get(id: string): Promise<Session> {
    return this.#db.read(() => this.#store.session(id));
  }

  list({
    status,
    provider,
    limit,
    cursor,
  }: QueryOf<typeof listSessions>): Promise<RecordPage<Session>> {
    return this.#db.read(() => this.#store.sessions.page({ status, provider }, limit, cursor));
  }

  /** Accepts a turn, in the transaction that decides whether it may: of two senders one wins. */
  async send(sessionId: string, body: BodyOf<typeof sendTurn>): Promise<Turn> {
    const input: InputItem[] = Array.isArray(body.input) ? body.input : [body.input];
    const turn = await this.#db.transact(() => {
      const session = this.#store.session(sessionId);
      assertTakesTurn(session, body.expected_turn_id);
      const accepted = this.#newTurn(sessionId, input);
      this.#store.acceptTurn(beginTurn(session, accepted, accepted.accepted_at), accepted);
      return accepted;
    });
    this.#runner.start(turn);
    return turn;
  }

  turn(sessionId: string, turnId: string): Promise<Turn> {
    return this.#db.read(() => this.#store.turn(sessionId, turnId));
  }

  turns(
    sessionId: string,
    { limit, cursor }: { limit: number; cursor?: string | undefined },
  ): Promise<RecordPage<Turn>> {
    return this.#db.read(() => {
      this.#store.session(sessionId);
      return this.#store.turns.page({ session_id: sessionId }, limit, cursor);
    });
  }

  items(sessionId: string, turnId: string): Promise<Item[]> {
    return this.#db.read(() => {
      this.#store.turn(sessionId, turnId);
      return this.#store.itemsOf(turnId);
    });
  }

  #newTurn(sessionId: string, input: InputItem[]): Turn {
    return {
      session_id: sessionId,
      turn_id: this.#ids.next('turn'),
      status: 'accepted',
      source: 'user',
      input,
      text: null,
      usage: null,
      error: null,
      provider_turn_ref: null,
      accepted_at: this.#clock.now(),
      started_at: null,
      ended_at: null,
    };
  }
}

/** The absolute, existing directory that was meant; the server's own where none was named. Throws `invalid`. */
function workingDirectory(named: string | null | undefined): string {
  const directory = path.resolve(named ?? process.cwd());
  if (named?.includes('\0')) throw new AppError('invalid', 'cwd holds a NUL character');
  const found = statIfAny(directory);
  if (!found) throw new AppError('invalid', `cwd "${directory}" does not exist`);
  if (!found.isDirectory()) throw new AppError('invalid', `cwd "${directory}" is not a directory`);
  return fs.realpathSync(directory);
}

function statIfAny(directory: string): fs.Stats | undefined {
  try {
    return fs.statSync(directory, { throwIfNoEntry: false });
  } catch (error) {
    throw new AppError(
      'invalid',
      `cwd "${directory.slice(0, 200)}" cannot be used: ${(error as NodeJS.ErrnoException).code}`,
    );
  }
}
