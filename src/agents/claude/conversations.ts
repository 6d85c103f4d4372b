import type { Stats } from 'node:fs';
import fs from 'node:fs/promises';
import path from 'node:path';
import type { ConversationProcess } from '../../api/conversations.ts';
import { identify, isAlive } from '../../core/children/identity.ts';
import { isFileError, openForeignFile, readForeignFile } from '../../core/lib/foreign-file.ts';
import {
  type ConversationQuery,
  type Conversations,
  type OwnProgram,
  type StoredConversation,
  type StoredTurns,
  storedTitle,
  type TurnQuery,
} from '../conversations.ts';
import { fieldOf, isObject } from '../lenient.ts';
import { parsedJson } from '../../core/lib/parsed-json.ts';
import { isPrompt, isSpoken, namesIn, projectsOf, readTurns, textOf } from './transcript.ts';

const NAME = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.jsonl$/;
/** Only the two ends of a transcript are read for a list, because a transcript may have hundreds of megabytes. */
const HEAD_BYTES = 128 * 1024;
const TAIL_BYTES = 64 * 1024;
const MAX_CACHED = 5000;
const MAX_REGISTRY_BYTES = 64 * 1024;
const AT_ONCE = 8;

interface Transcript {
  ref: string;
  /** Relative to the directory of all transcripts. */
  file: string;
  stats: Stats;
}

/** The transcripts of claude, in files. They are only read. */
export class ClaudeConversations implements Conversations {
  readonly #settings: OwnProgram;
  readonly #cache = new Map<string, { key: string; found: StoredConversation | null }>();

  constructor(settings: OwnProgram) {
    this.#settings = settings;
  }

  async list(
    { cwd, limit }: ConversationQuery,
    signal: AbortSignal,
  ): Promise<StoredConversation[]> {
    const all = await this.#transcripts();
    all.sort((a, b) => b.stats.mtimeMs - a.stats.mtimeMs);
    const found: StoredConversation[] = [];
    for (let at = 0; at < all.length && found.length < limit; at += AT_ONCE) {
      signal.throwIfAborted();
      const some = await Promise.all(all.slice(at, at + AT_ONCE).map((one) => this.#read(one)));
      for (const one of some) if (one && (cwd === null || one.cwd === cwd)) found.push(one);
    }
    return found.slice(0, limit);
  }

  async find(ref: string): Promise<StoredConversation | null> {
    const transcript = await this.#transcript(ref);
    return transcript ? this.#read(transcript) : null;
  }

  async turns(ref: string, query: TurnQuery, signal: AbortSignal): Promise<StoredTurns> {
    const transcript = await this.#transcript(ref);
    const opened = transcript && (await openForeignFile(this.#projects, transcript.file));
    if (!opened) return { turns: [], omitted: 0, newest: null };
    try {
      return await readTurns(opened.handle, query, signal);
    } finally {
      await opened.handle.close();
    }
  }

  async holders(): Promise<(ref: string) => ConversationProcess | null> {
    const directory = path.join(this.#settings.home(), 'sessions');
    const names = ((await namesIn(directory)) ?? []).filter((name) => /^\d+\.json$/.test(name));
    const holders = new Map<string, ConversationProcess>();
    for (const name of names) {
      const bytes = await orNull(
        readForeignFile(directory, name, { maxBytes: MAX_REGISTRY_BYTES }),
      );
      const row = bytes && parsedJson(bytes.toString('utf8'));
      const [ref, pid] = [fieldOf(row, 'sessionId'), fieldOf(row, 'pid')];
      if (typeof ref !== 'string' || typeof pid !== 'number' || !runs(pid, row)) continue;
      if (this.#settings.owns(pid)) continue;
      const status = storedTitle(fieldOf(row, 'status'));
      holders.set(ref, { pid, program: 'claude', status });
    }
    return (ref) => holders.get(ref) ?? null;
  }

  command(ref: string): string[] {
    return [...this.#settings.program(), `--resume=${ref}`];
  }

  get #projects(): string {
    return path.join(this.#settings.home(), 'projects');
  }

  /** Returns the newest of the files of one conversation. */
  async #transcript(ref: string): Promise<Transcript | undefined> {
    const all = await this.#transcripts((name) => name === `${ref}.jsonl`);
    return all.toSorted((a, b) => b.stats.mtimeMs - a.stats.mtimeMs)[0];
  }

  async #transcripts(matches: (name: string) => boolean = () => true): Promise<Transcript[]> {
    const projects = this.#projects;
    const found: Transcript[] = [];
    const namesOf = (directory: string) => namesIn(directory).catch(() => null);
    for await (const { project, names } of projectsOf(this.#settings.home(), namesOf)) {
      const stats = await Promise.all(
        names.map(async (name): Promise<Transcript[]> => {
          const ref = NAME.exec(name)?.[1];
          if (ref === undefined || !matches(name)) return [];
          const file = path.join(project, name);
          const stats = await orNull(fs.lstat(path.join(projects, file)));
          return stats?.isFile() ? [{ ref, file, stats }] : [];
        }),
      );
      found.push(...stats.flat());
    }
    return found;
  }

  async #read(transcript: Transcript): Promise<StoredConversation | null> {
    const { file, stats } = transcript;
    const key = `${stats.mtimeMs} ${stats.size}`;
    const cached = this.#cache.get(file);
    if (cached?.key === key) return cached.found;
    const rows = await this.#ends(file);
    const found = rows && summaryOf(transcript, rows);
    if (this.#cache.size >= MAX_CACHED) this.#cache.clear();
    this.#cache.set(file, { key, found });
    return found;
  }

  /** Returns the rows at the two ends of a transcript; null if it cannot be read. */
  async #ends(file: string): Promise<unknown[] | null> {
    const opened = await orNull(openForeignFile(this.#projects, file));
    if (!opened) return null;
    const { handle, size } = opened;
    try {
      const head = await bytesAt(handle, 0, Math.min(HEAD_BYTES, size));
      const rest = Math.max(0, size - head.length);
      const length = Math.min(TAIL_BYTES, rest);
      const tail = await bytesAt(handle, size - length, length);
      // Lines that the limits cut are passed over.
      const lines = [head, tail].flatMap((bytes) => bytes.toString('utf8').split('\n'));
      return lines.map(parsedJson).filter(isObject);
    } finally {
      await handle.close();
    }
  }
}

async function bytesAt(handle: fs.FileHandle, position: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, position);
  return buffer.subarray(0, bytesRead);
}

/** Null if nothing was said in the conversation. The folder is not used: its name does not determine the directory. */
function summaryOf(
  { ref, stats }: Transcript,
  rows: readonly unknown[],
): StoredConversation | null {
  const prompt = rows.find(isPrompt);
  if (prompt === undefined && !rows.some(isSpoken)) return null;
  const last = (type: string, field: string) => {
    const row = rows.findLast((one) => fieldOf(one, 'type') === type);
    return storedTitle(fieldOf(row, field));
  };
  const field = (name: string) => {
    const value = rows.map((row) => fieldOf(row, name)).find((one) => typeof one === 'string');
    return value !== undefined && value.length <= 4096 ? value : null;
  };
  const title =
    last('custom-title', 'customTitle') ??
    last('ai-title', 'aiTitle') ??
    last('summary', 'summary') ??
    storedTitle(prompt === undefined ? null : textOf(prompt));
  return {
    ref,
    title,
    cwd: field('cwd'),
    program: storedTitle(field('entrypoint')),
    branch: storedTitle(field('gitBranch')),
    begunAt: Date.parse(field('timestamp') ?? '') || null,
    changedAt: Math.trunc(stats.mtimeMs),
    bytes: stats.size,
  };
}

/** Whether the process of a registry row runs; a later process with the same id has another start time. */
function runs(pid: number, row: unknown): boolean {
  const found = Number.isInteger(pid) && pid > 0 ? identify(pid) : undefined;
  if (!found || !isAlive(found)) return false;
  const started = fieldOf(row, 'procStart');
  if (typeof started === 'number') return started === found.startedTicks;
  const isText = typeof started === 'string' && /^\d+$/.test(started);
  return !isText || started === String(found.startedTicks);
}

/** Null for files that other programs have removed, replaced or made unreadable. */
async function orNull<T>(reading: Promise<T>): Promise<T | null> {
  try {
    return await reading;
  } catch (error) {
    if (!isFileError(error)) throw error;
    return null;
  }
}
