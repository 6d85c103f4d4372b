import { unifiedDiff } from './details.ts';
import { type Excess, excessText } from './bounded-line.ts';
import { excessOf } from './json-connection.ts';
import { isObject } from './lenient.ts';
import type { AgentUpdate } from './provider.ts';

/** The limits of what is derived from one message of an agent. Texts are measured in UTF-16 code units. */
export const DERIVED_LIMITS = {
  /** Values, and entries of one list or fields of one record. */
  values: 5000,
  entries: 1000,
  /** All texts together. The beginning of each is kept all the same, as long as this. */
  text: 1024 * 1024,
  shortText: 256,
  /** Compared lines and text of all diffs together. */
  diffLines: 50_000,
  diffText: 2 * 1024 * 1024,
  /** The longest path of a file, and the names in all paths together: each is looked up. */
  path: 4096,
  names: 10_000,
} as const;

const CUT_MARK = ' … [omitted: the message is too large]';

/**
 * The work that one message of an agent may cost. Whoever derives something from the message takes it from here before
 * it is read; what is beyond the limits is left out unread.
 */
export class MessageBudget {
  readonly taken = { values: 0, text: 0, diffLines: 0, diffText: 0, names: 0 };
  /** Omitted entries and fields, and omitted code units of texts. */
  readonly omitted = { entries: 0, text: 0 };
  readonly #diffs = new Map<string, string | null>();

  /**
   * A copy of a JSON value within the limits. Further entries and fields are missing, and a text that is cut says so. In
   * a record, lists and records come after all other values.
   */
  bounded(value: unknown): unknown {
    if (typeof value === 'string') return this.text(value);
    if (!isObject(value)) return value;
    if (Array.isArray(value)) return this.list(value).map((one) => this.bounded(one));
    const fields = this.list(Object.keys(value)).map((name): [string, unknown] => {
      const field = value[name];
      const short = name.length > DERIVED_LIMITS.shortText ? this.text(name) : name;
      return [short, isObject(field) ? field : this.bounded(field)];
    });
    for (const field of fields) if (isObject(field[1])) field[1] = this.bounded(field[1]);
    return Object.fromEntries(fields);
  }

  /** A text, or as much of its beginning as there is room for. */
  text(text: string): string {
    const room = DERIVED_LIMITS.text - this.taken.text;
    const length = Math.min(text.length, Math.max(room, DERIVED_LIMITS.shortText));
    this.taken.text += length;
    if (length === text.length) return text;
    this.omitted.text += text.length - length;
    return text.slice(0, length).toWellFormed() + CUT_MARK;
  }

  /** The first entries of a list, as many as there is room for. */
  list<T>(list: readonly T[]): T[] {
    const room = Math.max(0, DERIVED_LIMITS.values - this.taken.values);
    const count = Math.min(list.length, DERIVED_LIMITS.entries, room);
    this.taken.values += count;
    this.omitted.entries += list.length - count;
    return list.slice(0, count);
  }

  /** The change of a file as a unified diff; null where it would be too much work, or its texts are cut. */
  diff(path: string, before: string | null, after: string | null, among = 1): string | null {
    const texts = [before ?? '', after ?? ''];
    const key = [path, before === null, after === null, ...texts].join('\0');
    let diff = this.#diffs.get(key);
    if (diff === undefined) {
      const isComparable = this.isPath(path) && this.#isComparable(texts, key.length);
      diff = isComparable ? unifiedDiff(path, before, after, among) : null;
      this.#diffs.set(key, diff);
    }
    return diff;
  }

  /** Reports whether a path can name a file, and its names may still be looked up. */
  isPath(path: string): boolean {
    if (path.length > DERIVED_LIMITS.path) return false;
    this.taken.names += path.split('/').length;
    return this.taken.names <= DERIVED_LIMITS.names;
  }

  #isComparable(texts: readonly string[], length: number): boolean {
    if (this.taken.diffText + length > DERIVED_LIMITS.diffText || texts.some(isCut)) return false;
    this.taken.diffText += length;
    const lines = texts.reduce((sum, text) => sum + linesIn(text), 0);
    if (this.taken.diffLines + lines > DERIVED_LIMITS.diffLines) return false;
    this.taken.diffLines += lines;
    return true;
  }
}

function isCut(text: string): boolean {
  return text.endsWith(CUT_MARK);
}

function linesIn(text: string): number {
  let lines = 1;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines++;
  return lines;
}

/** Formats a value as JSON for a title. Only the shown part of the value is formatted. */
export function inWords(value: unknown): string {
  return JSON.stringify(new MessageBudget().bounded(value));
}

/** Explains that a request was declined because it is larger than anybody is shown. */
export function tooLargeRequest(excess: Excess): { code: string; message: string } {
  return {
    code: 'request_too_large',
    message: `cadre declined a request of the agent, because the request is too large: ${excessText(excess)}`,
  };
}

/** Reports, once for each turn, that a part of a message was left out. */
export class Omissions {
  #isTold = false;

  beginTurn(): void {
    this.#isTold = false;
  }

  /** Returns whether the turn has a notice. */
  save(): boolean {
    return this.#isTold;
  }

  restore(hasNotice: boolean): void {
    this.#isTold = hasNotice;
  }

  /** The notices for a message: at most one. */
  of(message: unknown, budget: MessageBudget): AgentUpdate[] {
    const excess = excessOf(message);
    const { entries, text } = budget.omitted;
    if (this.#isTold || (!excess && entries === 0 && text === 0)) return [];
    this.#isTold = true;
    const parts = [
      ...(excess ? [excessText(excess)] : []),
      ...(entries > 0 ? [`${entries} entries omitted`] : []),
      ...(text > 0 ? [`${text} characters omitted`] : []),
    ];
    const what = `a message of the agent is too large to show in full: ${parts.join('; ')}`;
    return [{ type: 'notice', code: 'message_cut', message: what }];
  }
}
