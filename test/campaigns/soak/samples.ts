import fs from 'node:fs';
import path from 'node:path';
import { ownMegabytes } from '../../../bench/client/process.ts';
import { endpoints } from '../../../src/api/index.ts';
import type { StorageDiagnostics } from '../../../src/api/runtime.ts';
import { treeBytes } from '../../../src/core/lib/directory-size.ts';
import type { TestServer } from '../../support/server.ts';
import { send } from '../../support/turns.ts';
import type { EventWaiter } from '../crash/load.ts';

const MB = 1e6;

/** The measured values, with their units. */
export const units = {
  'resident memory': 'MB',
  heap: 'MB',
  descriptors: '',
  threads: '',
  children: '',
  followers: '',
  'database and its log': 'MB',
  'events, deltas and items': 'MB',
  'records that stay': 'MB',
  'records for each turn': 'KB',
  'search index': 'MB',
  'logs of processes': 'MB',
  'other files': 'MB',
  'turn of one word': 'ms',
  'list of sessions': 'ms',
  'last events': 'ms',
  search: 'ms',
} as const;

export type Measure = keyof typeof units;

/** The values of a server at one time. */
export interface Sample {
  /** Time since the start of the campaign. */
  seconds: number;
  values: Record<Measure, number>;
  /** Rows of each table of the database, which the server counts at most once a minute. */
  rows: Record<string, number>;
}

/** Samples a server. Its turns run in a session of their own, which stays open as long as the server. */
export class Sampler {
  readonly samples: Sample[] = [];
  readonly #server: TestServer;
  readonly #session: string;
  readonly #pulse: EventWaiter;
  readonly #file: string;
  readonly #started = performance.now();

  constructor(deps: { server: TestServer; session: string; pulse: EventWaiter; file: string }) {
    this.#server = deps.server;
    this.#session = deps.session;
    this.#pulse = deps.pulse;
    this.#file = deps.file;
  }

  /** Stores one sample, also as a line of the file. */
  async sample(): Promise<void> {
    const { client, pid, directory } = this.#server;
    const times = await this.#times();
    const { memory, children, streams } = await client.call(endpoints.getDiagnostics, {});
    const storage = await client.call(endpoints.getStorageDiagnostics, {});
    const sample: Sample = {
      seconds: Math.round((performance.now() - this.#started) / 100) / 10,
      values: {
        'resident memory': ownMegabytes(pid),
        heap: memory.heap_used_bytes / MB,
        descriptors: fs.readdirSync(`/proc/${pid}/fd`).length,
        threads: fs.readdirSync(`/proc/${pid}/task`).length,
        children: children.live,
        followers: streams.followers,
        ...tableSizes(storage),
        ...(await sizesOf(directory)),
        ...times,
      },
      rows: Object.fromEntries(storage.tables.map(({ name, rows }) => [name, rows])),
    };
    this.samples.push(sample);
    fs.appendFileSync(this.#file, `${JSON.stringify(sample)}\n`);
  }

  async #times() {
    const { client } = this.#server;
    const { storage } = await client.call(endpoints.getDiagnostics, {});
    const query = { after_seq: Math.max(0, storage.latest_seq - 100) };
    return {
      'turn of one word': await timeOf(async () => {
        const over = this.#pulse.turnEnded(this.#session);
        await send(client, this.#session, 'say pong');
        await over;
      }),
      'list of sessions': await timeOf(() =>
        client.call(endpoints.listSessions, { query: { limit: 50 } }),
      ),
      'last events': await timeOf(() => client.call(endpoints.replayEvents, { query })),
      search: await timeOf(() => client.call(endpoints.search, { query: { q: 'anchor' } })),
    };
  }
}

/** Tables whose rows retention deletes. It keeps the records of sessions, turns, processes and the like. */
const TRIMMED: ReadonlySet<string> = new Set(['events', 'deltas', 'items']);

function tableSizes({ tables }: StorageDiagnostics) {
  const bytes = { trimmed: 0, kept: 0 };
  for (const table of tables) bytes[TRIMMED.has(table.name) ? 'trimmed' : 'kept'] += table.bytes;
  const turns = tables.find(({ name }) => name === 'turns')?.rows ?? 0;
  return {
    'events, deltas and items': bytes.trimmed / MB,
    'records that stay': bytes.kept / MB,
    'records for each turn': bytes.kept / Math.max(1, turns) / 1000,
  };
}

/** The sizes of what a server keeps in its data directory, in megabytes. */
async function sizesOf(directory: string) {
  const sizes = {
    'database and its log': 0,
    'search index': 0,
    'logs of processes': 0,
    'other files': 0,
  };
  for (const name of fs.readdirSync(directory)) {
    const file = path.join(directory, name);
    const kind = kindOf(name);
    const bytes = await treeBytes(file).then((tree) => tree || sizeOfFile(file));
    sizes[kind] += bytes / MB;
  }
  return sizes;
}

function kindOf(
  name: string,
): 'database and its log' | 'search index' | 'logs of processes' | 'other files' {
  if (name.startsWith('events.cadre')) return 'database and its log';
  if (name.startsWith('search.cadre')) return 'search index';
  return name === 'logs' ? 'logs of processes' : 'other files';
}

function sizeOfFile(file: string): number {
  const stat = fs.statSync(file, { throwIfNoEntry: false });
  return stat?.isFile() ? stat.size : 0;
}

async function timeOf(run: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await run();
  return performance.now() - started;
}
