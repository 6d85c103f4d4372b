import type { BodyInputOf } from '../../api/endpoint.ts';
import { endpoints } from '../../api/index.ts';
import type { Session } from '../../api/sessions.ts';
import type { Client } from '../../client/client.ts';
import { replayBefore } from '../../client/replay.ts';
import { AppError, notFoundError } from '../../api/errors.ts';
import { AttachedSession, type EditorConnection } from './attached-session.ts';
import { EditorSettings, type Offered } from './editor-settings.ts';
import { endedTurns, historyOf } from './updates.ts';
import { ownEntry } from '../../core/lib/own-entry.ts';

export type NewSession = BodyInputOf<typeof endpoints.createSession>;

interface Dependencies extends EditorConnection {
  /** The request that opens a session in a directory. Throws an AppError that says what to configure. */
  opening: (client: Client, cwd: string) => Promise<NewSession>;
}

/** The sessions that an editor is attached to. */
export class OpenSessions {
  readonly #deps: Dependencies;
  readonly #open = new Map<string, AttachedSession>();

  constructor(deps: Dependencies) {
    this.#deps = deps;
  }

  find(id: string): AttachedSession | undefined {
    return this.#open.get(id);
  }

  /** A session that the editor is attached to. Throws `not_found`. */
  get(id: string): AttachedSession {
    const session = this.#open.get(id);
    if (session) return session;
    throw notFoundError(`session "${id}" is not open in this editor: load the session first`);
  }

  /** Opens a session. Throws as the endpoint. */
  async create(cwd: string, more: Pick<NewSession, 'mcp_servers'>): Promise<AttachedSession> {
    const { link, opening } = this.#deps;
    const body = { ...(await link.use((client) => opening(client, cwd))), ...more };
    const session = await link.call(endpoints.createSession, { body });
    // The log holds nothing of it but that it was created.
    return this.#attach(session, { after: 0, sentTurns: new Set() });
  }

  /** Attaches to a session, without its conversation so far. Throws `not_found`. */
  async resume(id: string): Promise<AttachedSession> {
    const { session, seq } = await this.#read(id);
    return this.#attach(session, { after: seq, sentTurns: new Set() });
  }

  /** Attaches to a session; `sendHistory` sends its conversation so far. Throws `not_found`. */
  async load(id: string): Promise<{ attached: AttachedSession; sendHistory: () => Promise<void> }> {
    const { link } = this.#deps;
    const { session, seq } = await this.#read(id);
    const running = session.active_turn_id;
    const turns = await endedTurns(link, id, running);
    const sentTurns = new Set(turns.map(({ turn_id }) => turn_id));
    const after = running === null ? seq : await this.#beforeRunning(id, seq);
    const attached = await this.#attach(session, { after, sentTurns });
    const sendHistory = async () => {
      for await (const update of historyOf(link, id, turns)) await attached.update(update);
    };
    return { attached, sendHistory };
  }

  /** Sends no more updates of a session, which continues. */
  forget(id: string): void {
    this.#open.get(id)?.detach();
    this.#open.delete(id);
  }

  /** Like `forget`, unless the editor has loaded the session again. */
  leave(attached: AttachedSession): void {
    if (this.#open.get(attached.id) === attached) this.forget(attached.id);
  }

  detachAll(): void {
    for (const id of this.#open.keys()) this.forget(id);
  }

  async #read(id: string): Promise<{ session: Session; seq: number }> {
    const { link } = this.#deps;
    const params = { session_id: id };
    const { value, headers } = await link.ask(endpoints.getSession, { params });
    const seq = Number(headers['x-seq'] ?? 0);
    if (value.status !== 'failed') return { session: value, seq };
    return { session: await link.call(endpoints.resumeSession, { params, body: {} }), seq };
  }

  async #beforeRunning(sessionId: string, seq: number): Promise<number> {
    const scope = { sessionId, kinds: ['turn.accepted'] };
    const [accepted] = await this.#deps.link.use((client) =>
      replayBefore(client, scope, seq + 1, 1),
    );
    return (accepted?.seq ?? seq + 1) - 1;
  }

  async #attach(
    session: Session,
    from: { after: number; sentTurns: ReadonlySet<string> },
  ): Promise<AttachedSession> {
    const choosing = new EditorSettings(session, await this.#offered(session));
    const onFailed = () => this.leave(attached);
    const attached = new AttachedSession({ ...this.#deps, session, choosing, ...from, onFailed });
    this.forget(session.id);
    this.#open.set(session.id, attached);
    return attached;
  }

  /** The choices that the agent of a session offers, as far as its provider can list them. */
  async #offered({ provider, agent }: Session): Promise<Offered> {
    const { link } = this.#deps;
    const query = agent === null ? {} : { agent };
    try {
      const models = await link.call(endpoints.listModels, { params: { provider }, query });
      if (agent === null) return { models, agentModes: [] };
      // It has named them when it was asked for its models.
      const { agents = [] } =
        (await link.call(endpoints.listProviders, {})).find(({ id }) => id === provider) ?? {};
      const { modes = [], mode_names: names = {} } =
        agents.find(({ name }) => name === agent) ?? {};
      return { models, agentModes: modes.map((id) => [id, ownEntry(names, id) ?? id] as const) };
    } catch (error) {
      if (error instanceof AppError) return { models: [], agentModes: [] };
      throw error;
    }
  }
}
