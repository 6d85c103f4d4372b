import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { ANCHOR_FILE } from '../../../src/core/store/anchor.ts';
import { scaled } from '../../support/patience.ts';
import { DATABASE_FILE, openStore, WAL_FILE } from '../../support/store.ts';
import { tempDirectory } from '../../support/temp.ts';
import { type Random, seeded } from '../crash/random.ts';
import { EVENTS, eventsOf, fill, opened, readings } from './reading.ts';

const rounds = Number(process.env.DAMAGE_ROUNDS ?? 60);
const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31);

test(
  'A flipped bit in keys and pages of the database loses no event without a word.',
  { timeout: scaled(60_000 + 2000 * rounds) },
  async () => {
    process.stdout.write(`damage campaign: ${rounds} bit flips, SEED=${seed}\n`);
    const random = seeded(seed);
    await using directory = tempDirectory('damage');
    const file = path.join(directory.path, DATABASE_FILE);
    let whole = new Map<string, unknown>();
    {
      await using store = await openStore(directory.path);
      await fill(store);
      whole = readings(store);
    }
    const bytes = fs.readFileSync(file);
    const outcomes = { whole: 0, reported: 0, refused: 0 };
    for (let round = 0; round < rounds; round++) {
      const damaged = Buffer.from(bytes);
      const at = placeIn(bytes, random);
      const bit = 1 << random.between(0, 7);
      damaged[at]! ^= bit;
      for (const name of fs.readdirSync(directory.path))
        if (name !== DATABASE_FILE) fs.rmSync(path.join(directory.path, name), { recursive: true });
      fs.writeFileSync(file, damaged);
      let isWhole = true;
      const refusal = await opened(directory.path, (store) => {
        for (const [name, found] of readings(store)) {
          if (typeof found === 'string') {
            isWhole = false;
            expect([round, at, bit, name, found]).toEqual([
              round,
              at,
              bit,
              name,
              'storage_damaged',
            ]);
          } else if (name !== 'records')
            expect([round, at, bit, name, found]).toEqual([round, at, bit, name, whole.get(name)]);
        }
      });
      outcomes[refusal !== null ? 'refused' : isWhole ? 'whole' : 'reported']++;
    }
    process.stdout.write(`damage campaign: ${JSON.stringify(outcomes)}\n`);
  },
);

/** A byte near the start of a page, or before a record: where headers, pointers and keys are. Never the file's header. */
function placeIn(bytes: Buffer, random: Random): number {
  const size = bytes.readUInt16BE(16);
  const page = random.between(1, bytes.length / size - 1) * size;
  if (random.chance(0.5)) return page + random.between(0, 80);
  const record = bytes.indexOf('{"', page + random.between(0, size - 1));
  return record < 0 ? page : Math.max(100, record - random.between(1, 24));
}

test('An empty or missing database beside what a server left is never begun anew.', async () => {
  await using live = tempDirectory('damage');
  await using copy = tempDirectory('damage');
  {
    await using store = await openStore(live.path);
    await fill(store);
    fs.cpSync(live.path, copy.path, { recursive: true });
  }
  const harms: Record<string, (file: string) => void> = {
    missing: (file) => fs.rmSync(file),
    empty: (file) => fs.truncateSync(file),
    zeros: (file) => fs.writeFileSync(file, Buffer.alloc(fs.statSync(file).size)),
  };
  for (const [name, harm] of Object.entries(harms)) {
    await using place = tempDirectory('damage');
    fs.cpSync(copy.path, place.path, { recursive: true });
    harm(path.join(place.path, DATABASE_FILE));
    let found: unknown = null;
    const refusal = await opened(place.path, (store) => {
      found = eventsOf(store, { name: 'runtime' }, 0);
    });
    // Either the log beside it has everything, or the start is refused.
    if (refusal === null) expect([name, found]).toEqual([name, range(EVENTS)]);
    else expect([name, refusal]).toEqual([name, expect.stringContaining(DATABASE_FILE)]);
  }
});

test('A write-ahead log that is gone is reported as lost where the anchor is there.', async () => {
  await using live = tempDirectory('damage');
  await using copy = tempDirectory('damage');
  {
    await using store = await openStore(live.path);
    await fill(store);
    fs.cpSync(live.path, copy.path, { recursive: true });
  }
  expect(fs.existsSync(path.join(copy.path, ANCHOR_FILE))).toBe(true);
  fs.rmSync(path.join(copy.path, WAL_FILE));
  const refusal = await opened(copy.path, async (store) => {
    const seqs = eventsOf(store, { name: 'runtime' }, 0);
    expect(store.db.lost).toEqual({ after_seq: seqs.length, up_to_seq: EVENTS });
    expect(store.db.damage.found).not.toEqual([]);
    const { seq } = await store.db.transact((tx) => store.write(tx, 'new'));
    expect(seq).toBe(EVENTS + 1);
  });
  expect(refusal).toBeNull();
});

function range(count: number): number[] {
  return Array.from({ length: count }, (_, at) => at + 1);
}
