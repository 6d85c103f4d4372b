import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { openRuntime } from '../../support/runtime.ts';
import { startServer } from '../../support/server.ts';
import { scaled } from '../../support/patience.ts';
import { below, type Random, seededRandom } from '../../support/random.ts';
import { tempDirectory } from '../../support/temp.ts';
import { campaign, formatsOfRun } from './campaign.ts';
import { makeOldData, type OldData, withOldData } from './old-data.ts';
import { outcomeOf } from './outcome.ts';

/** A kill of a start: at a call that changes a file (a half: in the middle of it), or after so many milliseconds. */
type Kill = { call: number } | { after: number };

test.for(formatsOfRun())(
  'Whenever a start that migrates data of format %i is killed, the next start ends with the same data.',
  { timeout: scaled(60_000 + campaign.kills * 20_000) },
  async (format) => {
    const random = seededRandom(campaign.seed + format);
    const whole = await unkilled(format);
    const tally = { died: 0, migrated: 0 };
    for (const kill of killsOf(whole, random))
      await withOldData(format, async (old) => {
        const label = `${JSON.stringify(kill)}, SEED`;
        const began = Date.now();
        if (await startAndKill(old, kill)) tally.died++;
        if (fs.existsSync(old.copy)) tally.migrated++;
        await startAndStop(old);
        expect(await outcomeOf(old, began), `${label}=${campaign.seed}`).toEqual(whole.outcome);
        expect(leftIn(old.directory), `${label}=${campaign.seed}`).toEqual([
          path.basename(old.copy),
        ]);
      });
    console.info(
      `SEED=${campaign.seed}: format ${format}, ${whole.calls} calls, ${whole.migrating} until the migration is done, ` +
        `${tally.died} kills, ${tally.migrated} after the copy`,
    );
  },
);

interface Whole {
  outcome: Record<string, unknown>;
  /** The calls that change files, and how many of them come before the migration is complete. */
  calls: number;
  migrating: number;
  /** How long the start took, in milliseconds. */
  startMs: number;
}

/** Starts on data without a kill, and counts the calls. */
async function unkilled(format: number): Promise<Whole> {
  await using place = tempDirectory('upgrade');
  const old = await makeOldData(format, path.join(place.path, 'data'));
  const log = path.join(place.path, 'calls');
  const began = Date.now();
  const server = await startServer(old.directory, { env: watched(old, { CUT_LOG: log }) });
  const startMs = Date.now() - began;
  await server.end('SIGTERM');
  await startAndStop(old);
  const calls = fs.readFileSync(log, 'utf8').split('\n');
  const copied = calls.findIndex((call) => call.startsWith('renameSync'));
  const done = calls.findIndex(
    (call, at) => at > copied && call === 'writeSync events.cadre.anchor',
  );
  // The copy is on disk, also its name, before a byte of the database or its log is written.
  expect(calls.slice(copied - 2, copied + 2)).toEqual(
    ['copyFileSync', 'fsyncSync', 'renameSync']
      .map((call) => `${call} ${path.basename(old.copy)}.part`)
      .concat(`fsyncSync ${path.basename(old.directory)}`),
  );
  expect(done).toBeGreaterThan(copied);
  return { outcome: await outcomeOf(old, began), calls: calls.length, migrating: done, startMs };
}

/** Half of the kills hit the migration, a quarter the whole start and stop, and a quarter come at random times. */
function killsOf({ calls, migrating, startMs }: Whole, random: Random): Kill[] {
  const half = () => (random() < 0.5 ? 0.5 : 0);
  return Array.from({ length: campaign.kills }, (_, at) => {
    if (at % 4 === 3) return { after: below(startMs, random) };
    return { call: 1 + below(at % 4 === 2 ? calls : migrating, random) + half() };
  });
}

function watched(old: OldData, env: Record<string, string>): Record<string, string> {
  const preload = path.join(import.meta.dirname, 'cut-calls.ts');
  return { NODE_OPTIONS: `--import=${preload}`, CUT_DIRECTORY: old.directory, ...env };
}

/** Starts a server and stops it in order, unless it is killed first; returns whether it was. */
async function startAndKill(old: OldData, kill: Kill): Promise<boolean> {
  if ('call' in kill) {
    const env = watched(old, { CUT_AT: String(kill.call) });
    const server = await startServer(old.directory, { env }).catch(assertKilled);
    return server === null || (await server.end('SIGTERM')).signal === 'SIGKILL';
  }
  const server = await startServer(old.directory, {
    onSpawn: (child) => void pause(kill.after).then(() => child.kill('SIGKILL')),
  }).catch(assertKilled);
  // It is killed at that time also if it is ready before.
  await server?.exited.finally(() => server.client.close());
  return true;
}

function assertKilled(error: Error): null {
  expect(error.message).toContain('"signal":"SIGKILL"');
  return null;
}

/** A start in this process, and a stop in order. */
async function startAndStop({ directory }: OldData): Promise<void> {
  const { stop } = await openRuntime(directory);
  await stop();
}

/** The files that a start made beside the store. */
function leftIn(directory: string): string[] {
  return fs.readdirSync(directory).filter((name) => /part$|before-v|^backup-|replaced/.test(name));
}
