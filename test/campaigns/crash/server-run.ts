import { setTimeout as pause } from 'node:timers/promises';
import { endpoints } from '../../../src/api/index.ts';
import { type Identity, identify } from '../../../src/core/children/identity.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { remaining, untilNothingRemains } from './leftovers.ts';
import type { Violations } from './checks.ts';
import { environmentOf, FAILPOINT_PATIENCE_MS, type Plan } from './plan.ts';
import { scaled } from '../../support/patience.ts';

/** After a kill nothing may be left once this has passed. */
const EXIT_LIMIT_MS = 2000;
/** Agents that have not said much by then will not. */
const BUSY_MS = 4000;

/** One run of the server, from its start to its end. */
export class ServerRun {
  readonly server: TestServer;
  readonly startedInMs: number;
  readonly #plan: Plan;
  #ended = false;
  #killed = false;
  #keeper: Identity | undefined;

  private constructor(server: TestServer, plan: Plan, startedInMs: number) {
    this.server = server;
    this.startedInMs = startedInMs;
    this.#plan = plan;
    void server.exited.then(() => (this.#ended = true));
  }

  /** Starts the server; null when its failpoint killed it before it was ready. */
  static async begin(directory: string, plan: Plan): Promise<ServerRun | null> {
    const started = performance.now();
    try {
      const server = await startServer(directory, { env: environmentOf(plan) });
      return new ServerRun(server, plan, Math.round(performance.now() - started));
    } catch (error) {
      if (plan.failpoint && String(error).includes('"signal":"SIGKILL"')) return null;
      throw error;
    }
  }

  /** Takes note of the keeper, so that the search for leftovers includes it. */
  async noteKeeper(): Promise<void> {
    const { children } = await this.server.client.call(endpoints.getDiagnostics, {});
    this.#keeper = children.keeper_pid === null ? undefined : identify(children.keeper_pid);
  }

  /** Waits until agents are as busy as planned, and a moment longer, then kills the server, unless it has done that itself. */
  async killAfter(busy: Promise<void>): Promise<void> {
    const { failpoint, delayMs } = this.#plan;
    const { exited } = this.server;
    if (failpoint) await Promise.race([exited, pause(scaled(FAILPOINT_PATIENCE_MS))]);
    else {
      await Promise.race([busy, exited, pause(scaled(BUSY_MS))]);
      await pause(delayMs);
    }
    // It starts with the first agent, so it may be younger than the start of this run.
    await this.noteKeeper().catch(() => undefined);
    this.kill();
  }

  kill(): void {
    this.#killed ||= !this.#ended;
    if (!this.#ended) process.kill(this.server.pid, 'SIGKILL');
  }

  /** Whether the server's own failpoint has killed it, or does so in a moment. */
  async killsItself(): Promise<boolean> {
    if (!this.#plan.failpoint || this.#killed) return false;
    const how = await Promise.race([this.server.exited, pause(scaled(EXIT_LIMIT_MS))]);
    return how?.signal === 'SIGKILL';
  }

  /** After the kill: what it died of, what is wrong, and how long it took until no process was left. */
  async awaitEnd(): Promise<{ cause: string; violations: Violations; exitMs: number }> {
    const leftovers = this.remains();
    const { code, signal } = await this.server.end('SIGKILL');
    const { left, ms } = await leftovers;
    const violations = left.map((what) => `${ms} ms after the kill there is still ${what}`);
    if (signal !== 'SIGKILL')
      violations.push(`the server ended by itself, with ${code ?? signal ?? '?'}`);
    violations.push(...this.logged());
    const cause =
      this.#plan.failpoint && !this.#killed ? this.#plan.failpoint.name : 'a kill from outside';
    return { cause, violations, exitMs: ms };
  }

  /** Stops the server in order; answers what is wrong with that. */
  async stop(): Promise<Violations> {
    const how = await this.server.end('SIGTERM');
    const violations = remaining(this.server.directory, this.#keeper).map(
      (what) => `after a stop in order there is still ${what}`,
    );
    if (how.code !== 0) violations.push(`a stop in order ended with ${JSON.stringify(how)}`);
    return [...violations, ...this.logged()];
  }

  /** Waits until none of its processes is left. */
  remains(): ReturnType<typeof untilNothingRemains> {
    return untilNothingRemains(this.server.directory, scaled(EXIT_LIMIT_MS), this.#keeper);
  }

  /** Lines of its log that must not occur. */
  logged(): Violations {
    const lines = this.server.log().split('\n');
    return lines
      .filter((line) => /"level":"(error|fatal)"/.test(line))
      .map((line) => `the server logged ${line.slice(0, 500)}`);
  }
}
