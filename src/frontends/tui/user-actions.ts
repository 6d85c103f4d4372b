import type { Approval } from '../../api/approvals.ts';
import type { BodyInputOf } from '../../api/endpoint.ts';
import { AppError, isAppError } from '../../api/errors.ts';
import { endpoints } from '../../api/index.ts';
import type { Model } from '../../api/providers.ts';
import type { Session } from '../../api/sessions.ts';
import { type AgentChoice, agentChoices } from '../../client/agent-choices.ts';
import type { Client } from '../../client/client.ts';
import { type Defaults, settingsFor } from '../../client/defaults.ts';

export type Decision = BodyInputOf<typeof endpoints.decideApproval>;

type SessionBody = BodyInputOf<typeof endpoints.createSession>;

/** A session to open, and what to say to it; a blank prompt says nothing. */
export interface NewSession {
  /** Without a provider: the first agent that is offered. A null setting has its default. */
  session: Omit<SessionBody, 'provider'> & { provider: SessionBody['provider'] | null };
  prompt: string;
}

/**
 * The changes that a user makes on the screen, as requests to the server. Each throws an AppError if the server refuses it.
 */
export class UserActions {
  readonly #client: Client;
  readonly #defaults: Defaults;
  /** The approvals that this screen has answered. */
  readonly #mine = new Set<string>();

  constructor(client: Client, defaults: Defaults) {
    this.#client = client;
    this.#defaults = defaults;
  }

  /** Carries out on another server what a person decides. */
  on(client: Client): UserActions {
    return new UserActions(client, this.#defaults);
  }

  /** The permission mode of a new session for which none is chosen. On the screen somebody is there to be asked. */
  get permissionMode(): string {
    return this.#defaults.permission_mode ?? this.#defaults.person_mode;
  }

  /** Whether this screen has answered an approval. */
  isMine(approval: string): boolean {
    return this.#mine.has(approval);
  }

  /** Answers an approval. An event reports the decision, also if another client answered first. */
  async decide({ id: approval_id, session_id }: Approval, body: Decision): Promise<void> {
    this.#mine.add(approval_id);
    try {
      await this.#client.call(endpoints.decideApproval, {
        params: { session_id, approval_id },
        body,
      });
    } catch (error) {
      this.#mine.delete(approval_id);
      if (!isAppError(error, 'approval_resolved')) throw error;
    }
  }

  /** Opens a session with the history of another one up to a turn. */
  fork(session_id: string, turn_id: string): Promise<Session> {
    return this.#client.call(endpoints.forkSession, { params: { session_id }, body: { turn_id } });
  }

  async say(session_id: string, text: string): Promise<void> {
    const body = { input: [{ type: 'text' as const, text }] };
    await this.#client.call(endpoints.sendTurn, { params: { session_id }, body });
  }

  /** Opens a session and says something to it. Where only the latter is refused, the session stays open. */
  async open({ session, prompt }: NewSession): Promise<Session> {
    const { provider: asked, agent: named = null } = session;
    const served = asked === null ? (await this.agents())[0] : { provider: asked, agent: named };
    if (!served)
      throw new AppError('provider_unavailable', 'no provider is enabled: see cadre doctor');
    const { provider } = served;
    const { agent, model, ...settings } = settingsFor(provider, this.#defaults, served.agent);
    const body = {
      ...settings,
      ...session,
      provider,
      agent,
      model: session.model ?? model,
      permission_mode: session.permission_mode ?? this.permissionMode,
    };
    const opened = await this.#client.call(endpoints.createSession, { body });
    if (prompt.trim() !== '') await this.say(opened.id, prompt);
    return opened;
  }

  /** The agents of all providers that are enabled: the preferred one first, then those that are ready. */
  async agents(): Promise<AgentChoice[]> {
    return agentChoices(await this.#client.call(endpoints.listProviders, {}), this.#defaults);
  }

  models({ provider, agent }: Pick<AgentChoice, 'provider' | 'agent'>): Promise<Model[]> {
    const query = agent === null ? {} : { agent };
    return this.#client.call(endpoints.listModels, { params: { provider }, query });
  }

  async update(
    session_id: string,
    body: BodyInputOf<typeof endpoints.updateSession>,
  ): Promise<void> {
    await this.#client.call(endpoints.updateSession, { params: { session_id }, body });
  }
}
