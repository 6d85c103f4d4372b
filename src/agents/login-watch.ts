import type { AuthStatus } from '../api/providers.ts';
import type { Clock } from '../core/lib/clock.ts';
import { loginHint, type LoginSituation } from './own-home.ts';
import type { TurnOutcome } from './provider.ts';

/** A login state is kept for this time. */
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
  get(): AuthStatus {
    if (this.#ask && !this.#isAsking && this.#clock.monotonic() >= this.#due)
      void this.#renew(this.#ask);
    return this.#known;
  }

  set(status: AuthStatus): void {
    this.#known = status;
    this.#due = this.#clock.monotonic() + KEEP_MS;
    this.#changes++;
  }

  /** Asks again at the next use: the login was changed. */
  forget(): void {
    this.#due = Number.NEGATIVE_INFINITY;
    this.#changes++;
  }

  /** Notes what the end of a turn shows: only an agent that is logged in completes one. */
  ended({ status, error }: TurnOutcome, login: LoginSituation): void {
    if (error?.code === 'auth_required') this.set(loggedOut(login));
    if (status === 'completed' && this.#known.authenticated === false) {
      this.#known = { ...unknown, authenticated: true };
      this.forget();
    }
  }

  async #renew(ask: () => Promise<AuthStatus>): Promise<void> {
    const changes = this.#changes;
    this.#isAsking = true;
    try {
      const status = await ask();
      if (this.#changes === changes) this.set(status);
    } catch {
      // The program hangs, or does not know the question: it is asked again later.
      if (this.#changes === changes) this.set(unknown);
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
