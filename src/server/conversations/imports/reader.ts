import type { Session, Turn } from '../../../api/sessions.ts';
import type { ConversationProcess, PastTurn } from '../../../api/conversations.ts';
import { AppError, conflictError } from '../../../api/errors.ts';
import type { Conversations, StoredTurn } from '../../../agents/conversations.ts';
import { ProviderError } from '../../../agents/provider.ts';
import type { ServerParts } from '../../../core/events/server-parts.ts';
import { isFileError } from '../../../core/lib/foreign-file.ts';
import { inputText } from '../../../core/lib/input-text.ts';
import { plain } from '../../../core/lib/plain.ts';
import type { Writer } from '../../../core/store/transaction.ts';
import type { AgentPool } from '../sessions/agent-pool.ts';
import type { AgentKinds } from '../sessions/agent-slots.ts';
import type { SessionStore } from '../sessions/store.ts';
import type { Import, ImportStore } from './store.ts';

const BATCH = 50;
/**
 * The number of turns that are read at once, beyond a first reading, and of newest turns of the session that they are
 * compared with: all of the read turns may have run in cadre.
 */
const MAX_NEW = 200;
/** The accepted difference between the clocks of two records of one turn, in ms. */
const CLOCK_MS = 2000;
/** The compared length of a prompt, in UTF-16 code units. */
const COMPARED_TEXT = 500;
/** The beginning of the prompt after approvals of a turn without an agent. */
const CONTINUATION = 'Therequestbelowwasapprovedwhileyouwerenotrunning.';

interface ImportReaderDeps extends Pick<
  ServerParts,
  'db' | 'clock' | 'ids' | 'logger' | 'failpoint'
> {
  store: ImportStore;
  sessionStore: SessionStore;
  pool: AgentPool;
  kinds: AgentKinds;
}

type Continued = Pick<Session, 'provider' | 'agent'>;

/** Stores the turns of conversations that ran outside of this server, each exactly once. */
export class ImportReader {
  readonly #deps: ImportReaderDeps;
  readonly #reading = new Map<string, Promise<number>>();
  readonly #stopping = new AbortController();

  constructor(deps: ImportReaderDeps) {
    this.#deps = deps;
  }

  open(): void {
    const { db, store } = this.#deps;
    for (const { session_id } of db.peek((rx) => store.reading(rx))) this.start(session_id);
  }

  /** Leaves unfinished imports for the next start of the server. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the server is stopping'));
    await Promise.allSettled(this.#reading.values());
  }

  /** Reads new turns in the background. If that fails, the next turn of the session tries again. */
  start(sessionId: string): void {
    this.read(sessionId).catch((error: unknown) => {
      if (this.#stopping.signal.aborted) return;
      this.#deps.logger.warn({ err: error, session_id: sessionId }, 'cannot read past turns');
    });
  }

  /** Reads the turns since the last reading. Resolves with the number of stored turns, once they are on disk. */
  read(sessionId: string): Promise<number> {
    const running = this.#reading.get(sessionId);
    if (running) return running;
    const reading = this.#read(sessionId).finally(() => this.#reading.delete(sessionId));
    this.#reading.set(sessionId, reading);
    return reading;
  }

  /** Throws `conflict` if another process has the conversation of a session open, `provider_unavailable` if that is not known. */
  async assertFree(session: Session): Promise<void> {
    const held = session.imported ? await refusing(this.#holderOf(session)) : null;
    if (held) throw conflictError(inUseText(held));
  }

  /**
   * Prepares a turn of a session: stores what ran in the agent's own program, and ends an idle agent that does not know of
   * it. Throws ProviderError if another process has the conversation open.
   */
  async prepare(session: Session, signal: AbortSignal): Promise<void> {
    if (!session.imported) return;
    const held = await this.#holderOf(session);
    if (held) throw new ProviderError('in_use_elsewhere', inUseText(held));
    signal.throwIfAborted();
    if (this.conversationsOf(session).startsAgent && this.#deps.pool.find(session.id)) return;
    const aborted = new Promise<never>((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    });
    const added = await Promise.race([this.read(session.id), aborted]);
    if (added > 0) await this.#deps.pool.end(session.id);
  }

  /** Returns the conversations of an agent. Throws `conflict` if the agent does not list them. */
  conversationsOf({ provider, agent }: Continued): Conversations {
    const { conversations } = this.#deps.kinds.usable(provider, agent);
    if (conversations) return conversations;
    throw conflictError(
      `the agent of provider ${provider} does not list conversations of its own program`,
    );
  }

  async #holderOf(session: Session): Promise<ConversationProcess | null> {
    const { provider_session_ref: ref } = session;
    if (ref === null) return null;
    return (await this.conversationsOf(session).holders())(ref);
  }

  async #read(sessionId: string): Promise<number> {
    const { db, store, sessionStore, failpoint } = this.#deps;
    const { signal } = this.#stopping;
    const row = db.peek((rx) => store.imports.get(rx, sessionId));
    if (!row || row.conversation === null) return 0;
    const session = db.peek((rx) => sessionStore.session(rx, sessionId));
    const max = row.status === 'reading' ? row.history : MAX_NEW;
    const conversations = this.conversationsOf(session);
    const { cwd } = session;
    const read = await conversations.turns(row.ref, { after: row.head, max, cwd }, signal);
    const own = db.peek((rx) => sessionStore.newestTurns(rx, sessionId, MAX_NEW));
    const found = read.turns.filter((one) => !own.some((turn) => isSameTurn(one, turn)));
    failpoint('import.begun');
    let added = 0;
    for (let at = 0; at < found.length; at += BATCH) {
      signal.throwIfAborted();
      added += await this.#store(sessionId, found.slice(at, at + BATCH));
      failpoint('import.stored');
    }
    const isMoved = read.newest !== null && read.newest.ref !== row.head?.ref;
    if (row.status === 'reading' || added > 0 || isMoved)
      await this.#finish({ ...row, head: read.newest ?? row.head }, read.omitted);
    return added;
  }

  #store(sessionId: string, turns: readonly StoredTurn[]): Promise<number> {
    const { db, store } = this.#deps;
    return db.transact((tx) => {
      if (store.imports.get(tx, sessionId)?.conversation == null) return 0;
      const missing = turns.filter(({ ref }) => !store.hasTurn(tx, sessionId, ref));
      this.addTurns(tx, sessionId, missing);
      return missing.length;
    });
  }

  /** Stores turns as past turns of a session. */
  addTurns(tx: Writer, sessionId: string, turns: readonly StoredTurn[]): void {
    for (const turn of turns) this.#deps.store.addTurn(tx, this.#pastTurn(sessionId, turn));
  }

  #pastTurn(session_id: string, { occurredAt, items, ...turn }: StoredTurn): PastTurn {
    const { ids, clock } = this.#deps;
    return {
      past_turn_id: ids.next('past'),
      session_id,
      ...turn,
      items: items.map((item) => ({ ...item })),
      occurred_at: occurredAt,
      created_at: clock.now(),
    };
  }

  async #finish(row: Import, omitted: number): Promise<void> {
    const { db, store, sessionStore, clock } = this.#deps;
    await db.transact((tx) => {
      const now = store.imports.get(tx, row.session_id);
      if (now?.conversation == null) return;
      store.imports.update(tx, { ...now, head: row.head, status: 'done' });
      const session = sessionStore.session(tx, row.session_id);
      const { imported } = session;
      const past_turns = store.countTurns(tx, row.session_id);
      const isFirst = now.status === 'reading';
      if (!imported || (!isFirst && past_turns === imported.past_turns)) return;
      const omitted_turns = imported.omitted_turns + omitted;
      const changed = { ...imported, past_turns, omitted_turns, complete: true };
      sessionStore.updateSession(
        tx,
        { ...session, imported: changed, updated_at: clock.now() },
        isFirst ? 'session.imported' : 'session.updated',
      );
    });
  }
}

/** Whether a turn of a conversation is the same as a turn of the session: both have the same time and prompt. */
export function isSameTurn(
  { occurredAt, prompt }: Pick<StoredTurn, 'occurredAt' | 'prompt'>,
  { started_at, ended_at, input }: Pick<Turn, 'started_at' | 'ended_at' | 'input'>,
): boolean {
  if (started_at === null) return false;
  const isThen =
    occurredAt === null ||
    (occurredAt >= started_at - CLOCK_MS && occurredAt <= (ended_at ?? Infinity) + CLOCK_MS);
  if (!isThen) return false;
  const stored = comparable(prompt);
  return stored.startsWith(CONTINUATION) || stored === comparable(inputText(input));
}

function comparable(text: string): string {
  return plain(text.slice(0, 4 * COMPARED_TEXT))
    .replaceAll(/\s+/g, '')
    .slice(0, COMPARED_TEXT);
}

export function inUseText({ pid, program, status }: ConversationProcess): string {
  const what = [`process ${pid ?? 'unknown'}`, ...(status === null ? [] : [status])].join(', ');
  return `the conversation is open in ${program} (${what}): quit ${program} there, and try again`;
}

/** Turns errors of a provider and of its files into an AppError: they are not bugs of the server. */
export async function refusing<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof ProviderError) && !isFileError(error)) throw error;
    const { message } = error as Error;
    throw new AppError('provider_unavailable', message, { cause: error });
  }
}
