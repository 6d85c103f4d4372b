import nodeFs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { endpoints } from '../../src/api/index.ts';
import type { FileSystem } from '../../src/core/store/host/file-system.ts';
import { withRuntime } from '../support/runtime.ts';
import { tempDirectory } from '../support/temp.ts';
import { writeHistory } from './million-log.ts';
import { firstPages, type Times, timedStart } from './million-start.ts';
import { scaled } from '../support/patience.ts';

const STARTS = 10;
const MAX_RATIO = 1.25;
/** Limit for a page on a busy machine; a page takes five. A page that is read by a scan would take a hundred more. */
const NOISE_MS = 2;
/** A tree of 20 times the rows has a level more, and each statement goes down it. */
const DEEPER_PAGES = 16;

test('With 20 times the events, a start, each first page and the last page of sessions read at most 16 more pages of the database.', async () => {
  await using place = tempDirectory();
  const few = await pagesRead(path.join(place.path, 'few'), 1000);
  const many = await pagesRead(path.join(place.path, 'many'), 20_000);
  expect(Object.keys(many)).toEqual(Object.keys(few));
  for (const [what, pages] of Object.entries(many)) {
    expect(pages, `pages of ${what}`).toBeLessThanOrEqual((few[what] ?? 0) + DEEPER_PAGES);
  }
});

test.runIf(process.env.MILLION)(
  'Starts and first pages take no longer with 1,000,000 events than with 10,000.',
  { timeout: scaled(3_600_000) },
  async () => {
    await using place = tempDirectory();
    const few = await writeHistory(path.join(place.path, 'few'), 10_000);
    const many = await writeHistory(path.join(place.path, 'many'), 1_000_000);
    const times = { few: [] as Times[], many: [] as Times[] };
    // The first brings the files into memory.
    for (let start = 0; start <= STARTS; start++) {
      const both = { few: await timedStart(few), many: await timedStart(many) };
      if (start === 0) continue;
      times.few.push(both.few);
      times.many.push(both.many);
    }
    const figures = Object.keys(times.few[0] ?? {}).map((what) => {
      const [few, many] = [medianOf(times.few, what), medianOf(times.many, what)];
      process.stdout.write(
        `million: ${what.padEnd(24)} ${few.toFixed(1).padStart(7)} ms, ${many.toFixed(1).padStart(7)} ms, ratio ${(many / few).toFixed(2)}\n`,
      );
      return { what, few, many };
    });
    for (const { what, few, many } of figures)
      expect(many, `time of ${what}`).toBeLessThanOrEqual(few * MAX_RATIO + NOISE_MS);
  },
);

/** How often pages of the database are read, by a start and by each first page. */
async function pagesRead(directory: string, events: number): Promise<Times> {
  const { session_id } = await writeHistory(directory, events);
  let reads = 0;
  const fs = {
    ...nodeFs,
    readSync: ((fd: number, into: Buffer, at: number, length: number, position: number) => {
      reads++;
      return nodeFs.readSync(fd, into, at, length, position);
    }) as FileSystem['readSync'],
  };
  return withRuntime(
    async ({ client }) => {
      const found: Times = { start: reads };
      // The sessions have numbers from 1 on, and a page is before the number of its cursor.
      const oldest = { query: { limit: 5, cursor: '6' } };
      const lastPage = () => client.call(endpoints.listSessions, oldest);
      const pages = firstPages(client, session_id, 5);
      for (const [what, read] of [...pages, ['the last page of sessions', lastPage] as const]) {
        reads = 0;
        await read();
        found[what] = reads;
      }
      return found;
    },
    { directory, fs },
  );
}

function medianOf(times: readonly Times[], what: string): number {
  const sorted = times.map((one) => one[what] ?? 0).toSorted((a, b) => a - b);
  return ((sorted[4] ?? 0) + (sorted[5] ?? 0)) / 2;
}
