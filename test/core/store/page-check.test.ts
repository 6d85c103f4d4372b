import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { PAGE_BYTES, rejectBrokenPage } from '../../../src/core/store/host/page-check.ts';
import { DATABASE_FILE, openStore, eventDraft } from '../../support/store.ts';
import { testDirectory } from '../../support/temp.ts';

/** The first bytes of pages of trees. */
const TREE = new Set([2, 5, 10, 13]);
/** The bytes of a header before the pointer to another page, which pages with children have. */
const HEADER_BYTES = 8;

/** Fills a store with rows of many sizes, deletes some of them, and returns the bytes of its file. */
async function storedBytes(): Promise<Buffer> {
  const directory = testDirectory();
  {
    await using store = await openStore(directory);
    for (let round = 0; round < 20; round++)
      await store.db.transact((tx) => {
        for (let at = 0; at < 20; at++) {
          const text = 'x'.repeat((at * 7919 + round * 104_729) % 9000);
          store.write(tx, `n${round}_${at}`, text);
          store.log.append(tx, eventDraft(`sess_${at}`, { text }));
        }
      });
    await store.db.transact((tx) => {
      for (let round = 0; round < 20; round += 2)
        for (let at = 1; at < 20; at += 3) store.notes.delete(tx, `n${round}_${at}`);
    });
  }
  return fs.readFileSync(path.join(directory, DATABASE_FILE));
}

const pageOf = (bytes: Buffer, number: number): Buffer =>
  Buffer.from(bytes.subarray((number - 1) * PAGE_BYTES, number * PAGE_BYTES));

/** Returns whether a page of a file is rejected. */
function isRejected(page: Buffer, number: number): boolean {
  const before = Buffer.from(page);
  rejectBrokenPage(page, 0, number);
  return !page.equals(before);
}

test('No page that SQLite has written is rejected, of trees, of overflow, of free space and of maps.', async () => {
  const bytes = await storedBytes();
  const kinds = new Set<number>();
  for (let number = 1; number <= bytes.length / PAGE_BYTES; number++) {
    const page = pageOf(bytes, number);
    kinds.add(page[number === 1 ? 100 : 0] ?? 0);
    expect([number, isRejected(page, number)]).toEqual([number, false]);
  }
  for (const kind of [0, ...TREE]) expect(kinds).toContain(kind);
});

test('Each flipped bit of the header of a page of a tree is noticed.', async () => {
  const bytes = await storedBytes();
  const missed: string[] = [];
  for (let number = 3; number <= bytes.length / PAGE_BYTES; number++) {
    if (!TREE.has(pageOf(bytes, number)[0] ?? 0)) continue;
    // The kind has a check of SQLite's own.
    for (let bit = 8; bit < HEADER_BYTES * 8; bit++) {
      const page = pageOf(bytes, number);
      page[bit >> 3]! ^= 1 << (bit & 7);
      if (!isRejected(page, number)) missed.push(`page ${number}, bit ${bit}`);
    }
  }
  expect(missed).toEqual([]);
});
