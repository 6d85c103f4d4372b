import type { ChildProcess } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { endpoints } from '../../../src/api/index.ts';
import { type Identity, identify } from '../../../src/core/children/identity.ts';
import { scaled } from '../../support/patience.ts';
import { type ServerOptions, startServer, type TestServer } from '../../support/server.ts';
import { untilNothingRemains } from '../crash/leftovers.ts';
import type { Violations } from '../crash/checks.ts';

/** After the end of a server nothing may be left once this has passed. */
const EXIT_LIMIT_MS = 3000;
const STARTED_MS = 60_000;

/** One server of a campaign, from its start to its end. */
export class ServerRun {
  readonly server: TestServer;
  /** Whether the server may end by itself, because its memory is limited or a place in its code kills it. */
  mayEnd: boolean;
  /** Whether nothing may be left after its end. A keeper that was killed with its server leaves processes. */
  isClean = true;
  /** Whether errors in its log are due to a bad condition. */
  mayLogErrors: boolean;
  isOver = false;
  #killed = false;
  #keeper: Identity | undefined;

  private constructor(server: TestServer, { mayEnd }: { mayEnd: boolean }) {
    this.server = server;
    this.mayEnd = mayEnd;
    this.mayLogErrors = false;
    void server.exited.then(() => (this.isOver = true));
  }

  /** Starts a server. Rejects with its log if it ends before it is ready. */
  static async begin(
    directory: string,
    options: ServerOptions,
    { mayEnd }: { mayEnd: boolean },
  ): Promise<ServerRun> {
    let child: ChildProcess | undefined;
    const started = startServer(directory, { ...options, onSpawn: (spawned) => (child = spawned) });
    const over = new AbortController();
    const late = pause(scaled(STARTED_MS), undefined, { ref: false, signal: over.signal }).then(
      () => {
        child?.kill('SIGKILL');
        throw new Error('the server neither started nor ended');
      },
    );
    try {
      return new ServerRun(await Promise.race([started, late]), { mayEnd });
    } finally {
      over.abort();
    }
  }

  /** Notes the keeper, so that the search for leftovers includes it. Returns its pid, or null if there is none. */
  async noteKeeper(): Promise<number | null> {
    const { children } = await this.server.client.call(endpoints.getDiagnostics, {});
    if (children.keeper_pid !== null) this.#keeper = identify(children.keeper_pid);
    return children.keeper_pid;
  }

  signal(name: NodeJS.Signals): void {
    if (this.isOver) return;
    if (name === 'SIGKILL') this.#killed = true;
    process.kill(this.server.pid, name);
  }

  /** Waits for the end of the server and of its processes. Returns the cause of its end. */
  async awaitEnd(
    isInOrder: boolean,
  ): Promise<{ cause: string; violations: Violations; ms: number }> {
    const how = await this.server.exited;
    await this.server.end('SIGKILL');
    const violations = [...this.logged()];
    const { left, ms } = this.isClean
      ? await untilNothingRemains(this.server.directory, scaled(EXIT_LIMIT_MS), this.#keeper)
      : { left: [], ms: 0 };
    violations.push(...left.map((what) => `${ms} ms after the end of the server there is ${what}`));
    const { code, signal } = how;
    if (this.#killed && signal === 'SIGKILL') return { cause: 'a kill', violations, ms };
    if (isInOrder && !(this.mayEnd && signal === 'SIGABRT')) {
      if (code !== 0) violations.push(`a stop in order ended with ${code ?? signal ?? '?'}`);
      return { cause: 'a stop in order', violations, ms };
    }
    if (!this.mayEnd) {
      const log = this.server.log().slice(-2000);
      violations.push(`the server ended by itself with ${code ?? signal ?? '?'}: ${log}`);
    }
    return { cause: `its own end (${code ?? signal ?? '?'})`, violations, ms };
  }

  /** Lines of its log that must not occur. */
  logged(): Violations {
    if (this.mayLogErrors) return [];
    return (
      this.server
        .log()
        .split('\n')
        .filter((line) => /"level":"(error|fatal)"/.test(line))
        // A request that arrives during a stop in order.
        .filter((line) => !line.includes('"code":"shutting_down"'))
        .map((line) => `the server logged ${line.slice(0, 500)}`)
    );
  }
}
