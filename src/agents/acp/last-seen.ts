import { z } from 'zod';
import type { Model, AuthStatus } from '../../api/providers.ts';
import type { Choices } from './choices.ts';
import { type ChoiceName, choiceNames, type Offered } from './options.ts';
import { plain } from '../../core/lib/plain.ts';

/**
 * The newest facts about an agent from any of its processes, so that cadre can report them without a start of the
 * agent. They are empty when the server starts.
 */
export interface LastSeen {
  /** Null: none of its processes has opened a session. */
  models: readonly Model[] | null;
  /** Its own modes. */
  modes: readonly Offered[];
  /** The thinking efforts that it has offered with each of its models. */
  readonly levels: Map<string, readonly string[]>;
  readonly auth: AuthRecord;
  /** The choices for which a turn has waited, and which the agent did not offer: no turn waits for them again. */
  readonly notOffered: Set<ChoiceName>;
  /** The choices that it has offered only after it had got a prompt. */
  readonly offeredLate: Set<ChoiceName>;
}

export function nothingSeen(): LastSeen {
  return {
    models: null,
    modes: [],
    levels: new Map(),
    auth: new AuthRecord(),
    notOffered: new Set(),
    offeredLate: new Set(),
  };
}

/**
 * Stores the choices that an agent offers in a session. The agent names the efforts of its current model only, so a
 * model that it has not used yet is shown with those efforts.
 */
export function noteChoices(seen: LastSeen, choices: Choices): void {
  const { offered, current } = choices.choice('model');
  const levels = choices.choice('thinkingEffort').offered.map(({ id }) => id);
  if (current !== null) seen.levels.set(current, levels);
  seen.models = offered.map(({ id, name }) => ({
    id,
    display_name: name,
    reasoning_levels: [...(seen.levels.get(id) ?? levels)],
  }));
  seen.modes = choices.choice('agentMode').offered;
  for (const which of choiceNames)
    if (choices.choice(which).canBeSet) seen.notOffered.delete(which);
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
    const { data } = statusShape.safeParse(params);
    const { state, authStatus } = data ?? {};
    const said = state ?? authStatus?.kind;
    const label = authStatus?.label ?? said;
    if (said === 'unauthenticated' || said === 'none')
      this.#set(false, 'the agent reports: not logged in');
    else if (state === undefined ? said !== undefined : KNOWN_STATES.has(state))
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
  state: z.string().optional().catch(undefined),
  authStatus: z
    .looseObject({
      kind: z.string().optional().catch(undefined),
      label: z.string().optional().catch(undefined),
    })
    .optional()
    .catch(undefined),
});
