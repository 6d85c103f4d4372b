/** The size of the pages of all databases of cadre. Pages of another size are not checked. */
export const PAGE_BYTES = 4096;
/** The header of the file, which is in front of the header of page 1. */
const FILE_HEADER_BYTES = 100;
/** The interval between the pages that map children to parents, and do not belong to a tree. They begin with page 2. */
const MAP_INTERVAL = Math.floor(PAGE_BYTES / 5) + 1;
const MIN_FREE_BLOCK_BYTES = 4;
const MIN_CELL_BYTES = 4;

/** The kinds of pages of a tree, by their first byte. */
const INTERIOR_INDEX = 2;
const INTERIOR_TABLE = 5;
const LEAF_INDEX = 10;
const LEAF_TABLE = 13;

/** The greatest payload that a cell holds without overflow pages, and the least one that it holds with them. */
const MAX_IN_TABLE = PAGE_BYTES - 35;
const MAX_IN_INDEX = Math.floor(((PAGE_BYTES - 12) * 64) / 255) - 23;
const MIN_LOCAL = Math.floor(((PAGE_BYTES - 12) * 32) / 255) - 23;

/**
 * Makes a page that was read unreadable if its header and its cells contradict each other, so that SQLite reports it as
 * corrupt. SQLite itself reads on with fewer rows, for example if a flipped bit has changed the number of cells. `number`
 * counts from 1. Each byte behind the list of cells has to belong to one cell or one free block, or be counted as a fragment,
 * as in SQLite's own integrity check.
 */
export function rejectBrokenPage(memory: Uint8Array, pointer: number, number: number): void {
  if ((number - 2) % MAP_INTERVAL === 0) return;
  const header = number === 1 ? FILE_HEADER_BYTES : 0;
  const page = memory.subarray(pointer, pointer + PAGE_BYTES);
  // A page of another kind does not begin with one of these bytes, unless the file has more than 128 GB.
  if (isTreePage(page[header]) && !isConsistent(page, header)) page[header] = 0xff;
}

function isTreePage(kind: number | undefined): boolean {
  return (
    kind === LEAF_TABLE || kind === LEAF_INDEX || kind === INTERIOR_TABLE || kind === INTERIOR_INDEX
  );
}

function isConsistent(page: Uint8Array, header: number): boolean {
  const kind = byteAt(page, header);
  const cells = uint16(page, header + 3);
  const content = uint16(page, header + 5);
  const list = header + (kind === INTERIOR_TABLE || kind === INTERIOR_INDEX ? 12 : 8);
  if (content < list + 2 * cells || content > PAGE_BYTES) return false;
  let used = byteAt(page, header + 7);
  for (let at = list; at < list + 2 * cells; at += 2) {
    const cell = uint16(page, at);
    if (cell < content || cell > PAGE_BYTES - MIN_CELL_BYTES) return false;
    used += cellBytes(page, cell, kind);
  }
  for (let block = uint16(page, header + 1), end = content; block !== 0;) {
    if (block < end || block > PAGE_BYTES - MIN_FREE_BLOCK_BYTES) return false;
    const bytes = uint16(page, block + 2);
    used += bytes;
    end = block + Math.max(bytes, MIN_FREE_BLOCK_BYTES);
    block = uint16(page, block);
  }
  return used === PAGE_BYTES - content;
}

function cellBytes(page: Uint8Array, cell: number, kind: number): number {
  const child = kind === INTERIOR_TABLE || kind === INTERIOR_INDEX ? 4 : 0;
  let at = cell + child;
  if (kind === INTERIOR_TABLE) return endOfVarint(page, at) - cell;
  let payload = 0;
  const end = endOfVarint(page, at);
  for (; at < end; at++) payload = payload * 128 + (byteAt(page, at) & 0x7f);
  if (kind === LEAF_TABLE) at = endOfVarint(page, at);
  const local = localBytes(payload, kind === LEAF_TABLE ? MAX_IN_TABLE : MAX_IN_INDEX);
  return Math.max(MIN_CELL_BYTES, at - cell + local);
}

/** The bytes of a payload in its cell, with the number of the first overflow page. */
function localBytes(payload: number, max: number): number {
  if (payload <= max) return payload;
  const fitting = MIN_LOCAL + ((payload - MIN_LOCAL) % (PAGE_BYTES - 4));
  return (fitting <= max ? fitting : MIN_LOCAL) + 4;
}

/** A variable-length integer has up to nine bytes; all but the last have their highest bit set. */
function endOfVarint(page: Uint8Array, at: number): number {
  let end = at;
  while (end < at + 8 && byteAt(page, end) >= 0x80) end++;
  return end + 1;
}

function uint16(page: Uint8Array, at: number): number {
  return (byteAt(page, at) << 8) | byteAt(page, at + 1);
}

/** 0 behind the end of the page. */
function byteAt(page: Uint8Array, at: number): number {
  return page[at] ?? 0;
}
