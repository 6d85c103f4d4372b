import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { AppError } from '../../../src/api/errors.ts';
import { signal } from '../../../src/core/children/identity.ts';
import { carriersOf } from '../../../src/core/children/procfs.ts';
import { Receiver } from '../../support/hooks/receiver.ts';
import { scaled } from '../../support/patience.ts';
import type { ServerOptions, TestServer } from '../../support/server.ts';
import { integrityOf } from '../crash/integrity.ts';
import { observe, replay } from '../crash/observe.ts';
import { checkOrder, type Violations, Seen } from '../crash/checks.ts';
import { type Random, seeded } from '../crash/random.ts';
import { FIRST_READER, Readers } from '../crash/readers.ts';
import { type Condition, Conditions } from './conditions.ts';
import { Disk } from './disk.ts';
import { EventWaiter } from './event-waiter.ts';
import { ServerRun } from './server-run.ts';
import { injectFault, type Target } from './live-faults.ts';
import { agentsOf, CampaignClock, sendSignal } from './machine.ts';
import { type Plan, planRun } from './plan.ts';
import { Receipts } from './receipts.ts';
import { CampaignOver, Requests } from './requests.ts';
import { untilAtRest } from './at-rest.ts';
import type { Activity, ActivityContext } from './activity.ts';
import { makeActivities, type TurnActivity } from './activities.ts';
import { HOOK_KINDS } from './activities/hooks.ts';

/** The whole log is read again when it has grown by this factor: reading a million events takes minutes. */
const WHOLE_LOG_GROWTH = 1.5;
const FIRST_WHOLE_LOG = 50_000;
const INTEGRITY_EVERY = 20;
const FAILPOINT_PATIENCE_MS = 3000;
const CLOSING_MS = 120_000;

export interface CampaignOptions {
  /** The campaign ends after so many kills. */
  kills: number;
  seed: number;
  /** Time of `performance.now()` at which it ends with fewer kills. */
  endsAt?: number;
  /** Directory of all files of the campaign, which is removed at its end. */
  place: string;
  /** Whether a disk in memory can be mounted. */
  canMount: boolean;
  onProgress?: (summary: object) => void;
  /** Called with each step, for whoever looks into a failure. */
  onStep?: (step: string) => void;
}

/** Injects faults into servers under load, one server after the other, until the number of kills is reached. */
export class Campaign {
  readonly #place: string;
  readonly #data: string;
  readonly #disk: Disk | null;
  readonly #random: Random;
  readonly #clock: CampaignClock;
  readonly #conditions = new Conditions();
  readonly #requests: Requests;
  readonly #receipts = new Receipts();
  readonly #eventWaiter = new EventWaiter();
  readonly #seen = new Seen();
  readonly #shown: Violations = [];
  readonly #readers: Readers;
  readonly #receiver: Receiver;
  readonly #closing = new AbortController();
  readonly #activities: readonly Activity[];
  readonly #turns: TurnActivity;
  readonly #options: CampaignOptions;
  readonly #kills: Record<string, number> = {};
  readonly #faults: Record<string, number> = {};
  readonly #ends: Record<string, number> = {};
  #running: Promise<unknown> = Promise.resolve();
  #labels = 0;
  #runs = 0;
  #upTo = 0;
  #wholeLogAt = FIRST_WHOLE_LOG;
  #longestStartMs = 0;
  #longestExitMs = 0;
  #serverRun: ServerRun | null = null;
  /** The last server that has started. */
  #server: TestServer | null = null;

  private constructor(options: CampaignOptions, receiver: Receiver) {
    this.#options = options;
    this.#receiver = receiver;
    const { place, seed, canMount } = options;
    this.#place = place;
    this.#disk = canMount ? Disk.mount(path.join(place, 'disk')) : null;
    this.#data = path.join(place, 'disk', 'data');
    fs.mkdirSync(this.#data, { recursive: true });
    this.#random = seeded(seed);
    this.#clock = new CampaignClock(place);
    this.#requests = new Requests(this.#conditions, `campaign-${seed}`);
    this.#readers = new Readers((name, event) => {
      this.#shown.push(...this.#seen.note(name, event));
      if (name === FIRST_READER) this.#eventWaiter.see(event);
    });
    const { activities, turns } = makeActivities(this.#context(), receiver);
    this.#activities = activities;
    this.#turns = turns;
    const secret = path.join(place, 'secret');
    fs.writeFileSync(secret, 'a secret of a test, long enough', { mode: 0o600 });
    fs.writeFileSync(path.join(place, 'config.toml'), configOf(receiver.url, secret));
  }

  /** Runs a campaign. Rejects with the first findings; its files then stay for inspection. */
  static async run(options: CampaignOptions): Promise<object> {
    await using receiver = await new Receiver().open();
    const campaign = new Campaign(options, receiver);
    try {
      await campaign.#runAll();
      await campaign.#finish();
      return campaign.summary;
    } catch (error) {
      const log = await campaign.#abandon();
      fs.writeFileSync(path.join(options.place, 'server.log'), log);
      throw new Error(`run ${campaign.#runs}: ${(error as Error).message}`, { cause: error });
    } finally {
      campaign.#disk?.free();
    }
  }

  get summary(): object {
    const { events, losses } = this.#readers.counts;
    return {
      runs: this.#runs,
      kills: this.#kills,
      killsInAll: this.#killCount(),
      faults: this.#faults,
      ends: this.#ends,
      acknowledged: this.#requests.acknowledged,
      proved: this.#receipts.count,
      repeated: this.#requests.repeated,
      refused: this.#requests.refused,
      eventsRead: events,
      differentEvents: this.#seen.size,
      reconnections: losses,
      hookRequests: this.#receiver.got.length,
      longestStartMs: this.#longestStartMs,
      longestExitMs: this.#longestExitMs,
    };
  }

  #context(): ActivityContext {
    return {
      place: this.#place,
      requests: this.#requests,
      receipts: this.#receipts,
      eventWaiter: this.#eventWaiter,
      random: this.#random.fork(),
      closing: this.#closing.signal,
      now: () => this.#clock.now(),
      newLabel: () => `word${++this.#labels}x`,
    };
  }

  async #runAll(): Promise<void> {
    this.#running = Promise.all(this.#activities.map((activity) => this.#runActivity(activity)));
    this.#running.catch(() => undefined);
    const { kills, endsAt = Number.POSITIVE_INFINITY } = this.#options;
    while (this.#killCount() < kills && performance.now() < endsAt) {
      const plan = planRun(this.#random, { hasDisk: this.#disk !== null });
      this.#runs++;
      await this.#runOnce(plan, this.#random.fork());
      if (this.#runs % INTEGRITY_EVERY === 0) this.#checkIntegrity();
      this.#options.onProgress?.(this.summary);
    }
  }

  async #runActivity(activity: Activity): Promise<void> {
    try {
      await activity.run();
    } catch (error) {
      if (error instanceof CampaignOver) return;
      const { stack, message } = error as Error;
      this.#requests.violations.push(
        `the activity of ${activity.name} failed: ${stack ?? message}`,
      );
    }
  }

  async #runOnce(plan: Plan, random: Random): Promise<void> {
    this.#options.onStep?.(`run ${this.#runs}: ${JSON.stringify(plan)}`);
    const serverRun = await this.#begin(plan, random);
    if (!serverRun) return;
    const target: Target = {
      serverRun,
      random,
      conditions: this.#conditions,
      clock: this.#clock,
      disk: this.#disk,
      killed: (what) => this.#count(this.#kills, what),
    };
    const isWhole = this.#upTo >= this.#wholeLogAt;
    if (await survives(serverRun, () => this.#check(serverRun, isWhole))) {
      for (const [i, name] of plan.faults.entries()) {
        await Promise.race([pause(plan.pausesMs[i]), serverRun.server.exited]);
        if (serverRun.isOver) break;
        this.#count(this.#faults, name);
        this.#options.onStep?.(name);
        await injectFault(name, target);
      }
    }
    await this.#end(plan, target);
    this.#assertNone([...this.#requests.violations, ...this.#shown.splice(0)]);
  }

  /** Starts a server. Returns null if the machine does not let it start, or a failpoint has killed it. */
  async #begin(plan: Plan, random: Random): Promise<ServerRun | null> {
    if (plan.start !== 'usual') this.#count(this.#faults, `start: ${plan.start}`);
    const started = performance.now();
    const mayEnd =
      plan.ending === 'failpoint' || ['small heap', 'little address space'].includes(plan.start);
    const undo = this.#prepare(plan, random);
    try {
      const serverRun = await ServerRun.begin(this.#data, this.#serverOptions(plan, random), {
        mayEnd,
      });
      serverRun.mayLogErrors = plan.start !== 'usual';
      this.#serverRun = serverRun;
      this.#server = serverRun.server;
      const lasting = lastingConditions[plan.start];
      if (lasting) this.#conditions.begin(lasting);
      if (plan.start === 'usual')
        this.#longestStartMs = Math.max(this.#longestStartMs, performance.now() - started);
      this.#requests.moveTo(serverRun.server);
      this.#readers.moveTo(serverRun.server.client);
      if (undo) void pause(random.between(100, 1500)).then(undo);
      return serverRun;
    } catch (error) {
      undo?.();
      this.#checkRefusedStart(plan, (error as Error).message);
      return null;
    }
  }

  /** Sets the state of the machine for a start. Returns the function that ends it. */
  #prepare(plan: Plan, random: Random): (() => void) | null {
    const disk = this.#disk;
    if (!disk || !fs.existsSync(path.join(this.#data, 'README'))) return null;
    if (plan.start === 'full disk') {
      this.#conditions.begin('full disk');
      disk.fill(random.pick([0, 4, 64, 512]));
      return () => {
        disk.free();
        this.#conditions.end('full disk');
      };
    }
    if (plan.start !== 'read-only disk') return null;
    disk.forbidWrites();
    return () => disk.allowWrites();
  }

  #serverOptions(plan: Plan, random: Random): ServerOptions {
    const { name, hit } = plan.failpoint;
    const clock = this.#clock.environment;
    const heap = plan.start === 'small heap' ? random.between(24, 64) : 0;
    const wrap = {
      'few descriptors': ['prlimit', `--nofile=${random.between(40, 160)}`],
      'little address space': ['prlimit', `--as=${random.between(1, 24) * 1024 ** 3}`],
    }[plan.start as string];
    return {
      args: ['--config', path.join(this.#place, 'config.toml'), '--log-level', 'warn'],
      env: {
        ...clock,
        ...(heap > 0 ? { NODE_OPTIONS: `${clock.NODE_OPTIONS} --max-old-space-size=${heap}` } : {}),
        ...(plan.ending === 'failpoint' ? { CADRE_FAILPOINTS: `${name}=kill@${hit}` } : {}),
        CADRE_DATA_DURABILITY: plan.durability,
        CADRE_DEMO_STATE: path.join(this.#place, 'demo-agent'),
        HOME: this.#place,
      },
      ...(wrap ? { wrap } : {}),
    };
  }

  #checkRefusedStart({ start, ending }: Plan, message: string): void {
    if (ending === 'failpoint' && message.includes('"signal":"SIGKILL"')) {
      this.#count(this.#ends, 'a failpoint while starting');
      this.#count(this.#kills, 'server');
      return;
    }
    const reasons: Record<string, RegExp> = {
      'read-only disk': /read-only|EROFS/i,
      'full disk': /disk is full|ENOSPC|no space/i,
      'few descriptors': /too many open files|EMFILE|descriptors/i,
      'small heap': /heap out of memory|"signal":"SIGABRT"|"signal":"SIGTRAP"|memory/i,
      'little address space': /memory|"signal":"SIG(ABRT|TRAP|ILL|SEGV)"/i,
    };
    if (!reasons[start]?.test(message))
      throw new Error(
        `a start (${start}) failed without a clear reason: ${message.slice(0, 3000)}`,
      );
    this.#count(this.#ends, `a refused start: ${start}`);
  }

  async #end(plan: Plan, target: Target): Promise<void> {
    const { serverRun } = target;
    const { server } = serverRun;
    this.#options.onStep?.(`end: ${plan.ending}`);
    if (plan.ending === 'failpoint')
      await Promise.race([server.exited, pause(FAILPOINT_PATIENCE_MS)]);
    await serverRun.noteKeeper().catch(() => null);
    const isInOrder = plan.ending === 'stop in order' && !serverRun.isOver;
    if (isInOrder) this.#conditions.begin('stop in order');
    const undo = serverRun.isOver ? undefined : this.#lastFault(plan, target);
    serverRun.signal(isInOrder ? 'SIGTERM' : 'SIGKILL');
    const { cause, violations, ms } = await serverRun.awaitEnd(isInOrder);
    this.#requests.moveTo(null);
    this.#readers.moveTo(null);
    undo?.();
    if (isInOrder) this.#conditions.end('stop in order');
    const lasting = lastingConditions[plan.start];
    if (lasting) this.#conditions.end(lasting);
    const isKill = cause === 'a kill' || cause.includes('SIGKILL');
    if (isKill) this.#count(this.#kills, 'server');
    this.#count(this.#ends, isKill ? (cause === 'a kill' ? plan.ending : 'failpoint') : cause);
    this.#longestExitMs = Math.max(this.#longestExitMs, ms);
    this.#assertNone(violations);
    this.#serverRun = null;
  }

  /** Injects the fault that comes just before the kill of the server. Returns the function that ends it. */
  #lastFault({ ending }: Plan, { serverRun, killed }: Target): (() => void) | undefined {
    const { server } = serverRun;
    if (ending === 'kill of a stopped server') serverRun.signal('SIGSTOP');
    if (ending === 'kill with stopped agents')
      for (const pid of agentsOf(this.#data)) sendSignal(pid, 'SIGSTOP');
    if (ending === 'kill with the keeper') {
      serverRun.signal('SIGSTOP');
      const keepers = keepersOf(server.pid);
      for (const pid of keepers) if (sendSignal(pid, 'SIGKILL')) killed('keeper');
      serverRun.isClean = false;
    }
    if (ending !== 'kill on a full disk' || !this.#disk) return undefined;
    const disk = this.#disk;
    serverRun.mayLogErrors = true;
    this.#conditions.begin('full disk');
    disk.fill(0);
    return () => {
      disk.free();
      this.#conditions.end('full disk');
    };
  }

  /** Holds the server against everything that was acknowledged or shown before. */
  async #check(serverRun: ServerRun, wholeLog: boolean): Promise<void> {
    const { client } = serverRun.server;
    await serverRun.noteKeeper();
    const due = this.#receipts.due();
    const found = await observe(client, {
      after: this.#upTo,
      logsOf: this.#readers.sessions,
      turnsOf: [],
    });
    const violations = await this.#readers.catchUp(serverRun.server, found);
    const whole = wholeLog ? await replay(client, 0) : null;
    if (whole) violations.push(...(await this.#readers.compareNewReader(serverRun.server, whole)));
    violations.push(
      ...checkOrder('the log', found.log),
      ...this.#turns.follow(found.log),
      ...this.#receipts.take(found.log),
      ...this.#receipts.missing(due),
      ...this.#readers.compareWith(found),
      ...(whole ? [...checkOrder('the whole log', whole), ...this.#seen.missingFrom(whole)] : []),
    );
    this.#upTo = found.upTo;
    if (whole) this.#wholeLogAt = found.upTo * WHOLE_LOG_GROWTH;
    this.#assertNone(violations);
    await this.#readers.removeOldReaders();
  }

  /** The last run: the activities come to their end, everything is checked, and the server stops in order. */
  async #finish(): Promise<void> {
    this.#clock.catchUp();
    const options = this.#serverOptions(quiet, this.#random);
    const serverRun = await ServerRun.begin(this.#data, options, { mayEnd: false });
    this.#serverRun = serverRun;
    this.#requests.moveTo(serverRun.server);
    this.#readers.moveTo(serverRun.server.client);
    this.#closing.abort();
    const late = pause(scaled(CLOSING_MS), 'late', { ref: false });
    if ((await Promise.race([this.#running, late])) === 'late')
      throw new Error('the activities do not come to their end');
    await untilAtRest(serverRun.server.client);
    await this.#check(serverRun, true);
    const { client } = serverRun.server;
    const log = await replay(client, 0);
    const violations = [...this.#requests.violations];
    for (const activity of this.#activities)
      violations.push(...(await activity.check({ client, log })));
    const users = log.filter(
      ({ kind, payload }) =>
        kind === 'turn.accepted' && (payload.turn as { source: string }).source === 'user',
    );
    violations.push(...this.#receipts.unasked(new Set(users.map(({ turn_id }) => turn_id ?? ''))));
    this.#assertNone(violations);
    serverRun.signal('SIGTERM');
    const { violations: last } = await serverRun.awaitEnd(true);
    this.#serverRun = null;
    this.#assertNone(last);
    await this.#readers.end();
    this.#requests.end();
    this.#checkIntegrity();
  }

  /** Ends everything after a failure. Returns the log of the server. */
  async #abandon(): Promise<string> {
    this.#requests.end();
    this.#closing.abort();
    await this.#readers.end();
    await this.#serverRun?.server.end('SIGKILL');
    for (const pid of carriersOf(this.#data)) signal(pid, 'SIGKILL');
    return this.#server?.log() ?? '';
  }

  #checkIntegrity(): void {
    const said = integrityOf(this.#data);
    if (said !== null && said !== 'ok') throw new Error(`sqlite3 says of the database: ${said}`);
  }

  #killCount(): number {
    return Object.values(this.#kills).reduce((sum, count) => sum + count, 0);
  }

  #count(counts: Record<string, number>, what: string): void {
    counts[what] = (counts[what] ?? 0) + 1;
  }

  #assertNone(violations: Violations): void {
    if (violations.length === 0) return;
    throw new Error(`${violations.length} violations:\n  ${violations.slice(0, 30).join('\n  ')}`);
  }
}

/** The conditions that hold for the whole run of a server. */
const lastingConditions: Partial<Record<Plan['start'], Condition>> = {
  'few descriptors': 'few descriptors',
  'small heap': 'little memory',
  'little address space': 'little memory',
};

const quiet: Plan = {
  start: 'usual',
  faults: [],
  ending: 'stop in order',
  failpoint: { name: 'commit.after', hit: 1 },
  durability: 'full',
  pausesMs: [],
};

/** Runs a step; false if the server died meanwhile and was allowed to. */
async function survives(serverRun: ServerRun, step: () => Promise<void>): Promise<boolean> {
  try {
    await step();
    return true;
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'unreachable' || !serverRun.mayEnd)
      throw error;
    await Promise.race([serverRun.server.exited, pause(scaled(FAILPOINT_PATIENCE_MS))]);
    if (!serverRun.isOver) throw error;
    return false;
  }
}

/** The shells that a server has started with a session of their own and no marker: its keeper. */
function keepersOf(server: number): number[] {
  const children = execFileSync('ps', ['--ppid', String(server), '-o', 'pid=,args='], {
    encoding: 'utf8',
  });
  return children
    .split('\n')
    .filter((line) => line.includes('read -r marker'))
    .map((line) => Number(line.trim().split(' ')[0]));
}

/** Returns the configuration of the server. Retention must not delete events, because the checks compare the whole log. */
function configOf(url: string, secret_file: string): string {
  const hook = { name: 'campaign', kinds: HOOK_KINDS, url, secret_file, timeout_ms: 2000 };
  const keys = Object.entries(hook).map(([key, value]) => `${key} = ${JSON.stringify(value)}\n`);
  return `retention.min_free_bytes = 0\nretention.max_bytes = 0\n[[hooks]]\n${keys.join('')}`;
}
