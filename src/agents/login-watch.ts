import type { AuthStatus } from '../api/providers.ts';
import type { Clock } from '../core/lib/clock.ts';
import { loginHint, type LoginSituation } from './own-home.ts';
import type { TurnOutcome } from './provider.ts';
import type { SeenLogin } from './seen-login.ts';

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
