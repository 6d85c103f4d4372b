import fs from 'node:fs';
import path from 'node:path';
import { makeDirectory } from './make-directory.ts';
import { parsedJson } from './parsed-json.ts';
import { replaceFile } from './replace-file.ts';

/** The file in a data directory. A line contains one prompt as a JSON string; the newest prompt is last. */
export const HISTORY_FILE = 'prompts.jsonl';
const MOST = 1000;
/** The maximum length of a stored prompt, in UTF-16 code units: a longer prompt was probably pasted. */
const LONGEST = 16_384;

/**
 * The prompts that users have sent from this machine to the server of a data directory. The file is read on first use. If
 * the file cannot be read or written, the prompts of this program are kept in memory.
 */
export class PromptHistory {
  readonly #file: string;
  readonly #unsaved: string[] = [];
  added = 0;

  constructor(directory: string) {
    this.#file = path.join(directory, HISTORY_FILE);
  }

  /** The prompts, the newest last. */
  read(): string[] {
    return [...promptsIn(this.#text()), ...this.#unsaved];
  }

  /** Keeps a prompt, unless it is the same as the one before. */
  add(text: string): void {
    this.added += 1;
    const prompt = text.trimEnd();
    const stored = this.#text();
    const known = [...promptsIn(stored), ...this.#unsaved];
    if (prompt.trim() === '' || prompt.length > LONGEST || known.at(-1) === prompt) return;
    const lines = [...known, prompt].slice(-MOST).map((one) => `${JSON.stringify(one)}\n`);
    try {
      makeDirectory(path.dirname(this.#file));
      const isGrowing = known.length < MOST && this.#unsaved.length === 0;
      // Behind a part of a line, the prompt would be lost.
      const isWhole = stored.endsWith('\n') && this.#isPrivate();
      if (isGrowing && isWhole) fs.appendFileSync(this.#file, lines.at(-1) ?? '');
      else replaceFile(this.#file, lines.join(''));
      this.#unsaved.length = 0;
    } catch {
      // The prompt is sent all the same.
      this.#unsaved.push(prompt);
    }
  }

  #isPrivate(): boolean {
    const found = fs.statSync(this.#file, { throwIfNoEntry: false });
    return found !== undefined && (found.mode & 0o077) === 0;
  }

  /** The text of the file; empty where it cannot be read. */
  #text(): string {
    try {
      return fs.readFileSync(this.#file, 'utf8');
    } catch {
      return '';
    }
  }
}

/** The prompts that a file holds, the newest last. */
function promptsIn(text: string): string[] {
  return text.split('\n').flatMap(promptIn).slice(-MOST);
}

/** The prompt of a line; none for a partial line of a killed program. */
function promptIn(line: string): string[] {
  const prompt = parsedJson(line);
  return typeof prompt === 'string' ? [prompt] : [];
}

/** Steps through the prompts for an input field. Each step takes the current text and returns its replacement. */
export class Recall {
  readonly #prompts: readonly string[];
  /** The prompt that is shown; the number of prompts for the text that was begun. */
  #at: number;
  #begun = '';
  /** The text of the search, while its last finding is shown. */
  #search: string | null = null;

  constructor(prompts: readonly string[]) {
    this.#prompts = prompts;
    this.#at = prompts.length;
  }

  /** The prompt before; null where there is none. */
  older(text: string): string | null {
    this.#look(text);
    this.#search = null;
    return this.#goTo(this.#at - 1);
  }

  /** The next prompt, or after the last prompt the text that the user had begun; null after that. */
  newer(text: string): string | null {
    this.#look(text);
    this.#search = null;
    return this.#goTo(this.#at + 1);
  }

  /** The newest prompt that contains the text, or the next older one if that prompt is shown. Null for no match. */
  search(text: string): string | null {
    const isNew = this.#look(text) || this.#search === null;
    const wanted = isNew ? text.trim() : (this.#search ?? '');
    const from = isNew && this.#at < this.#prompts.length ? this.#prompts.length : this.#at;
    this.#search = wanted;
    const words = wanted.toLowerCase();
    for (let at = from - 1; at >= 0; at--) {
      const prompt = this.#prompts[at] ?? '';
      if (prompt !== text && prompt.toLowerCase().includes(words)) return this.#goTo(at);
    }
    return null;
  }

  /** Whether the user has changed the text since the last step. */
  #look(text: string): boolean {
    const isShown = text === this.#textAt(this.#at);
    if (isShown) return false;
    this.#at = this.#prompts.length;
    this.#begun = text;
    return true;
  }

  #goTo(at: number): string | null {
    if (at < 0 || at > this.#prompts.length) return null;
    this.#at = at;
    return this.#textAt(at);
  }

  #textAt(at: number): string {
    return this.#prompts[at] ?? this.#begun;
  }
}
