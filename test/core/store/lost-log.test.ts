import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { sqlWasm } from '../../../src/core/lib/self.ts';
import { ANCHOR_FILE, ANCHORED } from '../../../src/core/store/anchor.ts';
import { backUpClosed } from '../../../src/core/store/backup.ts';
import { checksum } from '../../../src/core/store/corruption-log.ts';
import { forksOf } from '../../../src/core/store/forks.ts';
import type { FileSystem } from '../../../src/core/store/host/file-system.ts';
import { SKIPPED_SEQS } from '../../../src/core/store/lost-store.ts';
import {
  DATABASE_FILE,
  openStore,
  systemError,
  type TestStore,
  WAL_FILE,
} from '../../support/store.ts';
import { scaled } from '../../support/patience.ts';
import { tempDirectory } from '../../support/temp.ts';

const SLOT_BYTES = 512;

/** Runs `use` on the files of a server that was killed after it had acknowledged 40 events. */
async function afterKill(use: (directory: string, epoch: string) => Promise<void>): Promise<void> {
  await using live = tempDirectory('store');
  await using killed = tempDirectory('store');
  const epoch = await (async () => {
    await using store = await openStore(live.path);
    for (let i = 0; i < 40; i++) await store.db.transact((tx) => store.write(tx, `n${i}`));
    fs.cpSync(live.path, killed.path, { recursive: true });
    return store.db.epoch;
  })();
  await use(killed.path, epoch);
}

/** Changes the bytes of a file in place. */
function change(file: string, edit: (bytes: Buffer) => void): void {
  const bytes = fs.readFileSync(file);
  edit(bytes);
  fs.writeFileSync(file, bytes);
}

const harms: [name: string, harm: (wal: string) => void][] = [
  ['removed', (wal) => fs.rmSync(wal)],
  ['emptied', (wal) => fs.truncateSync(wal)],
  ['cut in half', (wal) => fs.truncateSync(wal, fs.statSync(wal).size / 2)],
  ['given another header', (wal) => change(wal, (bytes) => bytes.fill(0, 0, 32))],
  ['changed in its first frame', (wal) => change(wal, (bytes) => (bytes[100]! ^= 1))],
  ['replaced by garbage', (wal) => change(wal, (bytes) => bytes.fill('garbage '))],
];

test.each(harms)(
  'Events in a log that was %s are reported as lost, and the log gets a new epoch.',
  (_, harm) =>
    afterKill(async (directory, epoch) => {
      harm(path.join(directory, WAL_FILE));
      await using store = await openStore(directory);
      const { db } = store;
      expect(db.lost).toMatchObject({ up_to_seq: 40 });
      const { after_seq: after = 0 } = db.lost ?? {};
      expect(store.entries()).toHaveLength(after);
      expect(db.damage.found).toEqual([
        `the events ${after + 1} to 40 are lost: ${WAL_FILE} was damaged or removed`,
      ]);
      expect(db.epoch).not.toBe(epoch);
      const { seq } = await db.transact((tx) => store.write(tx, 'new'));
      expect(seq).toBe(41);
    }),
);

test('Events after the newest one in the database are lost, and the log forks there.', () =>
  afterKill(async (directory) => {
    await using later = tempDirectory('store');
    const first = await openStore(directory);
    await first[Symbol.asyncDispose]();
    const second = await openStore(directory);
    await second.db.transact((tx) => second.write(tx, 'in the log alone'));
    fs.cpSync(directory, later.path, { recursive: true });
    await second[Symbol.asyncDispose]();
    fs.rmSync(path.join(later.path, WAL_FILE));
    await using store = await openStore(later.path);
    expect(store.db.lost).toEqual({ after_seq: 40, up_to_seq: 41 });
    expect(forksOf(store.db)[0]).toEqual({ epoch: second.db.epoch, seq: 40 });
    expect(store.entries()).toHaveLength(40);
  }));

test('Lost events are reported once, and the next start finds an intact log.', () =>
  afterKill(async (directory) => {
    fs.rmSync(path.join(directory, WAL_FILE));
    const epoch = await (async () => {
      await using first = await openStore(directory);
      return first.db.epoch;
    })();
    await using second = await openStore(directory);
    expect(second.db).toMatchObject({ lost: null, epoch });
    expect(second.db.damage.found).toEqual([]);
  }));

test('All events of an intact log are present, under the same epoch.', () =>
  afterKill(async (directory, epoch) => {
    await using store = await openStore(directory);
    expect(store.db).toMatchObject({ lost: null, epoch });
    expect(store.entries()).toHaveLength(40);
  }));

const losses: [name: string, harm: (anchor: string) => void][] = [
  ['is missing', (anchor) => fs.rmSync(anchor)],
  ['is empty', (anchor) => fs.truncateSync(anchor)],
  ['is garbage', (anchor) => change(anchor, (bytes) => bytes.fill('garbage '))],
];

test.each(losses)(
  'A database whose position file %s reports lost events once, and starts a new epoch after a gap.',
  async (_, harm) => {
    for (const hasLog of [true, false])
      await afterKill(async (directory, epoch) => {
        harm(path.join(directory, ANCHOR_FILE));
        if (!hasLog) fs.rmSync(path.join(directory, WAL_FILE));
        // A killed server leaves its registration.
        fs.writeFileSync(path.join(directory, 'server.json'), '{}');
        const newEpoch = await (async () => {
          await using store = await openStore(directory);
          const { db } = store;
          const after = store.entries().length;
          expect(after).toBe(hasLog ? 40 : 0);
          expect(db.lost).toEqual({ after_seq: after, up_to_seq: null });
          expect(db.damage.found).toEqual([
            `the events after ${after} may be lost: ${ANCHOR_FILE} was damaged or removed`,
          ]);
          expect(db.epoch).not.toBe(epoch);
          const { seq } = await db.transact((tx) => store.write(tx, 'new'));
          expect(seq).toBe(after + SKIPPED_SEQS + 1);
          return db.epoch;
        })();
        await using next = await openStore(directory);
        expect(next.db).toMatchObject({ lost: null, epoch: newEpoch });
      });
  },
);

test('A database without a position file forks the log after the newest event in the database file.', async () => {
  await using directory = tempDirectory('store');
  const first = await openStore(directory.path);
  await first.db.transact((tx) => first.write(tx, 'written back'));
  await first[Symbol.asyncDispose]();
  await using killed = tempDirectory('store');
  const second = await openStore(directory.path);
  await second.db.transact((tx) => second.write(tx, 'in the log alone'));
  fs.cpSync(directory.path, killed.path, { recursive: true });
  await second[Symbol.asyncDispose]();
  for (const name of [WAL_FILE, ANCHOR_FILE]) fs.rmSync(path.join(killed.path, name));
  await using store = await openStore(killed.path);
  expect(store.db.lost).toEqual({ after_seq: 1, up_to_seq: null });
  expect(forksOf(store.db)[0]).toEqual({ epoch: second.db.epoch, seq: 1 });
  expect(store.entries()).toHaveLength(1);
});

test('A database of an earlier version, without a position file, raises no alarm until the next loss.', () =>
  afterKill(async (directory, epoch) => {
    const without = async (use: (store: TestStore) => void) => {
      fs.rmSync(path.join(directory, ANCHOR_FILE));
      await using store = await openStore(directory);
      use(store);
    };
    {
      await using store = await openStore(directory);
      const forget = store.db.prepare(`DELETE FROM meta WHERE key = '${ANCHORED}'`);
      await store.db.transact((tx) => forget.run(tx));
    }
    await without(({ db, warnings }) => {
      expect(db).toMatchObject({ lost: null, epoch });
      expect(warnings).toEqual([]);
    });
    await without(({ db }) => expect(db.lost).toEqual({ after_seq: 40, up_to_seq: null }));
  }));

test('A position file of another log is reported as lost events.', () =>
  afterKill(async (directory, epoch) => {
    const text = JSON.stringify({ epoch: 'epoch_other', seq: 99, at: 99 });
    fs.writeFileSync(
      path.join(directory, ANCHOR_FILE),
      `${`${checksum(text)} ${text}`.padEnd(SLOT_BYTES - 1)}\n`,
    );
    await using store = await openStore(directory);
    expect(store.db.lost).toEqual({ after_seq: 40, up_to_seq: null });
    expect(store.db.epoch).not.toBe(epoch);
  }));

test('A backup, which has no position file, reports no lost events.', () =>
  afterKill(async (directory) => {
    await using place = tempDirectory('store');
    const copy = await backUpClosed(
      { directory, wasm: sqlWasm, newEpoch: () => 'epoch_backup', minFreeBytes: () => 0 },
      AbortSignal.timeout(scaled(60_000)),
    );
    fs.writeFileSync(path.join(place.path, DATABASE_FILE), await copy.file.readFile());
    await copy.file.close();
    await using store = await openStore(place.path);
    expect(store.db).toMatchObject({ lost: null, epoch: 'epoch_backup' });
    expect(store.entries()).toHaveLength(40);
  }));

const positionHarms: [name: string, harm: (anchor: string) => void][] = [
  ['has one torn slot', (anchor) => change(anchor, (bytes) => bytes.fill(0, 0, 100))],
  ['is torn in the other slot', (anchor) => fs.truncateSync(anchor, SLOT_BYTES + 20)],
];

test.each(positionHarms)(
  'A position file that %s raises no alarm about an intact log.',
  (_, harm) =>
    afterKill(async (directory, epoch) => {
      harm(path.join(directory, ANCHOR_FILE));
      await using store = await openStore(directory);
      expect(store.db).toMatchObject({ lost: null, epoch });
      expect(store.warnings).toEqual([]);
    }),
);

test('A position file that cannot be written causes one warning, and transactions are stored.', async () => {
  await using directory = tempDirectory('store');
  const disk: FileSystem = {
    ...fs,
    openSync(file, ...more) {
      if (String(file).endsWith(ANCHOR_FILE)) throw systemError('EACCES');
      return fs.openSync(file, ...more);
    },
  };
  await using store = await openStore(directory.path, { fs: disk });
  await store.db.transact((tx) => store.write(tx, 'one'));
  expect(store.entries()).toHaveLength(1);
  expect(store.warnings.map(({ message }) => message)).toEqual([
    `cannot open ${ANCHOR_FILE}: a lost log would not be detected`,
  ]);
});

const traces: [name: string, make: (directory: string) => void][] = [
  [WAL_FILE, (at) => fs.writeFileSync(path.join(at, WAL_FILE), 'x')],
  ['server.json', (at) => fs.writeFileSync(path.join(at, 'server.json'), '{}')],
  [ANCHOR_FILE, (at) => fs.writeFileSync(path.join(at, ANCHOR_FILE), 'x')],
  [
    'logs',
    (at) => {
      fs.mkdirSync(path.join(at, 'logs'));
      fs.writeFileSync(path.join(at, 'logs', 'proc_1.stdout'), 'x');
    },
  ],
  [
    `${DATABASE_FILE}.replaced-1`,
    (at) => fs.writeFileSync(path.join(at, `${DATABASE_FILE}.replaced-1`), 'x'),
  ],
];

test.each(traces)(
  'A missing or empty database beside %s is not created again.',
  async (name, make) => {
    await using directory = tempDirectory('store');
    make(directory.path);
    const before = fs.readdirSync(directory.path);
    const file = path.join(directory.path, DATABASE_FILE);
    const refusal = (state: string) =>
      new RegExp(
        `${state}, but other files of that database still exist .*${name}.*move .*${name} out of .*, or restore a backup$`,
      );
    await expect(openStore(directory.path)).rejects.toThrow(refusal('missing'));
    expect(fs.readdirSync(directory.path)).toEqual(before);
    fs.writeFileSync(file, '');
    await expect(openStore(directory.path)).rejects.toThrow(refusal('empty'));
    expect(fs.statSync(file).size).toBe(0);
  },
);

test('A missing or empty database in a directory without data is created.', async () => {
  for (const has of ['nothing', 'an empty file']) {
    await using directory = tempDirectory('store');
    fs.mkdirSync(path.join(directory.path, 'logs'));
    if (has === 'an empty file') fs.writeFileSync(path.join(directory.path, DATABASE_FILE), '');
    await using store = await openStore(directory.path);
    expect(store.db.lost).toBeNull();
  }
});

test('A database that is copied beside the log of another one is refused until that log is moved away.', () =>
  afterKill(async (directory) => {
    await using other = tempDirectory('store');
    const closed = await openStore(other.path);
    await closed.db.transact((tx) => closed.write(tx, 'of the copy'));
    await closed[Symbol.asyncDispose]();
    const file = path.join(directory, DATABASE_FILE);
    fs.copyFileSync(path.join(other.path, DATABASE_FILE), file);
    const before = fs.readFileSync(file);
    await expect(openStore(directory)).rejects.toThrow(`move ${WAL_FILE} out of`);
    expect(fs.readFileSync(file).equals(before)).toBe(true);
    fs.rmSync(path.join(directory, WAL_FILE));
    await using store = await openStore(directory);
    expect(store.entries()).toHaveLength(1);
    expect(store.db.lost).toEqual({ after_seq: 1, up_to_seq: null });
  }));
