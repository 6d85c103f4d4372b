import type { BodyOf, QueryOf } from '../../../api/endpoint.ts';
import type {
  Conversation,
  HandedBack,
  listConversations,
  listPastTurns,
  PastTurn,
} from '../../../api/conversations.ts';
import { conflictError, invalidError, notFoundError } from '../../../api/errors.ts';
import type { createSession } from '../../../api/session-requests.ts';
import type { Session } from '../../../api/sessions.ts';
import type { StoredConversation, StoredTurn } from '../../../agents/conversations.ts';
import type { ServerParts } from '../../../core/events/server-parts.ts';
import type { SaveResponse } from '../../../core/store/idempotency-store.ts';
import type { RecordPage } from '../../../core/store/records.ts';
import type { Reader, Writer } from '../../../core/store/transaction.ts';
import type { AgentPool } from '../sessions/agent-pool.ts';
import type { AgentKinds } from '../sessions/agent-slots.ts';
import type { SessionService } from '../sessions/service.ts';
import { assertNoTurn, assertOpen } from '../sessions/session.ts';
import type { SessionStore } from '../sessions/store.ts';
import { type ImportReader, inUseText, refusing } from './reader.ts';
import type { ImportStore } from './store.ts';

interface ImportServiceDeps extends Pick<ServerParts, 'db' | 'clock'> {
  store: ImportStore;
  reader: ImportReader;
  sessionStore: SessionStore;
  sessions: SessionService;
  pool: AgentPool;
  kinds: AgentKinds;
}

type Request = BodyOf<typeof createSession>;
type ImportRequest = NonNullable<Request['import']>;

/** The use cases of conversations that agents' own programs store. */
export class ImportService {
  readonly #deps: ImportServiceDeps;

  constructor(deps: ImportServiceDeps) {
    this.#deps = deps;
  }

  /** Lists the conversations of an agent, most recently changed first. An agent without a list has none. */
  async list(
    provider: Session['provider'],
    { agent: asked, cwd, limit }: QueryOf<typeof listConversations>,
    signal: AbortSignal,
  ): Promise<Conversation[]> {
    const { kinds, db, sessionStore } = this.#deps;
    const agent = kinds.agentFor(provider, asked ?? null);
    const { conversations } = kinds.usable(provider, agent);
    if (!conversations) return [];
    const found = await refusing(conversations.list({ cwd: cwd ?? null, limit }, signal));
    const holderOf = await refusing(conversations.holders());
    const refs = db.peek((rx) => sessionStore.openRefs(rx, provider, agent));
    return found.map(({ begunAt, changedAt, ...one }) => ({
      ...one,
      begun_at: begunAt,
      changed_at: changedAt,
      in_use: holderOf(one.ref),
      session_id: refs.get(one.ref) ?? null,
    }));
  }

  /** Opens a session that continues a conversation. Returns the open session with this conversation if there is one. */
  async open(
    { import: request, worktree, ...body }: Request & { import: ImportRequest },
    saveResponse?: SaveResponse,
  ): Promise<Session> {
    if (worktree)
      throw invalidError('body.worktree: an imported conversation stays in its directory: omit it');
    const { kinds, reader, sessions, db } = this.#deps;
    const { provider } = body;
    const agent = kinds.agentFor(provider, body.agent ?? null);
    const isFork = request.fork === true;
    const known =
      !isFork && (await db.read((rx) => this.#existing(rx, { provider, agent, ref: request.ref })));
    if (known) return db.transact(() => known, saveResponse);
    const conversations = reader.conversationsOf({ provider, agent });
    const found = await refusing(conversations.find(request.ref, new AbortController().signal));
    if (!found)
      throw notFoundError(
        `conversation "${request.ref}" of ${provider} not found: list conversations to see their ids`,
      );
    // The agent may accept another form of the id, and a conversation has one form here.
    const { ref } = found;
    const held = isFork ? null : (await refusing(conversations.holders()))(ref);
    if (held) throw conflictError(inUseText(held));
    const draft = await sessions.draft({ ...body, cwd: body.cwd ?? found.cwd });
    if (isFork) {
      const query = { after: null, max: request.history, cwd: found.cwd };
      const history = await refusing(conversations.turns(ref, query, new AbortController().signal));
      const { turns, omitted } = history;
      const forked_from: Session['forked_from'] = {
        session_id: null,
        turn_id: null,
        conversation: ref,
        past_turns: turns.length,
        omitted_turns: omitted,
        way: null,
      };
      const fork = { ...titledAs(found, draft), forked_from };
      return db.transact((tx) => this.storeFork(tx, fork, turns, body.mcp_servers), saveResponse);
    }
    const session = await db.transact((tx) => {
      const other = this.#existing(tx, { provider, agent, ref });
      return other ?? this.#create(tx, draft, found, { ...body, import: request });
    }, saveResponse);
    // If this fails, the session is open all the same, and its next turn reads the past turns.
    await reader.read(session.id).catch(() => undefined);
    return session;
  }

  #create(
    tx: Writer,
    draft: Session,
    found: StoredConversation,
    { mcp_servers, import: { history } }: Request & { import: ImportRequest },
  ): Session {
    const { store, sessionStore } = this.#deps;
    const { provider, agent } = draft;
    const { ref, program } = found;
    const session: Session = {
      ...titledAs(found, draft),
      provider_session_ref: ref,
      imported: { program, past_turns: 0, omitted_turns: 0, complete: false },
    };
    sessionStore.createSession(tx, session, mcp_servers);
    store.imports.insert(tx, {
      session_id: session.id,
      conversation: keyOf({ provider, agent, ref }),
      ref,
      history,
      status: 'reading',
      head: null,
    });
    return session;
  }

  /** Stores a session that its agent forks from another session or conversation, with the turns before the fork. */
  storeFork(
    tx: Writer,
    session: Session,
    turns: readonly StoredTurn[],
    servers: Parameters<SessionStore['createSession']>[2],
  ): Session {
    const { sessionStore, reader } = this.#deps;
    sessionStore.createSession(tx, session, servers);
    reader.addTurns(tx, session.id, turns);
    sessionStore.updateSession(tx, session, 'session.forked');
    return session;
  }

  /** Returns the open session with a conversation, imported or begun in cadre. */
  #existing(rx: Reader, of: { provider: Session['provider']; agent: string | null; ref: string }) {
    const { store, sessionStore } = this.#deps;
    const imported = store.ofConversation(rx, keyOf(of));
    const id = imported?.session_id ?? sessionStore.openRefs(rx, of.provider, of.agent).get(of.ref);
    return id === undefined ? undefined : sessionStore.session(rx, id);
  }

  pastTurns(
    session_id: string,
    { limit, cursor }: QueryOf<typeof listPastTurns>,
  ): Promise<RecordPage<PastTurn>> {
    const { db, store, sessionStore } = this.#deps;
    return db.read((rx) => {
      sessionStore.session(rx, session_id);
      return store.turns.page(rx, { session_id }, limit, cursor);
    });
  }

  /** Ends the idle agent, and returns the command that continues the conversation in the agent's own program. */
  async handBack(sessionId: string, saveResponse?: SaveResponse): Promise<HandedBack> {
    const { db, reader, sessions, pool } = this.#deps;
    const session = await sessions.get(sessionId);
    assertIdle(session);
    const { provider_session_ref: ref, cwd } = session;
    if (ref === null)
      throw conflictError(`session ${sessionId} has no conversation yet: send a prompt first`);
    const conversations = reader.conversationsOf(session);
    const query = { after: null, max: 0, cwd };
    const { newest } = await refusing(
      conversations.turns(ref, query, new AbortController().signal),
    );
    // A turn may have begun meanwhile: its agent must not end.
    db.peek((rx) => assertIdle(this.#deps.sessionStore.session(rx, sessionId)));
    await pool.end(sessionId);
    const answer = { session_id: sessionId, cwd, ref, command: conversations.command(ref) };
    return db.transact((tx) => {
      const { store, sessionStore, clock } = this.#deps;
      const now = sessionStore.session(tx, sessionId);
      assertIdle(now);
      const imported = now.imported ?? {
        program: null,
        past_turns: 0,
        omitted_turns: 0,
        complete: true,
      };
      if (!store.imports.get(tx, sessionId))
        store.imports.insert(tx, {
          session_id: sessionId,
          conversation: keyOf({ ...now, ref }),
          ref,
          history: 0,
          status: 'done',
          head: newest,
        });
      const handed = { ...now, imported, updated_at: clock.now() };
      sessionStore.updateSession(tx, handed, 'session.handed_back');
      return answer;
    }, saveResponse);
  }

  sessionClosed(tx: Writer, session: Session): void {
    this.#deps.store.close(tx, session);
  }

  sessionTrimmed(tx: Writer, sessionId: string): void {
    this.#deps.store.forget(tx, sessionId);
  }
}

/** Gives a session without a title the title of a conversation. */
function titledAs({ title }: StoredConversation, draft: Session): Session {
  if (draft.title !== null || title === null) return draft;
  return { ...draft, title, title_source: 'agent' };
}

/** Throws if the session is closed, or a turn of it runs. */
function assertIdle(session: Session): void {
  assertOpen(session);
  assertNoTurn(session);
}

function keyOf({ provider, agent, ref }: Pick<Session, 'provider' | 'agent'> & { ref: string }) {
  return JSON.stringify([provider, agent, ref]);
}
