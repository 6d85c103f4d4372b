import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { endpoints } from '../../../src/api/index.ts';
import { signal } from '../../../src/core/children/identity.ts';
import { carriersOf } from '../../../src/core/children/procfs.ts';
import { AppError } from '../../../src/api/errors.ts';
import type { TestServer } from '../../support/server.ts';
import { Acknowledgements } from './acknowledgements.ts';
import { untilNothingRemains } from './leftovers.ts';
import { checkPromptsGiven } from './prompts-given.ts';
import { integrityOf } from './integrity.ts';
import { checkRecovery } from './check-recovery.ts';
import { keepForInspection } from './keep-for-inspection.ts';
import { ServerRun } from './server-run.ts';
import { load, EventWaiter } from './load.ts';
import { observe, replay } from './observe.ts';
import { checkOrder, type Violations, Seen } from './checks.ts';
import { firstRun, type Plan, planRun, quietRun } from './plan.ts';
import { type Random, seeded } from './random.ts';
import { FIRST_READER, Readers } from './readers.ts';
import { TurnChecker } from './turn-checker.ts';
import { scaled } from '../../support/patience.ts';

/** The whole log is read again after so many cycles; in between, what is new. */
const WHOLE_LOG_EVERY = 25;
/** Number of cycles after which sqlite3 checks the data that a kill has left on the disk. */
const INTEGRITY_EVERY = 5;
const EXIT_LIMIT_MS = 2000;
const REST_MS = 60_000;

export interface CampaignOptions {
  /** How often the server is killed. */
  cycles: number;
  /** The same seed makes the same choices; what the machine makes of them differs. */
  seed: number;
  onProgress?: (summary: Summary) => void;
}

/** Result of a campaign. */
export interface Summary {
  cycles: number;
  sessions: number;
  turns: number;
  /** Acknowledged sessions and turns, all of which were found again. */
  acknowledgedWrites: number;
  turnsCompleted: number;
  turnsFailed: number;
  /** Turns that a start found accepted and seen by no agent, and started. */
  turnsStartedByRecovery: number;
  /** Events that readers were shown, all together, and different ones among them. */
  eventsRead: number;
  differentEvents: number;
  /** Connections that readers lost and took up again. */
  reconnections: number;
  longestRestartMs: number;
  /** The longest time after a kill until no process was left. */
  longestExitMs: number;
  /** Causes of the server's deaths, with their numbers. */
  deaths: Record<string, number>;
  notes: string[];
}

/**
 * Kills a server under load again and again, on one data directory, and checks after each start that nothing
 * that was acknowledged or shown is lost, changed or repeated, and that no process outlived the kill.
 * Rejects with what is wrong, the seed and the cycle; the directory is then kept under `out/`.
 */
export async function crashCampaign({
  cycles,
  seed,
  onProgress,
}: CampaignOptions): Promise<Summary> {
  const disk = fs.realpathSync(process.env.TEST_DISK ?? os.tmpdir());
  const directory = fs.mkdtempSync(path.join(disk, 'crash-'));
  const campaign = new Campaign(directory, seeded(seed));
  let cycle = 1;
  try {
    for (; cycle <= cycles; cycle++) {
      await campaign.cycle(cycle);
      onProgress?.(campaign.summary);
    }
    await campaign.finish();
    return campaign.summary;
  } catch (error) {
    const log = await campaign.abandon();
    const what = `cycle ${cycle} of seed ${seed}: ${(error as Error).message}`;
    const kept = keepForInspection(
      directory,
      `crash-${seed}`,
      `${what}\n${String((error as Error).stack)}\n\n${log}`,
    );
    throw new Error(`${what}\ndata and log are kept in ${kept}`, { cause: error });
  } finally {
    fs.rmSync(directory, { recursive: true, force: true });
  }
}

class Campaign {
  readonly #directory: string;
  readonly #random: Random;
  readonly #acknowledged = new Acknowledgements();
  readonly #turnChecker = new TurnChecker();
  readonly #seen = new Seen();
  readonly #eventWaiter = new EventWaiter();
  readonly #readers: Readers;
  readonly #shown: Violations = [];
  readonly #deaths: Record<string, number> = {};
  readonly #notes = new Set<string>();
  #serverRun: ServerRun | null = null;
  #previousStop: 'none' | 'unclean' = 'none';
  /** The log was checked up to here. */
  #upTo = 0;
  #cycles = 0;
  #startedByRecovery = 0;
  #longestRestartMs = 0;
  #longestExitMs = 0;

  constructor(directory: string, random: Random) {
    this.#directory = directory;
    this.#random = random;
    this.#readers = new Readers((name, event) => {
      if (name === FIRST_READER) this.#eventWaiter.see(event);
      this.#shown.push(...this.#seen.note(name, event));
    });
  }

  /** One run: start, check what the last one left, load, kill, look around. */
  async cycle(number: number): Promise<void> {
    const drawn = planRun(this.#random);
    const plan = number === 1 ? firstRun : drawn;
    const random = this.#random.fork();
    const serverRun = await this.#begin(plan);
    if (serverRun) {
      const alive = await survives(serverRun, () =>
        this.#check(serverRun, { wholeLog: number % WHOLE_LOG_EVERY === 0 }),
      );
      if (alive) await this.#load(serverRun, plan, random);
      await this.#awaitEnd(serverRun);
    } else {
      this.#countDeath(`${plan.failpoint?.name ?? ''} while starting`);
      const { left } = await untilNothingRemains(this.#directory, scaled(EXIT_LIMIT_MS));
      assertNone(left.map((what) => `after a death while starting there is still ${what}`));
    }
    if (number % INTEGRITY_EVERY === 0) this.#checkIntegrity();
    this.#cycles = number;
  }

  /** The last run: everything comes to its end, all is checked once more, and the server stops in order. */
  async finish(): Promise<void> {
    const serverRun = await this.#begin(quietRun);
    if (!serverRun) throw new Error('the server did not start');
    await this.#check(serverRun, { wholeLog: false });
    await untilAtRest(serverRun.server);
    await this.#check(serverRun, { wholeLog: true, atRest: true });
    assertNone(checkPromptsGiven(this.#directory, this.#turnChecker.completedPrompts));
    const violations = await serverRun.stop();
    this.#serverRun = null;
    assertNone([...violations, ...(await this.#readers.checkStopEvent(this.#upTo))]);
    await this.#readers.end();
    this.#checkIntegrity();
  }

  /** Ends whatever runs, after a failure; answers the server's log. */
  async abandon(): Promise<string> {
    await this.#readers.end();
    const server = this.#serverRun?.server;
    await server?.end('SIGKILL');
    await untilNothingRemains(this.#directory, scaled(EXIT_LIMIT_MS));
    // A process that is still alive may be the finding of the campaign.
    for (const pid of carriersOf(this.#directory)) signal(pid, 'SIGKILL');
    return server?.log() ?? '';
  }

  get summary(): Summary {
    const { completed, failed } = this.#turnChecker.counts();
    const { events, losses } = this.#readers.counts;
    const { sessions, turns } = this.#acknowledged;
    return {
      cycles: this.#cycles,
      sessions: sessions.size,
      turns: turns.size,
      acknowledgedWrites: sessions.size + turns.size,
      turnsCompleted: completed,
      turnsFailed: failed,
      turnsStartedByRecovery: this.#startedByRecovery,
      eventsRead: events,
      differentEvents: this.#seen.size,
      reconnections: losses,
      longestRestartMs: this.#longestRestartMs,
      longestExitMs: this.#longestExitMs,
      deaths: this.#deaths,
      notes: [...this.#notes],
    };
  }

  async #begin(plan: Plan): Promise<ServerRun | null> {
    const serverRun = await ServerRun.begin(this.#directory, plan);
    this.#serverRun = serverRun;
    if (!serverRun) return null;
    this.#longestRestartMs = Math.max(this.#longestRestartMs, serverRun.startedInMs);
    this.#readers.moveTo(serverRun.server.client);
    return serverRun;
  }

  /** All that can be known of a server before anybody writes to it. */
  async #check(
    serverRun: ServerRun,
    { wholeLog, atRest = false }: { wholeLog: boolean; atRest?: boolean },
  ): Promise<void> {
    const { server } = serverRun;
    await serverRun.noteKeeper();
    const { open, turns, sessions } = this.#acknowledged;
    const turnsOf = atRest ? sessions : new Set([...open].flatMap((turn) => turns.get(turn) ?? []));
    const found = await observe(server.client, {
      after: this.#upTo,
      logsOf: this.#readers.sessions,
      turnsOf,
    });
    const violations = await this.#readers.catchUp(server, found);
    const whole = wholeLog ? await replay(server.client, 0) : null;
    if (whole) violations.push(...(await this.#readers.compareNewReader(server, whole)));

    // From here on the server is not asked: it may be dead already, and what was found is still to be checked whole.
    violations.push(
      ...this.#shown.splice(0),
      ...checkOrder('the log', found.log),
      ...found.log.flatMap((event) => this.#turnChecker.follow(event)),
      ...this.#readers.compareWith(found),
      ...(whole ? [...checkOrder('the whole log', whole), ...this.#seen.missingFrom(whole)] : []),
      ...checkRecovery(found, {
        acknowledged: this.#acknowledged,
        turnChecker: this.#turnChecker,
        previousStop: this.#previousStop,
        atRest,
      }),
    );
    this.#upTo = found.upTo;
    this.#previousStop = 'unclean';
    if (!atRest) this.#startedByRecovery += found.recovery.turns_reconciled.length;
    assertNone(violations);
    await this.#readers.removeOldReaders();
  }

  async #load(serverRun: ServerRun, plan: Plan, random: Random): Promise<void> {
    const { sessions } = this.#readers;
    const busy = this.#eventWaiter.outputs(plan.afterOutputs);
    const loading = load({
      server: serverRun.server,
      random,
      heavy: plan.heavy,
      sessions: sessions.slice(-random.between(2, 4)),
      creations: sessions.length < 3 ? 3 : random.between(0, 2),
      acknowledged: this.#acknowledged,
      eventWaiter: this.#eventWaiter,
      onSession: (id) => this.#readers.follow(id),
    });
    await serverRun.killAfter(busy);
    assertNone(await loading);
    this.#eventWaiter.reset();
  }

  async #awaitEnd(serverRun: ServerRun): Promise<void> {
    const { cause, violations, exitMs } = await serverRun.awaitEnd();
    this.#readers.moveTo(null);
    this.#countDeath(cause);
    this.#longestExitMs = Math.max(this.#longestExitMs, exitMs);
    assertNone(violations);
    this.#serverRun = null;
  }

  #checkIntegrity(): void {
    const said = integrityOf(this.#directory);
    if (said === null) this.#notes.add('sqlite3 is not installed: integrity_check was left out');
    else if (said !== 'ok') throw new Error(`sqlite3 says of the database: ${said}`);
  }

  #countDeath(cause: string): void {
    this.#deaths[cause] = (this.#deaths[cause] ?? 0) + 1;
  }
}

/** Runs a step; false when the server's own failpoint killed it meanwhile. */
async function survives(serverRun: ServerRun, step: () => Promise<void>): Promise<boolean> {
  try {
    await step();
    return true;
  } catch (error) {
    const unreachable = error instanceof AppError && error.code === 'unreachable';
    if (unreachable && (await serverRun.killsItself())) return false;
    throw error;
  }
}

/** Waits until no session is at work. */
async function untilAtRest({ client }: TestServer): Promise<void> {
  for (const deadline = performance.now() + scaled(REST_MS); ;) {
    const running = await client.call(endpoints.listSessions, { query: { status: 'running' } });
    if (running.length === 0) return;
    if (performance.now() > deadline)
      throw new Error(`sessions are still at work: ${running.map(({ id }) => id).join(', ')}`);
    await pause(20);
  }
}

function assertNone(violations: Violations): void {
  if (violations.length > 0)
    throw new Error(`${violations.length} violations:\n  ${violations.join('\n  ')}`);
}
