import { z } from 'zod';
import type { Model, AuthStatus } from '../../api/providers.ts';
import type { Choices } from './choices.ts';
import { type ChoiceName, choiceNames, type Offered } from './options.ts';
import { plain } from '../../core/lib/plain.ts';
import { maybe, maybeText } from '../lenient.ts';

/**
 * The newest facts about an agent from any of its processes, so that cadre can report them without a start of the
 * agent. They are empty when the server starts.
 */
export class LastSeen {
  /** Null: none of its processes has opened a session. */
  models: readonly Model[] | null = null;
  modes: readonly Offered[] = [];
  readonly auth = new AuthRecord();
  /** The choices for which a turn has waited, and which the agent did not offer: no turn waits for them again. */
  readonly notOffered = new Set<ChoiceName>();
  /** The choices that it has offered only after it had got a prompt. */
  readonly offeredLate = new Set<ChoiceName>();
  /** The thinking efforts that it has offered with each of its models. */
  readonly #levels = new Map<string, readonly string[]>();

  /**
   * Stores the choices that an agent offers in a session. The agent names the efforts of its current model only, so a
   * model that it has not used yet is shown with those efforts.
   */
  noteChoices(choices: Choices): void {
    const { offered, current } = choices.choice('model');
    const levels = choices.choice('thinkingEffort').offered.map(({ id }) => id);
    if (current !== null) this.#levels.set(current, levels);
    this.models = offered.map(({ id, name }) => ({
      id,
      display_name: name,
      reasoning_levels: [...(this.#levels.get(id) ?? levels)],
    }));
    this.modes = choices.choice('agentMode').offered;
    for (const which of choiceNames)
      if (choices.choice(which).canBeSet) this.notOffered.delete(which);
  }
}

/** Where an agent has refused, or done, what only a login allows. */
export type AuthStage = 'opening' | 'prompt';

/** Whether somebody is logged in to one agent, by what its processes have last shown. */
class AuthRecord {
  #authenticated: boolean | null = null;
  #detail = 'unknown until the first session starts';
  #refusedAt: AuthStage | null = null;

  status(): AuthStatus {
    return { authenticated: this.#authenticated, mode: 'agent_managed', detail: this.#detail };
  }

  /** The agent did what it refuses without a login. Some open a session and refuse each prompt of it. */
  worked(stage: AuthStage): void {
    if (stage === 'opening' && this.#refusedAt === 'prompt') return;
    const what = stage === 'opening' ? 'opened a session' : 'answered a prompt';
    this.#set(true, `the agent ${what}`);
  }

  refused(stage: AuthStage, why: string): void {
    this.#set(false, why);
    this.#refusedAt = stage;
  }

  /** A login with this method has succeeded. */
  loggedIn(method: string): void {
    this.#set(true, `logged in with ${method}`);
  }

  loggedOut(): void {
    this.#set(false, 'logged out');
  }

  /** Takes the parameters of `_auth/status_update` or `auth/status_update`. */
  updated(params: unknown): void {
    const { state = null, authStatus } = statusShape.safeParse(params).data ?? {};
    const loginState = state ?? authStatus?.kind ?? null;
    const label = authStatus?.label ?? loginState;
    if (loginState === 'unauthenticated' || loginState === 'none')
      this.#set(false, 'the agent reports: not logged in');
    else if (state === null ? loginState !== null : KNOWN_STATES.has(state))
      this.#set(true, `the agent reports: ${label}`);
  }

  #set(authenticated: boolean, detail: string): void {
    this.#authenticated = authenticated;
    this.#detail = plain(detail);
    this.#refusedAt = null;
  }
}

/** The others have to be taken as unknown. */
const KNOWN_STATES = new Set(['authenticated', 'not_required']);

const statusShape = z.looseObject({
  state: maybeText,
  authStatus: maybe(z.looseObject({ kind: maybeText, label: maybeText })),
});
