import type { BodyOf } from '../../../api/endpoint.ts';
import { AppError, conflictError, invalidError } from '../../../api/errors.ts';
import type { forkSession, rewindSession } from '../../../api/forks.ts';
import type { PastTurn } from '../../../api/conversations.ts';
import type { Item, Session, Turn } from '../../../api/sessions.ts';
import {
  type ForkPoint,
  type StoredItem,
  type StoredTurn,
  TurnCollector,
} from '../../../agents/conversations.ts';
import type { Worktree } from '../../../api/worktrees.ts';
import type { ServerParts } from '../../../core/events/server-parts.ts';
import { cutLine } from '../../../core/lib/cut-line.ts';
import { inputText } from '../../../core/lib/input-text.ts';
import type { SaveResponse } from '../../../core/store/idempotency-store.ts';
import type { Reader, Writer } from '../../../core/store/transaction.ts';
import { assertFree } from '../handoff/assert-free.ts';
import type { ImportService } from '../imports/service.ts';
import { type ImportStore, timeOf } from '../imports/store.ts';
import type { Inbox } from '../inbox/inbox.ts';
import type { SessionService } from '../sessions/service.ts';
import type { SessionStore } from '../sessions/store.ts';
import { hasEnded } from '../sessions/turn.ts';

/** The maximum number of turns that a fork copies. */
const MAX_TURNS = 200;
/** The program of past turns that were copied from a session. */
const CADRE = 'cadre';
const SUFFIX = ' (fork)';
const TITLE_CHARACTERS = 200;

type ForkRequest = BodyOf<typeof forkSession>;
type RewindRequest = BodyOf<typeof rewindSession>;
type WorktreeRequest = NonNullable<ForkRequest['worktree']>;

/** The files of the end of a turn. */
interface TurnFiles {
  /** The commit that was checked out. */
  commit: string;
  writeTo: (worktree: Worktree) => Promise<void>;
}

interface ForkServiceDeps extends Pick<ServerParts, 'db' | 'failpoint'> {
  store: SessionStore;
  imports: { store: ImportStore; service: Pick<ImportService, 'storeFork'> };
  sessions: SessionService;
  inbox: Inbox;
  claims: {
    make: (tx: Writer, worktreeId: string, sessionId: string) => void;
    moveAll: (tx: Writer, from: string, to: string) => void;
  };
  /** Opens a session in a worktree. Session, worktree and claim are all created, or none is. */
  openInWorktree: (
    request: WorktreeRequest,
    session: Session,
    how: {
      store: (tx: Writer, session: Session) => void;
      /** Writes the files of a new worktree. */
      fill: ((worktree: Worktree) => Promise<void>) | null;
    },
    saveResponse: SaveResponse | undefined,
  ) => Promise<Session>;
  /** Throws `not_found` or `conflict` if there is no usable snapshot. */
  filesOf: (turn: Turn) => Promise<TurnFiles>;
  /** Restores the directory of a session to the end of a turn. Throws `conflict` if somebody else changed files since. */
  restoreFiles: (turn: Turn) => Promise<void>;
}

interface Rows {
  store: SessionStore;
  imports: ImportStore;
}

interface History {
  /** Oldest first. */
  turns: StoredTurn[];
  /** The number of older turns that were left out. */
  omitted: number;
}

interface Plan {
  origin: Session;
  turn: Turn;
  session: Session;
  history: History;
}

/** The use cases of sessions that begin with the history of another one. */
export class ForkService {
  readonly #deps: ForkServiceDeps;

  constructor(deps: ForkServiceDeps) {
    this.#deps = deps;
  }

  /** Opens a session with the history of another one up to a turn, which must have completed. */
  async fork(
    sessionId: string,
    { worktree, files, ...request }: ForkRequest,
    saveResponse?: SaveResponse,
  ): Promise<Session> {
    const { db, claims, openInWorktree, filesOf, failpoint } = this.#deps;
    if (files === true && !worktree)
      throw invalidError('body.files: the files need a new worktree: set worktree too');
    const plan = await this.#plan(sessionId, request);
    const { origin, session, turn } = plan;
    const snapshot = files === true ? await filesOf(turn) : null;
    failpoint('fork.prepared');
    const forked = worktree
      ? await openInWorktree(
          snapshot ? withBase(worktree, snapshot.commit) : worktree,
          session,
          { store: (tx, opened) => this.#store(tx, plan, opened), fill: snapshot?.writeTo ?? null },
          saveResponse,
        )
      : await db.transact((tx) => {
          this.#store(tx, plan, session);
          const { worktree_id } = this.#deps.store.session(tx, origin.id);
          if (worktree_id !== null) claims.make(tx, worktree_id, session.id);
          return this.#deps.store.session(tx, session.id);
        }, saveResponse);
    failpoint('fork.stored');
    return forked;
  }

  /** Opens a fork that continues in place of a session, and closes this session, in one transaction. */
  async rewind(
    sessionId: string,
    { files, ...request }: RewindRequest,
    saveResponse?: SaveResponse,
  ): Promise<Session> {
    const { db, store, inbox, sessions, claims, restoreFiles, failpoint } = this.#deps;
    db.peek((rx) => assertFree(rx, store.session(rx, sessionId), { store, inbox }));
    const plan = await this.#plan(sessionId, request);
    const { origin, session, turn } = plan;
    if (files === true) await restoreFiles(turn);
    failpoint('fork.prepared');
    const { title, title_source } = origin;
    const draft = request.title == null ? { ...session, title, title_source } : session;
    const forked = await db.transact((tx) => {
      const now = store.session(tx, sessionId);
      assertFree(tx, now, { store, inbox });
      if (now.last_turn_id !== origin.last_turn_id)
        throw conflictError(
          `session ${sessionId} has had another turn meanwhile: rewind the session again`,
        );
      this.#store(tx, plan, draft);
      claims.moveAll(tx, sessionId, session.id);
      const { id: continued_by } = session;
      const rewound = { ...store.session(tx, sessionId), continued_by };
      store.updateSession(tx, rewound, 'session.rewound');
      const reason = `rewound to turn ${turn.turn_id}: session ${continued_by} continues`;
      sessions.closeNow(tx, rewound, reason);
      return store.session(tx, continued_by);
    }, saveResponse);
    failpoint('fork.stored');
    return forked;
  }

  async #plan(
    sessionId: string,
    { turn_id, title }: { turn_id?: string | null | undefined; title?: string | null | undefined },
  ): Promise<Plan> {
    const { db, store, imports, sessions } = this.#deps;
    const rows = { store, imports: imports.store };
    const { origin, turn, history } = await db.read((rx) => {
      const found = store.session(rx, sessionId);
      const last = this.#turnOf(rx, found, turn_id ?? null);
      return { origin: found, turn: last, history: readHistory(rx, found, last, rows) };
    });
    const draft = await sessions.draft({ ...forkSettings(origin), title });
    const session: Session = {
      ...draft,
      ...(draft.title === null && origin.title !== null
        ? { title: titleOfFork(origin.title), title_source: origin.title_source }
        : {}),
      provider_defaults: origin.provider_defaults,
      forked_from: {
        session_id: origin.id,
        turn_id: turn.turn_id,
        conversation: null,
        past_turns: history.turns.length,
        omitted_turns: history.omitted,
        way: null,
      },
    };
    return { origin, turn, session, history };
  }

  /** Returns the turn at which a session is forked; null: the newest completed one. */
  #turnOf(rx: Reader, session: Session, turnId: string | null): Turn {
    const { store } = this.#deps;
    const { id } = session;
    const turn = turnId === null ? store.newestCompleted(rx, id) : store.turn(rx, id, turnId);
    if (!turn)
      throw conflictError(`session ${id} has no completed turn: wait until a turn has completed`);
    if (!hasEnded(turn))
      throw new AppError(
        'turn_in_progress',
        `turn ${turn.turn_id} of session ${id} is still running: wait until the turn ends, or name an earlier turn`,
      );
    if (turn.status !== 'completed')
      throw conflictError(
        `turn ${turn.turn_id} has ended with status ${turn.status}: name a completed turn`,
      );
    if (session.trimmed || turn.trimmed)
      throw conflictError(`the contents of turn ${turn.turn_id} were deleted to save space`);
    return turn;
  }

  #store(tx: Writer, { origin, history }: Plan, session: Session): void {
    const { store, imports } = this.#deps;
    const servers = store.mcpServers(tx, origin.id);
    imports.service.storeFork(tx, session, history.turns, servers);
  }
}

function forkSettings(origin: Session) {
  const { provider, agent, model, cwd, permission_mode, agent_mode, thinking_effort } = origin;
  const { after_limit, sandbox } = origin;
  const settings = { model, cwd, permission_mode, agent_mode, thinking_effort, sandbox };
  return { provider, agent, after_limit: after_limit ?? null, ...settings };
}

function titleOfFork(title: string): string {
  if (title.endsWith(SUFFIX)) return title;
  return `${cutLine(title, TITLE_CHARACTERS - SUFFIX.length) ?? ''}${SUFFIX}`;
}

/** A worktree for files starts from the commit of these files. */
function withBase(request: WorktreeRequest, base_ref: string): WorktreeRequest {
  const named = request === true ? {} : request;
  if (named.base_ref != null)
    throw invalidError('body.worktree.base_ref: the files determine the commit: omit it');
  return { ...named, base_ref };
}

/** Reads the past turns and the turns of a session up to a turn, in the order of their times. */
function readHistory(
  rx: Reader,
  { id, forked_from: origin, imported }: Session,
  last: Turn,
  { store, imports }: Rows,
): History {
  const newestPast = imports.newestTurns(rx, id, MAX_TURNS);
  const past = newestPast
    .map((turn) => ({ at: timeOf(turn), read: () => copyOf(turn) }))
    .filter(({ at }) => at <= last.accepted_at);
  const own = store.turnsUpTo(rx, last, MAX_TURNS);
  const turns = own.map((turn) => ({
    at: turn.accepted_at,
    read: () => storedTurn(turn, store.itemsOf(rx, turn.turn_id)),
  }));
  const newestFirst = [...turns, ...past].toSorted((a, b) => b.at - a.at);
  const collector = new TurnCollector(MAX_TURNS);
  newestFirst.every(({ read }) => collector.add(read()));
  const kept = collector.turns;
  const later = newestPast.length - past.length;
  const stored = store.countTurns(rx, id, last.turn_id) + imports.countTurns(rx, id) - later;
  const earlier = (origin?.omitted_turns ?? 0) + (imported?.omitted_turns ?? 0);
  return { turns: kept, omitted: earlier + stored - kept.length };
}

function copyOf({ ref, program, status, prompt, items, occurred_at }: PastTurn): StoredTurn {
  return { ref, program, status, prompt, items, occurredAt: occurred_at };
}

function storedTurn({ turn_id, status, input, accepted_at }: Turn, items: readonly Item[]) {
  return {
    ref: turn_id,
    program: CADRE,
    status: status === 'failed' || status === 'interrupted' ? status : ('completed' as const),
    prompt: inputText(input),
    items: items.map(storedItem),
    occurredAt: accepted_at,
  };
}

function storedItem({ kind, status, tool, text }: Item): StoredItem {
  const isKnown = status === 'completed' || status === 'failed';
  return { kind, status: isKnown ? status : 'unknown', title: tool?.title ?? null, text };
}

/**
 * Returns the point at which the agent of a session forks the conversation of another one. Undefined if the session is not
 * a fork, or its agent has no id of a point before the end of that conversation.
 */
export function forkPointOf(
  rx: Reader,
  { forked_from: origin }: Session,
  store: SessionStore,
): ForkPoint | undefined {
  if (!origin) return undefined;
  if (origin.conversation !== null) return { ref: origin.conversation, turnRef: null };
  if (origin.session_id === null || origin.turn_id === null) return undefined;
  const { provider_session_ref: ref, last_turn_id: last } = store.session(rx, origin.session_id);
  const { agent_turn_ref: turnRef } = store.turn(rx, origin.session_id, origin.turn_id);
  const isKnown = turnRef !== undefined || last === origin.turn_id;
  if (ref === null || !isKnown) return undefined;
  return { ref, turnRef: turnRef ?? null };
}
