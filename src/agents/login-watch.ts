import { type LoginProviderId, providerKinds } from '../api/provider-kinds.ts';
import type { AuthStatus } from '../api/providers.ts';
import type { Clock } from '../core/lib/clock.ts';
import type { SeenLogin, TurnOutcome } from './provider.ts';

/** How an agent is logged in, and which variables its processes get. */
export interface LoginSituation {
  id: LoginProviderId;
  /** Whether the agent has a home that is cadre's alone. */
  hasOwnHome: boolean;
  /** The environment of the server. */
  from: NodeJS.ProcessEnv;
  /** The environment of the agent. */
  given: Readonly<Record<string, string>>;
}

/**
 * Returns the advice for an agent without a login. The agent's own command changes the home of the user, so it cannot log
 * in to a home that is cadre's alone. The advice names a key or an address of the server's environment that the agent
 * does not get.
 */
export function loginHint({ id, hasOwnHome, from, given }: LoginSituation): string {
  const { commands, variables } = providerKinds[id].login;
  const way = hasOwnHome
    ? `run cadre providers login ${id}`
    : `run "${commands.login}" as the user who runs cadre, or set providers.${id}.home and run cadre providers login ${id}`;
  const held = variables.filter((name) => from[name] && given[name] === undefined);
  return held.length === 0 ? way : `${way}; or use ${heldBack(id, held)}`;
}

/** Returns the advice for an agent whose own configuration names a variable for its key, which the agent does not get. */
export function missingVariable({ id, from }: LoginSituation, name: string): string {
  const set = from[name] ? '' : 'set the variable where the server runs, and then ';
  return `${set}${passingLine(id, [name])}`;
}

function heldBack(id: LoginProviderId, names: readonly string[]): string {
  const are = names.length === 1 ? 'is' : 'are';
  return `${names.join(' and ')}, which ${are} set where the server runs and not passed on: ${passingLine(id, names)}`;
}

function passingLine(id: LoginProviderId, names: readonly string[]): string {
  return `add pass_env = ${JSON.stringify(names).replaceAll(',', ', ')} to [providers.${id}]`;
}

/** A login state counts as current for this time, and is asked for again after it. */
const KEEP_MS = 60_000;
/** A program that has not reported its login state after this time is killed. */
export const LOGIN_MS = 8000;

const unknown: AuthStatus = {
  authenticated: null,
  mode: 'not_configured',
  detail: 'the agent has not reported its login state',
};

/** The login state that the program of an agent reports. It is read in the background, and never delays a caller. */
export class LoginWatch {
  readonly #clock: Clock;
  readonly #ask: (() => Promise<AuthStatus>) | null;
  #known: AuthStatus = unknown;
  #checkedAt: number | null = null;
  #staleAt = Number.POSITIVE_INFINITY;
  #due = Number.NEGATIVE_INFINITY;
  /** Counts the changes, so that a report that is older than the newest change is dropped. */
  #changes = 0;
  #isAsking = false;

  /** `ask`: null if the program is never to be asked. */
  constructor(clock: Clock, ask: (() => Promise<AuthStatus>) | null) {
    this.#clock = clock;
    this.#ask = ask;
  }

  /** Returns the newest login state. If it is old, asks for the next one in the background. */
  get(): SeenLogin {
    const now = this.#clock.monotonic();
    if (this.#ask && !this.#isAsking && now >= this.#due) void this.#renew(this.#ask);
    return { ...this.#known, checked_at: this.#checkedAt, is_stale: now >= this.#staleAt };
  }

  set(status: AuthStatus): void {
    const isKnown = status.authenticated !== null;
    this.#known = status;
    this.#checkedAt = isKnown ? this.#clock.now() : null;
    this.#due = this.#clock.monotonic() + KEEP_MS;
    this.#staleAt = isKnown ? this.#due : Number.POSITIVE_INFINITY;
    this.#changes++;
  }

  /** Asks again at the next use: the login was changed. */
  forget(): void {
    this.#due = Number.NEGATIVE_INFINITY;
    if (this.#checkedAt !== null) this.#staleAt = Number.NEGATIVE_INFINITY;
    this.#changes++;
  }

  /** Notes what the end of a turn shows: only an agent that is logged in completes one. */
  ended({ status, error }: TurnOutcome, login: LoginSituation): void {
    if (error?.code === 'auth_required') this.set(loggedOut(login));
    if (status === 'completed' && this.#known.authenticated === false) {
      this.set({ ...unknown, authenticated: true });
      // How it is logged in is not known.
      this.#due = Number.NEGATIVE_INFINITY;
    }
  }

  async #renew(ask: () => Promise<AuthStatus>): Promise<void> {
    const changes = this.#changes;
    this.#isAsking = true;
    try {
      const status = await ask();
      if (this.#changes === changes) this.set(status);
    } catch {
      // The program hangs, or does not know the question: it is asked again later, and the last answer is kept.
      if (this.#changes === changes) this.#due = this.#clock.monotonic() + KEEP_MS;
    } finally {
      this.#isAsking = false;
    }
  }
}

/** The state of an agent without a login. */
export function loggedOut(login: LoginSituation): AuthStatus {
  const detail = `not logged in: ${loginHint(login)}`;
  return { authenticated: false, mode: 'not_configured', detail };
}

/** The state of an agent with a login: an API key, an account, or the login of another service. */
export function loggedIn(who: string, by: string): AuthStatus {
  if (by === 'api_key') return { authenticated: true, mode: by, detail: `${who} has an API key` };
  if (by === 'account')
    return { authenticated: true, mode: by, detail: `${who} is logged in to an account` };
  return { authenticated: true, mode: 'agent_managed', detail: `${who} uses ${by} and its login` };
}
