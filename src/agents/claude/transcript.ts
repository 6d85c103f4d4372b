import fs from 'node:fs/promises';
import path from 'node:path';
import {
  type ConversationMark,
  type StoredItem,
  type StoredTurn,
  type StoredTurns,
  storedTitle,
  TurnCollector,
  turnsAfter,
} from '../conversations.ts';
import { fieldOf } from '../lenient.ts';
import { unavailable } from '../provider.ts';
import { parsedJson } from '../../core/lib/parsed-json.ts';
import { codeOf } from '../../core/lib/system-error.ts';

const CHUNK_BYTES = 256 * 1024;
/** A longer line is passed over, and so are the oldest of more rows. */
const MAX_LINE_BYTES = 8 * 1024 * 1024;
const MAX_ROWS = 200_000;
/** The longest id of a row, in UTF-16 code units. */
const MAX_ID = 100;

/** A row of a transcript without its content. */
interface Row {
  uuid: string;
  parent: string | null;
  /** The row above it in the file. */
  before: string | null;
  isPrompt: boolean;
  at: number | null;
  offset: number;
  length: number;
}

/** A prompt with the rows after it, as far as the next prompt. */
interface TurnRows extends ConversationMark {
  rows: Row[];
}

/**
 * Reads the newest turns of a transcript. The file is read once for the order of its rows, and then only the rows of the
 * wanted turns are read again, so that memory does not grow with their contents.
 */
export async function readTurns(
  handle: fs.FileHandle,
  { after, max }: { after: ConversationMark | null; max: number },
  signal: AbortSignal,
): Promise<StoredTurns> {
  const all = turnRows(await chainOf(handle, signal));
  const newest = all.at(-1) ?? null;
  const wanted = turnsAfter(all, after);
  const collector = new TurnCollector(max);
  for (const turn of wanted.toReversed()) {
    signal.throwIfAborted();
    if (collector.isFull || !collector.add(await readTurn(handle, turn))) break;
  }
  const { turns } = collector;
  return {
    turns,
    omitted: wanted.length - turns.length,
    newest: newest && { ref: newest.ref, occurredAt: newest.occurredAt },
  };
}

/** Returns the rows from the first message to the newest one. Rows of other branches are left out. */
async function chainOf(handle: fs.FileHandle, signal: AbortSignal): Promise<Row[]> {
  const rows = new Map<string, Row>();
  let leaf: string | null = null;
  let before: string | null = null;
  for await (const { line, offset } of linesOf(handle, signal)) {
    const raw = parsedJson(line.toString('utf8'));
    const uuid = fieldOf(raw, 'uuid');
    if (typeof uuid !== 'string' || uuid.length > MAX_ID || fieldOf(raw, 'isSidechain') === true)
      continue;
    rows.set(uuid, rowOf(raw, { uuid, before, offset, length: line.length }));
    before = uuid;
    if (isSpoken(raw)) leaf = uuid;
    const [oldest] = rows.size > MAX_ROWS ? rows.keys() : [];
    if (oldest !== undefined) rows.delete(oldest);
  }
  const chain: Row[] = [];
  for (let row = rows.get(leaf ?? ''); row; row = parentIn(rows, row)) {
    chain.push(row);
    // Each row is visited once, also if the parents form a circle.
    rows.delete(row.uuid);
  }
  return chain.toReversed();
}

/** Returns the row before a row. If its parent is lost, for example in a damaged line, this is the row above it in the file. */
function parentIn(rows: ReadonlyMap<string, Row>, { parent, before }: Row): Row | undefined {
  return parent === null ? undefined : (rows.get(parent) ?? rows.get(before ?? ''));
}

function rowOf(raw: unknown, position: Pick<Row, 'uuid' | 'before' | 'offset' | 'length'>): Row {
  // A compaction begins a new chain, and names the row before it.
  const parent = fieldOf(raw, 'parentUuid') ?? fieldOf(raw, 'logicalParentUuid');
  const timestamp = fieldOf(raw, 'timestamp');
  return {
    parent: typeof parent === 'string' ? parent.slice(0, MAX_ID) : null,
    isPrompt: isPrompt(raw),
    at: typeof timestamp === 'string' ? Date.parse(timestamp) || null : null,
    ...position,
  };
}

function turnRows(chain: readonly Row[]): TurnRows[] {
  const turns: TurnRows[] = [];
  for (const row of chain) {
    if (row.isPrompt) turns.push({ ref: row.uuid, occurredAt: row.at, rows: [row] });
    else turns.at(-1)?.rows.push(row);
  }
  return turns;
}

async function readTurn(handle: fs.FileHandle, turn: TurnRows): Promise<StoredTurn> {
  const read: StoredTurn = {
    ref: turn.ref,
    occurredAt: turn.occurredAt,
    program: null,
    status: 'unknown',
    prompt: '',
    items: [],
  };
  const tools = new Map<unknown, StoredItem>();
  for (const row of turn.rows) {
    const bytes = Buffer.alloc(row.length);
    await handle.read(bytes, 0, row.length, row.offset);
    const raw = parsedJson(bytes.toString('utf8'));
    if (row.isPrompt) {
      read.prompt = textOf(raw);
      read.program = storedTitle(fieldOf(raw, 'entrypoint'));
    } else if (fieldOf(raw, 'type') === 'user' && INTERRUPTED.test(textOf(raw)))
      read.status = 'interrupted';
    else addBlocks(raw, read, tools);
  }
  return read;
}

function addBlocks(raw: unknown, turn: StoredTurn, tools: Map<unknown, StoredItem>): void {
  const isOfAgent = fieldOf(raw, 'type') === 'assistant';
  if (isOfAgent && fieldOf(fieldOf(raw, 'message'), 'stop_reason') === 'end_turn')
    turn.status = 'completed';
  for (const block of blocksOf(raw)) {
    if (isOfAgent) {
      const item = itemOf(block);
      if (item) turn.items.push(item);
      if (item?.kind === 'tool') tools.set(fieldOf(block, 'id'), item);
    } else if (fieldOf(block, 'type') === 'tool_result') {
      const item = tools.get(fieldOf(block, 'tool_use_id'));
      const content = fieldOf(block, 'content');
      if (!item) continue;
      item.status = fieldOf(block, 'is_error') === true ? 'failed' : 'completed';
      item.text =
        typeof content === 'string' ? content : textIn(Array.isArray(content) ? content : []);
    }
  }
}

function itemOf(block: unknown): StoredItem | null {
  const textField = (name: string) => {
    const value = fieldOf(block, name);
    return typeof value === 'string' ? value : '';
  };
  const spoken = (kind: 'message' | 'reasoning', text: string): StoredItem | null =>
    text === '' ? null : { kind, status: 'completed', title: null, text };
  switch (fieldOf(block, 'type')) {
    case 'text':
      return spoken('message', textField('text'));
    case 'thinking':
      // Some models sign or encrypt their reasoning, which leaves an empty text.
      return spoken('reasoning', textField('thinking'));
    case 'tool_use': {
      const input = fieldOf(block, 'input');
      const about = fieldOf(input, 'command') ?? fieldOf(input, 'file_path');
      const title =
        typeof about === 'string' ? `${textField('name')}: ${about}` : textField('name');
      return { kind: 'tool', status: 'unknown', title, text: '' };
    }
    default:
      return null;
  }
}

/** The lines of a file with their offsets. A last line without an end is a line too: the program may be writing it. */
async function* linesOf(
  handle: fs.FileHandle,
  signal: AbortSignal,
): AsyncGenerator<{ line: Buffer; offset: number }> {
  let rest = Buffer.alloc(0);
  let offset = 0;
  let isSkipping = false;
  for (let position = 0; ;) {
    signal.throwIfAborted();
    const { buffer, bytesRead } = await handle.read(
      Buffer.alloc(CHUNK_BYTES),
      0,
      CHUNK_BYTES,
      position,
    );
    if (bytesRead === 0) break;
    position += bytesRead;
    rest = Buffer.concat([rest, buffer.subarray(0, bytesRead)]);
    for (let end = rest.indexOf(0x0a); end >= 0; end = rest.indexOf(0x0a)) {
      if (!isSkipping && end > 0) yield { line: rest.subarray(0, end), offset };
      isSkipping = false;
      offset += end + 1;
      rest = rest.subarray(end + 1);
    }
    if (rest.length <= MAX_LINE_BYTES) continue;
    isSkipping = true;
    offset += rest.length;
    rest = Buffer.alloc(0);
  }
  if (!isSkipping && rest.length > 0) yield { line: rest, offset };
}

/** Texts that commands of claude leave in a transcript as if a user had said them. */
const COMMAND = /^<(?:command-name|command-message|local-command|bash-(?:input|stdout|stderr))/;
const INTERRUPTED = /^\[Request interrupted by user/;

function blocksOf(row: unknown): readonly unknown[] {
  const content = fieldOf(fieldOf(row, 'message'), 'content');
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return Array.isArray(content) ? content : [];
}

/** The texts of a row, with a word for each image. */
export function textOf(row: unknown): string {
  return textIn(blocksOf(row));
}

function textIn(blocks: readonly unknown[]): string {
  const texts = blocks.flatMap((block) => {
    const text = fieldOf(block, 'text');
    if (fieldOf(block, 'type') === 'image') return ['[image]'];
    return fieldOf(block, 'type') === 'text' && typeof text === 'string' ? [text] : [];
  });
  return texts.join('\n');
}

/** Whether a row belongs to the conversation itself, and not to a subagent. */
export function isSpoken(row: unknown): boolean {
  const type = fieldOf(row, 'type');
  return (type === 'user' || type === 'assistant') && fieldOf(row, 'isSidechain') !== true;
}

/** Whether a row is a prompt of a user: no result of a tool, summary, reminder or output of a command. */
export function isPrompt(row: unknown): boolean {
  if (fieldOf(row, 'type') !== 'user' || fieldOf(row, 'isSidechain') === true) return false;
  const marks = ['isMeta', 'isCompactSummary', 'toolUseResult', 'sourceToolAssistantUUID'];
  if (marks.some((name) => Boolean(fieldOf(row, name)))) return false;
  const text = textOf(row);
  return text !== '' && !COMMAND.test(text) && !INTERRUPTED.test(text);
}

/** Returns the names in a directory; null if there is no such directory. Throws ProviderError if it cannot be read. */
export async function namesIn(directory: string): Promise<string[] | null> {
  try {
    return await fs.readdir(directory);
  } catch (error) {
    const code = codeOf(error);
    if (['ENOENT', 'ENOTDIR'].includes(code)) return null;
    throw unavailable(
      `claude: the directory ${directory} cannot be read (${code}): check that the user of the cadre server may read it`,
      error,
    );
  }
}

/** The names of the files of each project below the configuration directory of claude, as `namesOf` reads them. */
export async function* projectsOf(
  home: string,
  namesOf = namesIn,
): AsyncGenerator<{ project: string; names: string[] }> {
  const projects = path.join(home, 'projects');
  for (const project of (await namesIn(projects)) ?? [])
    yield { project, names: (await namesOf(path.join(projects, project))) ?? [] };
}
