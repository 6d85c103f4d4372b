import { setTimeout as pause } from 'node:timers/promises';
import type { Approval } from '../../../src/api/approvals.ts';
import { AppError, isUnreachable } from '../../../src/api/errors.ts';
import { endpoints } from '../../../src/api/index.ts';
import type { Client } from '../../../src/client/client.ts';
import { streamEvents } from '../../../src/client/stream.ts';
import { systemClock } from '../../../src/core/lib/clock.ts';
import type { TestServer } from '../../support/server.ts';
import { openSession, send } from '../../support/turns.ts';
import type { EventWaiter } from '../crash/load.ts';
import type { Random } from '../crash/random.ts';
import { Subscriber } from '../fanout-follower.ts';

const noWork = {
  sessions: 0,
  worktrees: 0,
  'removed worktrees': 0,
  turns: 0,
  interrupts: 0,
  'accepted approvals': 0,
  'declined approvals': 0,
  'queued prompts': 0,
  processes: 0,
  'killed processes': 0,
  followers: 0,
  searches: 0,
  lists: 0,
  'trims by age': 0,
  'trims by size': 0,
  /** Requests whose connection was reset although the server lives. */
  'lost connections': 0,
};

/** How often each kind of work was done. */
export type Counts = typeof noWork;

export interface LoadDeps {
  server: TestServer;
  /** A git repository. */
  repo: string;
  random: Random;
  pulse: EventWaiter;
  /** Factor of all pauses: 1 is a modest load. */
  calm: number;
  signal: AbortSignal;
}

const WORDS = ['anchor', 'ballast', 'cadence', 'draft', 'ebb', 'é', '漢字', '🙂'] as const;
const TALKERS = 3;
const FOLLOWERS = 8;
/** One of so many processes prints so much that its logs exceed the budget of the store. */
const LOUD_EVERY = 60;
const LOUD_BYTES = 12_000_000;

/** Mixed work of several users until the signal aborts. */
export class Load {
  readonly counts: Counts = { ...noWork };
  readonly #deps: LoadDeps;
  readonly #client: Client;

  constructor(deps: LoadDeps) {
    this.#deps = deps;
    this.#client = deps.server.client;
  }

  /** Runs the work. Rejects with the first error that a user would not expect. */
  async run(): Promise<void> {
    const { signal } = this.#deps;
    await Promise.all([
      ...Array.from({ length: TALKERS }, () => this.#repeat(1500, (own) => this.#talk(own))),
      this.#repeat(1000, (own) => this.#runProcess(own)),
      ...Array.from({ length: FOLLOWERS }, () => this.#repeat(500, (own) => this.#watch(own))),
      this.#repeat(3000, (own) => this.#search(own)),
      this.#repeat(2000, (own) => this.#list(own)),
      this.#repeat(10_000, () => this.#collectWorktrees()),
    ]);
    if (!signal.aborted) throw new Error('the load ended by itself');
  }

  /** Follows all events until the signal aborts: it wakes who waits for a turn, and decides approvals. */
  async follow(signal: AbortSignal): Promise<void> {
    const { pulse, random } = this.#deps;
    const own = random.fork();
    const deciding = new Set<Promise<void>>();
    for await (const event of streamEvents({
      client: this.#client,
      clock: systemClock,
      after: 'latest',
      signal,
    })) {
      pulse.see(event);
      if (event.kind === 'storage.trimmed')
        this.counts[event.payload.reason === 'max_bytes' ? 'trims by size' : 'trims by age']++;
      if (event.kind !== 'approval.requested') continue;
      const { id } = event.payload.approval as Approval;
      const decision = this.outliving(this.#decide(event.session_id ?? '', id, own)).finally(() =>
        deciding.delete(decision),
      );
      deciding.add(decision);
    }
    await Promise.all(deciding);
  }

  /** Waits for work, which may lose its connection: a program that gets no CPU time reads too late that its server closed it. */
  async outliving(work: Promise<void>): Promise<void> {
    try {
      await work;
    } catch (error) {
      if (!isUnreachable(error)) throw error;
      // The server answers, or the work fails with its absence.
      await this.#client.call(endpoints.getVersion, {});
      this.counts['lost connections']++;
      process.stderr.write(`lost a connection: ${String(error.cause)}\n`);
    }
  }

  async #repeat(pauseMs: number, work: (own: Random) => Promise<void>): Promise<void> {
    const { random, signal, calm, server } = this.#deps;
    const own = random.fork();
    const died = server.exited.then((how) => {
      throw new Error(`the server ended: ${JSON.stringify(how)}`);
    });
    died.catch(() => undefined);
    while (!signal.aborted) {
      await Promise.race([this.outliving(work(own)), died]);
      await this.#rest(own.between(0, 2 * pauseMs) * calm);
    }
  }

  /** Waits, or until the signal aborts. */
  async #rest(ms: number): Promise<void> {
    await pause(ms, undefined, { signal: this.#deps.signal }).catch(() => undefined);
  }

  /** A session with some turns, sometimes in a worktree, which is closed in the end. */
  async #talk(own: Random): Promise<void> {
    const inWorktree = own.chance(0.3);
    const session = await openSession(this.#client, this.#deps.repo, {
      title: `work on the ${own.pick(WORDS)}`,
      permission_mode: 'require_approval',
      ...(inWorktree ? { worktree: true } : {}),
    });
    this.counts.sessions++;
    if (inWorktree) this.counts.worktrees++;
    for (let left = own.between(2, 8); left > 0 && !this.#deps.signal.aborted; left--) {
      await this.#turn(session.id, own);
      await this.#rest(own.between(0, 1000) * this.#deps.calm);
    }
    const params = { session_id: session.id };
    await this.#client.call(endpoints.closeSession, { params, body: {} });
  }

  async #turn(session_id: string, own: Random): Promise<void> {
    const params = { session_id };
    const text = promptOf(own);
    const over = this.#deps.pulse.turnEnded(session_id);
    this.counts.turns++;
    if (own.chance(0.1)) {
      const input = [{ type: 'text' as const, text }];
      await this.#client.call(endpoints.addToQueue, { params, body: { input } });
      this.counts['queued prompts']++;
    } else {
      const { turn_id } = await send(this.#client, session_id, text);
      if (own.chance(0.1)) {
        await this.#rest(own.between(0, 300));
        const turn = { session_id, turn_id };
        await orRefused(
          this.#client.call(endpoints.interruptTurn, { params: turn, body: {} }),
          'turn_not_active',
        );
        this.counts.interrupts++;
      }
    }
    await over;
  }

  /** Decides an approval. Some are left: they expire, or their turn is interrupted. */
  async #decide(session_id: string, approval_id: string, own: Random): Promise<void> {
    if (own.chance(0.1)) return;
    const isAccepted = own.chance(0.7);
    await this.#rest(own.between(0, 200));
    const params = { session_id, approval_id };
    const body = { decision: isAccepted ? ('accept' as const) : ('decline' as const) };
    await orRefused(
      this.#client.call(endpoints.decideApproval, { params, body }),
      'approval_resolved',
    );
    this.counts[isAccepted ? 'accepted approvals' : 'declined approvals']++;
  }

  async #runProcess(own: Random): Promise<void> {
    const isLoud = own.between(1, LOUD_EVERY) === 1;
    const bytes = isLoud ? LOUD_BYTES : own.between(100, 60_000);
    const isKilled = own.chance(0.15);
    const command = `head -c ${bytes} /dev/zero | tr '\\0' 'x' | fold -w 100; ${isKilled ? 'sleep 600' : 'sleep 0.1'}`;
    const { process } = await this.#client.call(endpoints.createProcess, { body: { command } });
    const params = { process_id: process.process_id };
    this.counts.processes++;
    if (isKilled) {
      await this.#rest(own.between(0, 500));
      await this.#client.call(endpoints.killProcess, { params, body: {} });
      this.counts['killed processes']++;
    }
    await this.#client.call(endpoints.waitForProcess, { params });
    await this.#client.call(endpoints.getProcessLogs, { params, query: {} });
  }

  /** Follows events for a while, from some time ago or from now on; some followers do not read for a part of the time. */
  async #watch(own: Random): Promise<void> {
    const { server } = this.#deps;
    const after = own.chance(0.3) ? '0' : 'latest';
    const follower = await Subscriber.open(server, {
      path: `/v1/events/stream?after_seq=${after}`,
    });
    this.counts.followers++;
    if (own.chance(0.2)) follower.pause();
    await this.#rest(own.between(0, 5000));
    follower.resume();
    await this.#rest(own.between(0, 2000));
    follower.close();
  }

  /** Removes the worktrees of closed sessions, after archiving their work. */
  async #collectWorktrees(): Promise<void> {
    const body = { dry_run: false };
    const { worktrees } = await this.#client.call(endpoints.collectWorktrees, { body });
    this.counts['removed worktrees'] += worktrees.filter(
      ({ status }) => status === 'cleaned',
    ).length;
  }

  async #search(own: Random): Promise<void> {
    const q = `${own.pick(WORDS)} ${own.chance(0.5) ? own.pick(WORDS) : ''}`;
    await this.#client.call(endpoints.search, { query: { q } });
    this.counts.searches++;
  }

  async #list(own: Random): Promise<void> {
    const limit = { query: { limit: 50 } };
    const lists = [
      () => this.#client.call(endpoints.listSessions, limit),
      () => this.#client.call(endpoints.listProcesses, limit),
      () => this.#client.call(endpoints.listWorktrees, limit),
      () => this.#client.call(endpoints.listApprovals, limit),
      () => this.#client.call(endpoints.listQueue, {}),
      () => this.#client.call(endpoints.replayEvents, limit),
    ] as const;
    await own.pick<() => Promise<unknown>>(lists)();
    this.counts.lists++;
  }
}

/** A script for the demo agent. */
function promptOf(own: Random): string {
  const words = (most: number) =>
    Array.from({ length: own.between(1, most) }, () => own.pick(WORDS)).join(' ');
  const steps = [
    () => `say ${words(12)}`,
    () => `think ${words(8)}`,
    () => `tool run: ${own.pick(WORDS)} => ${words(200)}`,
    () => `repeat ${own.between(3, 20)} ${own.between(5, 30)} ${own.pick(WORDS)}`,
    () => `flood ${own.between(10, 60)} ${own.between(16, 800)}`,
    () => `ask ${words(4)}`,
    () => `edit notes.txt => ${words(40)}`,
    () => `spawn 300000`,
  ];
  return Array.from({ length: own.between(1, 5) }, () => own.pick(steps)()).join('; ');
}

/** Waits for a call, which may also be refused with this code because something else was faster. */
async function orRefused(call: Promise<unknown>, code: AppError['code']): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== code) throw error;
  }
}
