import { setTimeout as pause } from 'node:timers/promises';
import { endpoints } from '../../../src/api/index.ts';
import { type Identity, identify } from '../../../src/core/children/identity.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { remaining, untilNothingRemains } from './leftovers.ts';
import type { Complaints } from './checks.ts';
import { environmentOf, FAILPOINT_PATIENCE_MS, type Plan } from './plan.ts';
import { scaled } from '../../support/patience.ts';

/** After a kill nothing may be left once this has passed. */
const CENSUS_MS = 2000;
/** Agents that have not said much by then will not. */
const BUSY_MS = 4000;

/** One life of the server, from its start to its end. */
export class Life {
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
  static async begin(directory: string, plan: Plan): Promise<Life | null> {
    const started = performance.now();
    try {
      const server = await startServer(directory, { env: environmentOf(plan) });
      return new Life(server, plan, Math.round(performance.now() - started));
    } catch (error) {
      if (plan.failpoint && String(error).includes('"signal":"SIGKILL"')) return null;
      throw error;
    }
  }

  /** Takes note of the keeper, so that the census can look for it. */
  async meetKeeper(): Promise<void> {
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
    // It starts with the first agent, so it may be younger than the start of this life.
    await this.meetKeeper().catch(() => undefined);
    this.kill();
  }

  kill(): void {
    this.#killed ||= !this.#ended;
    if (!this.#ended) process.kill(this.server.pid, 'SIGKILL');
  }

  /** Whether the server's own failpoint has killed it, or does so in a moment. */
  async killsItself(): Promise<boolean> {
    if (!this.#plan.failpoint || this.#killed) return false;
    const how = await Promise.race([this.server.exited, pause(scaled(CENSUS_MS))]);
    return how?.signal === 'SIGKILL';
  }

  /** After the kill: what it died of, what is wrong, and how long it took until no process was left. */
  async bury(): Promise<{ cause: string; complaints: Complaints; censusMs: number }> {
    const census = this.remains();
    const { code, signal } = await this.server.end('SIGKILL');
    const { left, ms } = await census;
    const complaints = left.map((what) => `${ms} ms after the kill there is still ${what}`);
    if (signal !== 'SIGKILL')
      complaints.push(`the server ended by itself, with ${code ?? signal ?? '?'}`);
    complaints.push(...this.logged());
    const cause =
      this.#plan.failpoint && !this.#killed ? this.#plan.failpoint.name : 'a kill from outside';
    return { cause, complaints, censusMs: ms };
  }

  /** Stops the server in order; answers what is wrong with that. */
  async stop(): Promise<Complaints> {
    const how = await this.server.end('SIGTERM');
    const complaints = remaining(this.server.directory, this.#keeper).map(
      (what) => `after a stop in order there is still ${what}`,
    );
    if (how.code !== 0) complaints.push(`a stop in order ended with ${JSON.stringify(how)}`);
    return [...complaints, ...this.logged()];
  }

  /** Waits until none of its processes is left. */
  remains(): ReturnType<typeof untilNothingRemains> {
    return untilNothingRemains(this.server.directory, scaled(CENSUS_MS), this.#keeper);
  }

  /** Lines of its log that must not occur. */
  logged(): Complaints {
    const lines = this.server.log().split('\n');
    return lines
      .filter((line) => /"level":"(error|fatal)"/.test(line))
      .map((line) => `the server logged ${line.slice(0, 500)}`);
  }
}
