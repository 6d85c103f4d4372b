import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { AppError } from '../../../src/api/errors.ts';
import { sqlWasm } from '../../../src/core/lib/self.ts';
import { checkStore } from '../../../src/core/store/check.ts';
import { scaled } from '../../support/patience.ts';
import { DATABASE_FILE, openStore, type TestStore, eventDraft } from '../../support/store.ts';
import { tempDirectory } from '../../support/temp.ts';
import { type Random, seeded } from '../crash/random.ts';
import { fill, opened, readings } from './reading.ts';

/** The number of damaged files of each kind, and the number of cuts. */
const rounds = Number(process.env.DAMAGE_ROUNDS ?? 60) / 6;
const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31);
const SECTOR_BYTES = 512;
/** The number of events of the last transaction. */
const MORE_EVENTS = 40;

interface Files {
  whole: Buffer;
  /** The file before its last transactions. */
  earlier: Buffer;
  pageBytes: number;
}

type Damage = (files: Files, random: Random, round: number) => Buffer;

function pageIn({ whole, pageBytes }: Files, random: Random): number {
  return random.between(1, whole.length / pageBytes - 1) * pageBytes;
}

function copied(
  { whole, pageBytes }: Files,
  from: Buffer,
  [source, target]: [number, number],
): Buffer {
  const bytes = Buffer.from(whole);
  from.copy(bytes, target, source, source + pageBytes);
  return bytes;
}

/** Faults of disks, and of copies of files. */
const damages: Record<string, Damage> = {
  'a flipped bit anywhere'({ whole }, random) {
    const bytes = Buffer.from(whole);
    bytes[random.between(0, bytes.length - 1)]! ^= 1 << random.between(0, 7);
    return bytes;
  },
  'a file that was cut'({ whole }, random, round) {
    // An empty file without others beside it is a new database.
    const sectors = whole.length / SECTOR_BYTES - 1;
    const at = rounds >= sectors ? round % sectors : random.between(0, sectors - 1);
    return whole.subarray(0, (1 + at) * SECTOR_BYTES);
  },
  'a page of zeros'(files, random) {
    const at = pageIn(files, random);
    return Buffer.from(files.whole).fill(0, at, at + files.pageBytes);
  },
  'a sector of garbage'({ whole }, random) {
    const bytes = Buffer.from(whole);
    const at = random.between(0, whole.length / SECTOR_BYTES - 1) * SECTOR_BYTES;
    for (let i = 0; i < SECTOR_BYTES; i++) bytes[at + i] = random.between(0, 255);
    return bytes;
  },
  'two pages that have changed places'(files, random) {
    const [one, other] = [pageIn(files, random), pageIn(files, random)];
    const bytes = copied(files, files.whole, [one, other]);
    files.whole.copy(bytes, one, other, other + files.pageBytes);
    return bytes;
  },
  'a page that is a copy of another'(files, random) {
    return copied(files, files.whole, [pageIn(files, random), pageIn(files, random)]);
  },
  'a page that is an earlier version of itself'(files, random) {
    const at = pageIn(files, random);
    return at < files.earlier.length ? copied(files, files.earlier, [at, at]) : files.whole;
  },
};

/** Damage that keeps each page intact. SQLite does not see it, so only a check of the whole file finds rows that are hidden. */
const intactPages = new Set([
  'two pages that have changed places',
  'a page that is a copy of another',
  'a page that is an earlier version of itself',
]);

async function makeFiles(): Promise<Files> {
  await using directory = tempDirectory('damage');
  const file = path.join(directory.path, DATABASE_FILE);
  const bytesAfter = async (write: (store: TestStore) => Promise<unknown>) => {
    {
      await using store = await openStore(directory.path);
      await write(store);
    }
    return fs.readFileSync(file);
  };
  const earlier = await bytesAfter(fill);
  const whole = await bytesAfter(({ db, log }) =>
    db.transact((tx) => {
      for (let i = 0; i < MORE_EVENTS; i++) log.append(tx, eventDraft(`sess_${i % 10}`));
    }),
  );
  return { whole, earlier, pageBytes: whole.readUInt16BE(16) };
}

/** Whether a check of the closed file reports damage, or refuses the file. */
async function isFoundByCheck(file: string): Promise<boolean> {
  try {
    const { signal } = new AbortController();
    const options = { file, wasm: sqlWasm, version: 'test', signal, onProgress: () => undefined };
    return (await checkStore(options)).damage.length > 0;
  } catch (error) {
    if (error instanceof AppError) return true;
    throw error;
  }
}

test.each(Object.keys(damages))(
  'With %s, each reading is whole or refused, and db check finds it.',
  { timeout: scaled(60_000 + 3000 * rounds) },
  async (kind) => {
    const random = seeded(seed);
    const files = await makeFiles();
    let whole = new Map<string, unknown>();
    const outcomes = { whole: 0, reported: 0, refused: 0, hidden: 0 };
    const wrong: string[] = [];
    for (let round = -1; round < rounds; round++) {
      const bytes =
        round < 0 ? files.whole : (damages[kind]?.(files, random, round) ?? files.whole);
      await using directory = tempDirectory('damage');
      const file = path.join(directory.path, DATABASE_FILE);
      fs.writeFileSync(file, bytes);
      let outcome: keyof typeof outcomes = 'whole';
      const refusal = await opened(directory.path, (store) => {
        const found = readings(store);
        if (round < 0) whole = found;
        for (const [name, read] of found) {
          if (read === 'storage_damaged' && outcome === 'whole') outcome = 'reported';
          else if (read !== 'storage_damaged' && !isSame(read, whole.get(name))) {
            outcome = 'hidden';
            if (!intactPages.has(kind)) wrong.push(`round ${round}: ${name}`);
          }
        }
      });
      if (refusal !== null) outcome = 'refused';
      outcomes[outcome]++;
      fs.rmSync(directory.path, { recursive: true });
      fs.mkdirSync(directory.path);
      fs.writeFileSync(file, bytes);
      if (outcome !== 'whole' && !(await isFoundByCheck(file)))
        wrong.push(`round ${round}: the check finds nothing (${outcome}) ${refusal}`);
    }
    process.stdout.write(`damage campaign: ${kind}: ${JSON.stringify(outcomes)}, SEED=${seed}\n`);
    expect(wrong.slice(0, 10)).toEqual([]);
  },
);

const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);
