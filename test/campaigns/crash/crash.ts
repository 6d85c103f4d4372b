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
import { judge } from './check-recovery.ts';
import { keepForInspection } from './keep-for-inspection.ts';
import { Life } from './server-run.ts';
import { load, Pulse } from './load.ts';
import { observe, replay } from './observe.ts';
import { checkOrder, type Complaints, Seen } from './checks.ts';
import { firstLife, type Plan, planLife, quietLife } from './plan.ts';
import { type Random, seeded } from './random.ts';
import { FIRST_READER, Readership } from './readers.ts';
import { Stories } from './turn-checker.ts';
import { scaled } from '../../support/patience.ts';

/** The whole log is read again after so many cycles; in between, what is new. */
const WHOLE_LOG_EVERY = 25;
/** Number of cycles after which sqlite3 checks the data that a kill has left on the disk. */
const INTEGRITY_EVERY = 5;
const CENSUS_MS = 2000;
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
  longestCensusMs: number;
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
  readonly #stories = new Stories();
  readonly #seen = new Seen();
  readonly #pulse = new Pulse();
  readonly #readers: Readership;
  readonly #shown: Complaints = [];
  readonly #deaths: Record<string, number> = {};
  readonly #notes = new Set<string>();
  #life: Life | null = null;
  #previousStop: 'none' | 'unclean' = 'none';
  /** The log was checked up to here. */
  #upTo = 0;
  #cycles = 0;
  #startedByRecovery = 0;
  #longestRestartMs = 0;
  #longestCensusMs = 0;

  constructor(directory: string, random: Random) {
    this.#directory = directory;
    this.#random = random;
    this.#readers = new Readership((name, event) => {
      if (name === FIRST_READER) this.#pulse.see(event);
      this.#shown.push(...this.#seen.note(name, event));
    });
  }

  /** One life: start, check what the last one left, load, kill, look around. */
  async cycle(number: number): Promise<void> {
    const drawn = planLife(this.#random);
    const plan = number === 1 ? firstLife : drawn;
    const random = this.#random.fork();
    const life = await this.#begin(plan);
    if (life) {
      const alive = await survives(life, () =>
        this.#check(life, { wholeLog: number % WHOLE_LOG_EVERY === 0 }),
      );
      if (alive) await this.#load(life, plan, random);
      await this.#bury(life);
    } else {
      this.#countDeath(`${plan.failpoint?.name ?? ''} while starting`);
      const { left } = await untilNothingRemains(this.#directory, scaled(CENSUS_MS));
      assertNone(left.map((what) => `after a death while starting there is still ${what}`));
    }
    if (number % INTEGRITY_EVERY === 0) this.#checkIntegrity();
    this.#cycles = number;
  }

  /** The last life: everything comes to its end, all is checked once more, and the server stops in order. */
  async finish(): Promise<void> {
    const life = await this.#begin(quietLife);
    if (!life) throw new Error('the server did not start');
    await this.#check(life, { wholeLog: false });
    await untilAtRest(life.server);
    await this.#check(life, { wholeLog: true, atRest: true });
    assertNone(checkPromptsGiven(this.#directory, this.#stories.completedPrompts));
    const complaints = await life.stop();
    this.#life = null;
    assertNone([...complaints, ...(await this.#readers.lastWords(this.#upTo))]);
    await this.#readers.end();
    this.#checkIntegrity();
  }

  /** Ends whatever runs, after a failure; answers the server's log. */
  async abandon(): Promise<string> {
    await this.#readers.end();
    const server = this.#life?.server;
    await server?.end('SIGKILL');
    await untilNothingRemains(this.#directory, scaled(CENSUS_MS));
    // A process that is still alive may be the finding of the campaign.
    for (const pid of carriersOf(this.#directory)) signal(pid, 'SIGKILL');
    return server?.log() ?? '';
  }

  get summary(): Summary {
    const { completed, failed } = this.#stories.counts();
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
      longestCensusMs: this.#longestCensusMs,
      deaths: this.#deaths,
      notes: [...this.#notes],
    };
  }

  async #begin(plan: Plan): Promise<Life | null> {
    const life = await Life.begin(this.#directory, plan);
    this.#life = life;
    if (!life) return null;
    this.#longestRestartMs = Math.max(this.#longestRestartMs, life.startedInMs);
    this.#readers.moveTo(life.server.client);
    return life;
  }

  /** All that can be known of a server before anybody writes to it. */
  async #check(
    life: Life,
    { wholeLog, atRest = false }: { wholeLog: boolean; atRest?: boolean },
  ): Promise<void> {
    const { server } = life;
    await life.meetKeeper();
    const { open, turns, sessions } = this.#acknowledged;
    const turnsOf = atRest ? sessions : new Set([...open].flatMap((turn) => turns.get(turn) ?? []));
    const found = await observe(server.client, {
      after: this.#upTo,
      logsOf: this.#readers.sessions,
      turnsOf,
    });
    const complaints = await this.#readers.catchUp(server, found);
    const whole = wholeLog ? await replay(server.client, 0) : null;
    if (whole) complaints.push(...(await this.#readers.compareNewcomer(server, whole)));

    // From here on the server is not asked: it may be dead already, and what was found is still to be judged whole.
    complaints.push(
      ...this.#shown.splice(0),
      ...checkOrder('the log', found.log),
      ...found.log.flatMap((event) => this.#stories.follow(event)),
      ...this.#readers.compareWith(found),
      ...(whole ? [...checkOrder('the whole log', whole), ...this.#seen.missingFrom(whole)] : []),
      ...judge(found, {
        acknowledged: this.#acknowledged,
        stories: this.#stories,
        previousStop: this.#previousStop,
        atRest,
      }),
    );
    this.#upTo = found.upTo;
    this.#previousStop = 'unclean';
    if (!atRest) this.#startedByRecovery += found.recovery.turns_reconciled.length;
    assertNone(complaints);
    await this.#readers.thinOut();
  }

  async #load(life: Life, plan: Plan, random: Random): Promise<void> {
    const { sessions } = this.#readers;
    const busy = this.#pulse.outputs(plan.afterOutputs);
    const loading = load({
      server: life.server,
      random,
      heavy: plan.heavy,
      sessions: sessions.slice(-random.between(2, 4)),
      creations: sessions.length < 3 ? 3 : random.between(0, 2),
      acknowledged: this.#acknowledged,
      pulse: this.#pulse,
      onSession: (id) => this.#readers.follow(id),
    });
    await life.killAfter(busy);
    assertNone(await loading);
    this.#pulse.reset();
  }

  async #bury(life: Life): Promise<void> {
    const { cause, complaints, censusMs } = await life.bury();
    this.#readers.moveTo(null);
    this.#countDeath(cause);
    this.#longestCensusMs = Math.max(this.#longestCensusMs, censusMs);
    assertNone(complaints);
    this.#life = null;
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
async function survives(life: Life, step: () => Promise<void>): Promise<boolean> {
  try {
    await step();
    return true;
  } catch (error) {
    const unreachable = error instanceof AppError && error.code === 'unreachable';
    if (unreachable && (await life.killsItself())) return false;
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

function assertNone(complaints: Complaints): void {
  if (complaints.length > 0)
    throw new Error(`${complaints.length} complaints:\n  ${complaints.join('\n  ')}`);
}
