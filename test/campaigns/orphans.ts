import fs from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { endpoints } from '../../src/api/index.ts';
import {
  type Identity,
  identify,
  isAlive,
  MARKER_VARIABLE,
} from '../../src/core/children/identity.ts';
import { carriersOf } from '../../src/core/children/procfs.ts';
import { AppError } from '../../src/api/errors.ts';
import { commandOf } from '../support/processes/command-line.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { openSession, send } from '../support/turns.ts';
import { type Random, seeded } from './crash/random.ts';
import { scaled } from '../support/patience.ts';

const TREES = 32;
const AGENTS = 4;
/** After a kill, and after the time that children live on, nothing may be left once this has passed. */
const EXIT_LIMIT_MS = 2000;
/** So long it may take until everything that was asked for runs. */
const PLANT_MS = 20_000;

/** The process that is killed: mostly the server alone. */
const killTargets = ['server', 'server and keeper', 'keeper, then server'] as const;
export type KillTarget = (typeof killTargets)[number];

export interface OrphanSummary {
  kills: Record<KillTarget, number>;
  /** Processes that lived when the server was killed, all together. */
  seen: number;
  /** The longest time after a kill until no process was left. */
  longestExitMs: number;
}

/**
 * Kills the server again and again while process trees and agents run that do all they can to be left behind, and
 * looks for what is left. Throws where something is.
 */
export async function orphanCampaign(given: {
  directory: string;
  kills: number;
  seed: number;
  /** The time that agents and half of the processes live on without a server, in milliseconds. */
  reattachMs: number;
  onProgress?: (summary: OrphanSummary, done: number) => void;
}): Promise<OrphanSummary> {
  const { directory, kills, seed, reattachMs } = given;
  const env = { CADRE_SERVER_REATTACH_MS: String(reattachMs) };
  const random = seeded(seed);
  const summary: OrphanSummary = {
    kills: { server: 0, 'server and keeper': 0, 'keeper, then server': 0 },
    seen: 0,
    longestExitMs: 0,
  };
  const processes = new CampaignProcesses(directory, `86400.${seed}`, EXIT_LIMIT_MS + reattachMs);
  let server = await startServer(directory, { env });
  let canOutlive = reattachMs > 0;
  try {
    for (let kill = 1; kill <= kills; kill++) {
      const killTarget = killTargets[kill % 10 === 2 ? 1 : kill % 10 === 4 ? 2 : 0];
      const planting = plant(server, processes.token, random.fork(), canOutlive);
      // A kill in the middle of the planting finds what is about to start. Not the first: a short campaign sees enough.
      if (kill > 1 && random.chance(0.4)) await pause(random.between(0, 1500));
      else await planted(server, planting);
      const keeper = await keeperOf(server);
      if (killTarget === 'keeper, then server') await replaceKeeper(server, keeper);
      summary.seen += processes.alive().length;
      if (killTarget === 'server and keeper') await killBoth(server, keeper, processes);
      else await server.end('SIGKILL');
      await planting;
      // This server takes nothing over.
      if (killTarget === 'server and keeper') server = await startServer(directory);
      const { ms, left } = await processes.untilNobody(
        killTarget === 'server and keeper' ? server : null,
      );
      if (left.length > 0)
        throw new Error(
          `kill ${kill} (${killTarget}, SEED=${seed}): ${ms} ms later there is still\n${left.join('\n')}`,
        );
      if (killTarget !== 'server and keeper') server = await startServer(directory, { env });
      canOutlive = reattachMs > 0 && killTarget !== 'server and keeper';
      await assertNoneRuns(server);
      summary.kills[killTarget]++;
      summary.longestExitMs = Math.max(summary.longestExitMs, ms);
      given.onProgress?.(summary, kill);
    }
    return summary;
  } finally {
    await server.end('SIGKILL');
    await processes.untilNobody(null);
    processes.killAll();
  }
}

/** Trees of processes that are hard to get hold of; each of their members has the token in its arguments. */
function trees(token: string): string[] {
  const sleep = `sleep ${token}`;
  return [
    `exec ${sleep}`,
    `${sleep} & ${sleep} & wait`,
    // Double fork: the parent is gone.
    `(${sleep} & ${sleep} &) ; ${sleep}`,
    `(setsid ${sleep} &) ; exit 0`,
    `setsid sh -c '${sleep} & setsid ${sleep} & wait' & ${sleep}`,
    `trap '' TERM INT HUP; ${sleep} & (trap '' TERM; ${sleep}); ${sleep}`,
    // Only its process group identifies its owner; its environment does not.
    `env -i ${sleep} & env -i sh -c '${sleep} & ${sleep}' & wait`,
    // The leader is over; what it leaves holds the pipes open.
    `setsid ${sleep} & setsid sh -c 'trap "" TERM; ${sleep}' & exit 3`,
    // Never the same processes twice.
    `while :; do (sleep 0.0${token.slice(-1)}; : ${token}) & sleep 0.05; done`,
    `nohup ${sleep} >/dev/null 2>&1 & exec >/dev/null 2>&1 </dev/null; ${sleep}`,
  ];
}

/** Starts all of them, until the server is gone. */
async function plant(
  server: TestServer,
  token: string,
  random: Random,
  mayOutlive: boolean,
): Promise<void> {
  const { client, directory } = server;
  const commands = trees(token);
  const run = async () => {
    const outlive = mayOutlive && random.chance(0.5);
    const body = { command: random.pick(commands), timeout_ms: 0, outlive };
    await client.call(endpoints.createProcess, { body });
  };
  const prompt = async () => {
    const { id } = await openSession(client, directory);
    await send(client, id, 'spawn 300000; silent');
  };
  const asked = await Promise.allSettled([
    ...Array.from({ length: AGENTS }, prompt),
    ...Array.from({ length: TREES }, run),
  ]);
  for (const one of asked)
    if (one.status === 'rejected' && (one.reason as AppError).code !== 'unreachable')
      throw one.reason;
}

/** Waits until everything has started. */
async function planted({ client }: TestServer, planting: Promise<void>): Promise<void> {
  await planting;
  const deadline = performance.now() + scaled(PLANT_MS);
  const query = { status: 'running' as const };
  for (; performance.now() < deadline; await pause(20)) {
    const { queued } = await client.call(endpoints.getProcessDiagnostics, {});
    const sessions = await client.call(endpoints.listSessions, { query });
    // A start begins the turns that no agent had seen: there may be more.
    if (queued === 0 && sessions.length >= AGENTS) return;
  }
  throw new Error('not everything has started');
}

/** The keeper, once there is one: it starts before the first child. */
async function keeperOf({ client }: TestServer): Promise<Identity> {
  for (const deadline = performance.now() + scaled(PLANT_MS); performance.now() < deadline;) {
    const { children } = await client.call(endpoints.getDiagnostics, {});
    const found = children.keeper_pid === null ? undefined : identify(children.keeper_pid);
    if (found) return found;
    await pause(5);
  }
  throw new Error('there is no keeper');
}

/** Kills the keeper and waits for the next one. */
async function replaceKeeper(server: TestServer, keeper: Identity): Promise<void> {
  process.kill(keeper.pid, 'SIGKILL');
  for (const deadline = performance.now() + scaled(PLANT_MS); performance.now() < deadline;) {
    const { children } = await server.client.call(endpoints.getDiagnostics, {});
    if (children.keeper_pid !== null && children.keeper_pid !== keeper.pid) return;
    await pause(5);
  }
  throw new Error('no other keeper was started');
}

/** Stopped, the server cannot start another keeper. */
async function killBoth(
  server: TestServer,
  keeper: Identity,
  processes: CampaignProcesses,
): Promise<void> {
  process.kill(server.pid, 'SIGSTOP');
  processes.remember();
  process.kill(keeper.pid, 'SIGKILL');
  while (isAlive(keeper)) await pause(1);
  await server.end('SIGKILL');
}

/** The next server says of every process of the last one that it is over. */
async function assertNoneRuns({ client }: TestServer): Promise<void> {
  for (const status of ['queued', 'running'] as const) {
    const left = await client.call(endpoints.listProcesses, { query: { status } });
    if (left.length > 0) throw new Error(`after the start ${left.length} are ${status}`);
  }
}

/** Finds the running processes of a campaign: by the directory in the environment, or the token in the arguments. */
class CampaignProcesses {
  readonly token: string;
  readonly #directory: string;
  readonly #limitMs: number;
  readonly #runs = new Set<string | undefined>([undefined]);

  constructor(directory: string, token: string, limitMs: number) {
    this.#directory = directory;
    this.token = token;
    this.#limitMs = limitMs;
  }

  alive(): number[] {
    const byArguments = fs
      .readdirSync('/proc')
      .map(Number)
      .filter((pid) => Number.isInteger(pid) && commandOf(pid).includes(this.token));
    const all = new Set([...carriersOf(this.#directory), ...byArguments]);
    return [...all].filter((pid) => {
      const found = identify(pid);
      return found !== undefined && isAlive(found);
    });
  }

  /** Takes note of the server runs that the running processes belong to. */
  remember(): void {
    for (const pid of this.alive()) this.#runs.add(runOf(pid));
  }

  /** Waits until nobody is left; a server that was started since, and what it starts, may be there. */
  async untilNobody(next: TestServer | null): Promise<{ ms: number; left: string[] }> {
    const started = performance.now();
    const isOld = (pid: number) => pid !== next?.pid && this.#runs.has(runOf(pid));
    for (; ; await pause(10)) {
      const left = this.alive().filter((pid) => next === null || isOld(pid));
      const ms = Math.round(performance.now() - started);
      if (left.length === 0 || ms > scaled(this.#limitMs))
        return { ms, left: left.map((pid) => `${pid} (${commandOf(pid)})`) };
    }
  }

  /** Processes that a failed campaign would leave behind. */
  killAll(): void {
    for (const pid of this.alive()) process.kill(pid, 'SIGKILL');
  }
}

/** The marker that the server gave a process; undefined where its environment has none. */
function runOf(pid: number): string | undefined {
  try {
    const environment = fs.readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0');
    return environment.find((entry) => entry.startsWith(`${MARKER_VARIABLE}=`));
  } catch {
    return undefined;
  }
}
