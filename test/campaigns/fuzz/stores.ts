import fs from 'node:fs';
import path from 'node:path';
import { AppError } from '../../../src/api/errors.ts';
import { sqlWasm } from '../../../src/core/lib/self.ts';
import { ANCHOR_FILE } from '../../../src/core/store/anchor.ts';
import { checkStore } from '../../../src/core/store/check.ts';
import { SqliteError } from '../../../src/core/store/raw-statement.ts';
import { IndexFile } from '../../../src/server/conversations/search/index-file.ts';
import { SEARCH_FILE } from '../../../src/server/conversations/search/file-name.ts';
import { pageOf } from '../../support/entries.ts';
import {
  copyStore,
  DATABASE_FILE,
  note,
  openStore,
  eventDraft,
  WAL_FILE,
} from '../../support/store.ts';
import { tempDirectory } from '../../support/temp.ts';
import { seed } from './files.ts';
import type { Seed } from './mutate.ts';
import type { Target } from './runner.ts';

const EVENTS = 30;
const files: Record<string, string> = {
  database: DATABASE_FILE,
  wal: WAL_FILE,
  anchor: ANCHOR_FILE,
  backup: DATABASE_FILE,
};

/** The files of a store as a killed server leaves them: a part is in the database, a part in the log beside it. */
async function storeFiles(): Promise<Map<string, Buffer>> {
  await using live = tempDirectory('fuzz');
  const fill = async () => {
    await using store = await openStore(live.path);
    await store.db.transact((tx) => {
      for (let at = 0; at < EVENTS; at++) store.log.append(tx, eventDraft(`sess_${at % 3}`));
      store.notes.insert(tx, note(`sess_${store.db.durableSeq}`, { text: 'x' }));
    });
    await using copy = tempDirectory('fuzz');
    copyStore(live.path, copy.path);
    const names = fs.readdirSync(copy.path);
    return new Map(names.map((name) => [name, fs.readFileSync(path.join(copy.path, name))]));
  };
  await fill();
  return await fill();
}

/** Opens a store, reads all of it, writes to it and closes it. */
async function useStore(directory: string): Promise<void> {
  await using store = await openStore(directory);
  const refused = (read: () => unknown) => {
    try {
      read();
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
    }
  };
  for (const scope of [{ name: 'runtime' }, { name: 'session', id: 'sess_1' }] as const)
    refused(() =>
      pageOf(store.log, scope, { after: 0, upTo: store.db.durableSeq, limit: 1e6, maxBytes: 1e9 }),
    );
  refused(() => store.db.peek((rx) => store.notes.where(rx, 'TRUE')));
  await store.db.transact((tx) => store.write(tx, `sess_${Date.now()}`));
}

const stored = await storeFiles();

export const store: Target = {
  entry: 'Database.open with reads and a write, and checkStore',
  seeds: Object.entries(files).flatMap(([kind, name]): Seed[] => {
    const bytes = stored.get(name);
    return bytes && bytes.length > 0 ? [seed(kind, 'bytes', bytes)] : [];
  }),
  // A failed write of a damaged store ends the server with the error of SQLite.
  isRefusal: (error) => error instanceof SqliteError,
  async open() {
    const directory = tempDirectory('fuzz');
    return {
      async feed({ kind, bytes }) {
        fs.rmSync(directory.path, { recursive: true });
        fs.mkdirSync(directory.path);
        for (const [name, content] of stored)
          fs.writeFileSync(path.join(directory.path, name), content);
        const file = path.join(directory.path, files[kind] ?? '');
        fs.writeFileSync(file, bytes);
        if (kind !== 'backup') return useStore(directory.path);
        fs.rmSync(path.join(directory.path, WAL_FILE), { force: true });
        const { signal } = new AbortController();
        const given = {
          file,
          wasm: sqlWasm,
          version: '1.0.0',
          signal,
          onProgress: () => undefined,
        };
        JSON.stringify(await checkStore(given));
      },
      [Symbol.asyncDispose]: () => directory[Symbol.asyncDispose](),
    };
  },
};

const entries = Array.from({ length: 40 }, (_, at) => ({
  source: at,
  session: 1,
  at,
  words: `alpha beta word${at}`,
}));

/** Opens an index, searches it, and adds to it. A damaged one is made anew. */
async function useIndex(directory: string): Promise<void> {
  const options = { directory, wasm: sqlWasm, bootId: 'boot', epoch: 'epoch', shardTexts: 16 };
  const index = await IndexFile.open({ ...options, onDamage: () => undefined });
  try {
    for (const key of index.shardsSince(0)) index.candidates(key, 'alpha', 2 ** 40, 10);
    while (index.tidy());
    index.add({ entries: entries.slice(0, 2), readPositions: { turns: 9 } }, false);
  } finally {
    index.close();
  }
}

async function indexBytes(): Promise<Buffer> {
  await using directory = tempDirectory('fuzz');
  const options = {
    directory: directory.path,
    wasm: sqlWasm,
    bootId: 'boot',
    epoch: 'epoch',
    shardTexts: 16,
  };
  const index = await IndexFile.open({ ...options, onDamage: () => undefined });
  index.add({ entries, readPositions: { turns: 4 } }, false);
  index.close();
  return fs.readFileSync(path.join(directory.path, SEARCH_FILE));
}

export const search: Target = {
  entry: 'IndexFile: open, candidates, tidy and add',
  seeds: [seed('index', 'bytes', await indexBytes())],
  isRefusal: (error) => error instanceof SqliteError,
  async open() {
    const directory = tempDirectory('fuzz');
    return {
      feed({ bytes }) {
        fs.rmSync(directory.path, { recursive: true });
        fs.mkdirSync(directory.path);
        fs.writeFileSync(path.join(directory.path, SEARCH_FILE), bytes);
        return useIndex(directory.path);
      },
      [Symbol.asyncDispose]: () => directory[Symbol.asyncDispose](),
    };
  },
};
