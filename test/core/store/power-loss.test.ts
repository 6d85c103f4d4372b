import nodeFs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { deltaKinds } from '../../../src/api/events.ts';
import { AppError } from '../../../src/api/errors.ts';
import type { AppendedEntry } from '../../../src/core/events/log.ts';
import {
  DATABASE_FILE,
  integrity,
  note,
  loopTurns,
  openStore,
  steppingClock,
  systemError,
  testDisk,
  type TestStore,
  eventDraft,
} from '../../support/store.ts';
import { below, type Random, seededRandom } from '../../support/random.ts';
import { PowerDisk, type SyncPlan } from './power-disk.ts';
import { atLength } from '../../support/at-length.ts';
import { tempDirectory } from '../../support/temp.ts';
import { scaled } from '../../support/patience.ts';

/** The number of images of a disk after a power loss; POWER_IMAGES sets another one. */
const IMAGES = Number(process.env.POWER_IMAGES ?? atLength(12, 20, 20));
const IMAGES_A_LOAD = 30;
/** The number of images of a load with a full disk or with durability "normal". */
const IMAGES_OF_A_KIND = atLength(10, IMAGES_A_LOAD, IMAGES_A_LOAD);
/** The seed of the run, which each run prints; POWER_SEED repeats a run. */
const SEED = Number(process.env.POWER_SEED ?? Date.now() % 1_000_000);

/** After each of so many images, the store continues and loses power a second time. */
const TWICE_EVERY = 6;

const CLIENTS = 8;
const TRANSACTIONS = 30;
const CHECKPOINT_BYTES = 48 * 1024;

/** Returns the plan of a disk that reports a sync when it is really done, sooner or later. */
function honest(random: Random): (file: string) => SyncPlan {
  return () => {
    const turns = below(6, random);
    return { reported: turns, done: turns };
  };
}

test(
  'A power loss under load leaves an intact store with everything that was acknowledged.',
  { timeout: scaled(60_000 + IMAGES * 1000) },
  async () => {
    console.info(`power loss: ${IMAGES} images, POWER_SEED=${SEED}`);
    let checkpoints = 0;
    for (let done = 0, seed = SEED; done < IMAGES; done += IMAGES_A_LOAD, seed++) {
      const count = Math.min(IMAGES_A_LOAD, IMAGES - done);
      const verdict = await losePower(seed, honest, count);
      expect(verdict.bad, `seed ${seed}`).toEqual([]);
      checkpoints += verdict.checkpoints;
      expect(verdict.mostAcknowledged).toBeGreaterThan(100);
    }
    // Each load has many checkpoints, so that the images show all phases of a checkpoint.
    expect(checkpoints).toBeGreaterThan((IMAGES / IMAGES_A_LOAD) * 5);
  },
);

test(
  'A power loss leaves an intact store even if the disk was full at times.',
  { timeout: scaled(60_000 + IMAGES * 500) },
  async () => {
    console.info(`power loss with a full disk: POWER_SEED=${SEED}`);
    for (let done = 0, seed = SEED; done < IMAGES / 2; done += IMAGES_A_LOAD, seed++) {
      const { bad, full } = await losePower(seed, honest, IMAGES_OF_A_KIND, {
        fullness: 0.01,
      });
      expect(bad, `seed ${seed}`).toEqual([]);
      expect(full).toBeGreaterThan(10);
    }
  },
);

test(
  'A power loss may lose the newest rows of durability "normal", but leaves a store without gaps.',
  { timeout: scaled(60_000) },
  async () => {
    console.info(`power loss in durability normal: POWER_SEED=${SEED}`);
    const { bad } = await losePower(SEED, honest, IMAGES_OF_A_KIND, { durability: 'normal' });
    expect(bad, `seed ${SEED}`).toEqual([]);
  },
);

test(
  'A power loss during the creation of a store leaves a store that opens.',
  { timeout: scaled(60_000) },
  async () => {
    console.info(`power loss at the beginning: POWER_SEED=${SEED}`);
    await using directory = tempDirectory('power');
    const live = path.join(directory.path, 'live');
    nodeFs.mkdirSync(live);
    const random = seededRandom(SEED);
    using disk = new PowerDisk(live, honest(random));
    {
      await using store = await openStore(live, { fs: disk.fs });
      await store.db.transact((tx) => {
        store.notes.insert(tx, note('a'));
        store.log.append(tx, eventDraft('a', { version: 1 }));
      });
    }
    const bad: string[] = [];
    for (let i = 0; i < atLength(15, 40, 40); i++) {
      const moment = below(disk.now + 1, random);
      const image = path.join(directory.path, `image${i}`);
      const how = disk.image(moment, image, random);
      const wrong = await judge(image, []);
      if (wrong !== null)
        bad.push(`image ${i}, at moment ${moment} of ${disk.now}, ${how}: ${wrong}`);
    }
    expect(bad, `seed ${SEED}`).toEqual([]);
  },
);

test('This test detects a store that syncs nothing.', { timeout: scaled(60_000) }, async () => {
  const { bad, images } = await losePower(
    1,
    () => () => ({ reported: 1, done: null }),
    atLength(10, 20, 20),
  );
  expect(bad.length).toBeGreaterThan(images / 2);
});

test(
  'This test detects a COMMIT that does not wait for the sync of a checkpoint.',
  { timeout: scaled(60_000) },
  async () => {
    const ungated = (random: Random) => {
      const others = honest(random);
      return (file: string) =>
        file === DATABASE_FILE ? { ...others(file), reported: 0 } : others(file);
    };
    const { bad, images } = await losePower(2, ungated, atLength(20, 60, 60));
    console.info(`power loss without the gate: ${bad.length} of ${images} images bad, seed 2`);
    expect(bad.length).toBeGreaterThan(0);
  },
);

interface Conditions {
  durability: 'full' | 'normal';
  /** Probability that the disk becomes full at a write. */
  fullness: number;
  /** Number of transactions of each client. */
  transactions: number;
}

interface Verdict {
  images: number;
  bad: string[];
  checkpoints: number;
  mostAcknowledged: number;
  /** Transactions that failed because the disk was full. */
  full: number;
}

/** Runs a load on a disk, and checks images of power losses at random moments of the load. */
async function losePower(
  seed: number,
  plan: (random: Random) => (file: string) => SyncPlan,
  images: number,
  given: Partial<Conditions> = {},
): Promise<Verdict> {
  const conditions: Conditions = {
    durability: 'full',
    fullness: 0,
    transactions: TRANSACTIONS,
    ...given,
  };
  const again: Conditions = { ...conditions, transactions: TRANSACTIONS / 4 };
  const promised = (acknowledged: AppendedEntry[]) =>
    conditions.durability === 'full' ? acknowledged : [];

  await using directory = tempDirectory('power');
  const live = path.join(directory.path, 'live');
  nodeFs.mkdirSync(live);
  const random = seededRandom(seed);
  const load = await runLoad(live, plan(random), random, conditions);
  using _disk = load.disk;
  const verdict: Verdict = {
    images,
    bad: [],
    checkpoints: load.checkpoints,
    mostAcknowledged: 0,
    full: load.full,
  };
  for (let i = 0; i < images; i++) {
    const image = path.join(directory.path, `image${i}`);
    const lost = loseAt(load, image, random);
    let { how, acknowledged } = lost;
    verdict.mostAcknowledged = Math.max(verdict.mostAcknowledged, acknowledged.length);
    let wrong = await judge(image, promised(acknowledged));
    if (wrong === null && i % TWICE_EVERY === 0) {
      // The server starts again on the image, continues, and loses power once more.
      const second = await runLoad(image, plan(random), random, again);
      using _disk = second.disk;
      const lostAgain = loseAt(second, `${image}-again`, random);
      how = `${how}; again at ${lostAgain.how}`;
      acknowledged = [...acknowledged, ...lostAgain.acknowledged];
      wrong = await judge(`${image}-again`, promised(acknowledged));
    }
    if (wrong !== null) verdict.bad.push(`image ${i}, at ${how}: ${wrong}`);
  }
  return verdict;
}

/** Makes one image of the disk at a random moment of a load. */
function loseAt(
  { disk, from, acknowledged }: Load,
  image: string,
  random: Random,
): { how: string; acknowledged: AppendedEntry[] } {
  const moment = from + below(disk.now - from + 1, random);
  const survived = disk.image(moment, image, random);
  return {
    how: `moment ${moment} of ${disk.now}, ${survived}`,
    acknowledged: acknowledged.filter(({ at }) => at <= moment).map(({ entry }) => entry),
  };
}

interface Load {
  disk: PowerDisk;
  /** The moment at which the store was open. */
  from: number;
  acknowledged: { at: number; entry: AppendedEntry }[];
  checkpoints: number;
  full: number;
}

/** Runs clients that write, refuse, read and wait at random; returns the acknowledged events and their moments. */
async function runLoad(
  directory: string,
  plan: (file: string) => SyncPlan,
  random: Random,
  { durability, fullness, transactions }: Conditions,
): Promise<Load> {
  const disk = new PowerDisk(directory, plan);
  const clock = steppingClock();
  const acknowledged: Load['acknowledged'] = [];
  await using store = await openStore(directory, {
    fs: disk.fs,
    clock,
    durability,
    checkpointBytes: CHECKPOINT_BYTES,
  });
  const from = disk.now;
  let full = 0;
  let refusals = 0;
  disk.onWrite = () => {
    if (refusals === 0 && random() < fullness) refusals = 1 + below(3, random);
    if (refusals > 0 && refusals--) throw systemError('ENOSPC');
  };
  store.db.onDurable((items) => {
    for (const entry of items as AppendedEntry[]) acknowledged.push({ at: disk.now, entry });
  });
  const client = async (name: number) => {
    for (let i = 0; i < transactions; i++) {
      await loopTurns(below(3, random));
      const writing = writeSomething(store, `c${name}-${below(6, random)}`, random);
      await writing.catch((error: unknown) => {
        if ((error as AppError).code !== 'storage_full') throw error;
        full++;
      });
      if (random() < 0.1) {
        clock.skip(120_000);
        await store.log.compact().catch(() => undefined);
      }
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, (_, name) => client(name)));
  disk.onWrite = () => undefined;
  expect(store.fatal).toEqual([]);
  return { disk, from, acknowledged, checkpoints: store.db.checkpoints, full };
}

/** Runs a transaction with the next version of a note and its events; some transactions are refused halfway. */
async function writeSomething(store: TestStore, id: string, random: Random): Promise<void> {
  const refuse = random() < 0.1;
  const deltas = random() < 0.3 ? below(5, random) : 0;
  const length = below(3000, random);
  const writing = store.db.transact((tx) => {
    const old = store.db.peek((rx) => store.notes.get(rx, id));
    const version = (old?.version ?? 0) + 1;
    const next = note(id, { version, text: 'x'.repeat(length) });
    if (old) store.notes.update(tx, next);
    else store.notes.insert(tx, next);
    for (let i = 0; i < deltas; i++) {
      store.log.append(tx, {
        kind: 'message.delta',
        session_id: id,
        payload: { item_id: `${id}-${version}`, offset: 0, text: 'y'.repeat(length) },
      });
    }
    if (deltas > 0) {
      const text = 'y'.repeat(length);
      store.log.append(tx, {
        kind: 'message.completed',
        session_id: id,
        payload: { item_id: `${id}-${version}`, offset: 0, status: 'completed', text },
      });
    }
    store.log.append(tx, eventDraft(id, { version, text: 'z'.repeat(length) }));
    if (refuse) throw new AppError('conflict', 'refused');
  });
  await writing.catch((error: unknown) => {
    if (!refuse || (error as AppError).code !== 'conflict') throw error;
  });
}

/** Returns the fault of an image. Null if it opens, is intact and has all acknowledged events. */
async function judge(directory: string, acknowledged: AppendedEntry[]): Promise<string | null> {
  try {
    await using store = await openStore(directory, { fs: testDisk().fs });
    return await problemOf(store, acknowledged);
  } catch (error) {
    return `cannot be read: ${(error as Error).message}`;
  }
}

async function problemOf(store: TestStore, acknowledged: AppendedEntry[]): Promise<string | null> {
  const check = integrity(store.db);
  if (check !== 'ok') return `not sound: ${check}`;
  // A power loss never separates a database from its anchor.
  if (store.db.lost?.up_to_seq === null) return 'the anchor is missed';
  const entries = store.entries();
  if (entries.some(({ seq }, i) => seq <= (entries[i - 1]?.seq ?? 0))) return 'seqs do not rise';

  const stored = new Map(entries.map(({ seq, text }) => [seq, text]));
  for (const { seq, kind, text } of acknowledged) {
    // Deltas of settled items are removed from the log.
    if (!deltaKinds.has(kind) && stored.get(seq) !== text) return `lost event ${seq}`;
  }
  const versions = new Map<string, number>();
  for (const { kind, text } of entries) {
    if (deltaKinds.has(kind) || kind === 'message.completed') continue;
    const { session_id: id, payload } = JSON.parse(text) as LoggedEvent;
    if (payload.version !== (versions.get(id) ?? 0) + 1) return `an event of ${id} is missing`;
    versions.set(id, payload.version);
  }
  const notes = store.db.peek((rx) => store.notes.where(rx, 'n > 0'));
  if (notes.length !== versions.size) return 'a note has no event';
  for (const { id, version } of notes) {
    if (versions.get(id) !== version) return `${id} is not what its events say`;
  }
  const newest = Math.max(0, ...acknowledged.map(({ seq }) => seq), entries.at(-1)?.seq ?? 0);
  const next = store.db.durableSeq + 1;
  return next > newest ? null : `would give seq ${next} again`;
}

interface LoggedEvent {
  session_id: string;
  payload: { version: number };
}
