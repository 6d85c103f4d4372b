import { z } from 'zod';
import type { AuthStatus } from '../../api/providers.ts';
import { plain } from '../../core/lib/plain.ts';

/** Where an agent has refused, or done, what only a login allows. */
export type AuthStage = 'opening' | 'prompt';

/** Whether somebody is logged in to one agent, by what its processes have last shown. */
export class AuthRecord {
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
