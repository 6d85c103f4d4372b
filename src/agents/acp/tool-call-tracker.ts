import { z } from 'zod';
import type { StoredTool } from '../attached-turn.ts';
import type { ToolChange } from '../provider.ts';
import { DERIVED_LIMITS, type MessageBudget } from '../budget.ts';
import { mergeCalls, NOT_KEPT, type ReportedCall, withMessage } from './reported-call.ts';
import { contentText, diffsIn, readToolCall } from './tool-call.ts';
import { anyList, maybe, maybeText } from '../lenient.ts';

/** The shown output of a call. */
interface Shown {
  /** The texts of its content. */
  readonly content: string;
  /** Output of its terminal, if the agent reports that in addition to the content. */
  readonly terminal: string;
}

/** A call that has not ended. */
interface Open {
  /** All that was said of it. */
  call: ReportedCall;
  /** Fields of the call since the last turn began. They may be about another call with the same id. The name is stored. */
  said: ReportedCall;
  /** The messages since then, without those that a later one repeats. */
  messages: readonly ReportedCall[];
  /** Whether it was shown in this turn, or since it ended. */
  isShown: boolean;
  /** Whether it was mentioned since the last turn began. */
  isFresh: boolean;
  /** About how much memory all of this takes, in code units. */
  size: number;
}

/**
 * The limits of what is kept of the open calls of one agent, of the shown outputs, and of its subagents. The call of the newest message is
 * always kept, with its output.
 */
export const MAX_KEPT_UNITS = 32 * 1024 * 1024;
export const MAX_OPEN = 10_000;

/** As much of the open calls is saved for another server, in code units, and outputs up to this length. */
const MAX_SAVED_UNITS = 24 * 1024;
const MAX_SAVED_OUTPUT = 256;

/** Messages of a forgotten call: its request may not show all of it. */
const FORGOTTEN: readonly ReportedCall[] = [{ [NOT_KEPT]: 1 }];

/** The tool calls that an agent has reported. A call may continue after its turn. */
export class ToolCallTracker {
  readonly #open = new Map<string, Open>();
  /** The calls that have ended since the last turn began. */
  readonly #ended = new Set<string>();
  readonly #shown = new Map<string, Shown>();
  /** The length of all shown outputs. */
  #shownSize = 0;
  #size = 0;
  /** Whether an open call was forgotten in this turn. */
  #hasForgotten = false;
  #isInTurn = false;
  readonly #listeners = new Map<string, Set<() => void>>();

  /** A turn begins. Calls of which nothing was heard since the last one began are forgotten. */
  beginTurn(): void {
    for (const [ref, one] of this.#open) {
      const blank = { said: {}, messages: [], isShown: false, isFresh: false };
      if (one.isFresh) this.#keep(ref, { ...one, ...blank });
      else this.#close(ref);
    }
    this.#hasForgotten = false;
    for (const ref of this.#shown.keys()) if (!this.#open.has(ref)) this.#setShown(ref);
    this.#ended.clear();
    this.#isInTurn = true;
  }

  /** The turn has ended, and what was shown in it with it: what is said of its calls from now on is shown anew. */
  endTurn(): void {
    for (const [ref, one] of this.#open) this.#open.set(ref, { ...one, isShown: false });
    this.#isInTurn = false;
  }

  /** The open calls, with as much of their messages as another server is to know, and their outputs. */
  save() {
    let room = MAX_SAVED_UNITS;
    const known = [...this.#open].filter(([, { size }]) => (room -= size) >= 0);
    return {
      open: known,
      // The output of a call that has ended changes no more.
      shown: [...this.#shown]
        .filter(([ref]) => !this.#ended.has(ref))
        .map(
          ([ref, { content, terminal }]) => [ref, savedText(content), savedText(terminal)] as const,
        ),
      hasForgotten: this.#hasForgotten || known.length < this.#open.size,
    };
  }

  /** Continues in the turn of an earlier server. `tools`: the tools of the turn as they are stored. */
  restore(
    { open, shown, hasForgotten }: ReturnType<ToolCallTracker['save']>,
    tools: readonly StoredTool[],
  ): void {
    for (const [ref, one] of open) this.#keep(ref, one);
    for (const [ref, content, terminal] of shown) {
      const stored = tools.find((tool) => tool.ref === ref)?.text ?? '';
      this.#setShown(ref, {
        content: restoredText(content, stored),
        terminal: restoredText(terminal, stored),
      });
    }
    for (const { ref, isOpen } of tools) if (!isOpen && !this.#open.has(ref)) this.#ended.add(ref);
    this.#hasForgotten = hasForgotten;
    this.#isInTurn = true;
  }

  /** Calls `listener` after each report about a call, until it is disposed. */
  onReport(ref: string, listener: () => void): Disposable {
    const listeners = this.#listeners.get(ref) ?? new Set();
    this.#listeners.set(ref, listeners.add(listener));
    return {
      [Symbol.dispose]: () => {
        listeners.delete(listener);
        if (listeners.size === 0) this.#listeners.delete(ref);
      },
    };
  }

  /** All that this turn knows of a call that has not ended. */
  of(ref: string): ReportedCall | undefined {
    const one = this.#open.get(ref);
    return one?.isShown ? one.said : undefined;
  }

  /** Returns the messages of this turn about a call that has not ended, without those that a later one repeats. */
  messagesOf(ref: string | null): readonly ReportedCall[] {
    if (ref === null) return [];
    const one = this.#open.get(ref);
    if (!one) return this.#hasForgotten ? FORGOTTEN : [];
    return one.isShown ? one.messages : [];
  }

  /**
   * Notes what an update says of a call. Returns all that is known of it, and what has changed as it is shown, which is
   * all of it where the call was shown in an earlier turn. Null for news of a call that ended in the turn before. `raw`:
   * the news without a limit, for a request that is about the call.
   */
  reported(
    ref: string,
    news: ReportedCall,
    change: ToolChange,
    { raw, budget }: { raw: ReportedCall; budget: MessageBudget },
  ): { call: ReportedCall; change: ToolChange } | null {
    const isNew = news.sessionUpdate === 'tool_call';
    if (!this.#isInTurn && !isNew && this.#ended.has(ref)) return null;
    let before = this.#open.get(ref);
    if (isNew && before?.isShown === false) {
      before = undefined;
      this.#setShown(ref);
    }
    const call = mergeCalls(before?.call ?? {}, news);
    const inTurn = mergeCalls(before?.said ?? {}, raw);
    const isWhole = before?.isShown === false;
    const whole = isWhole ? { ...this.#soFar(ref, call), ...change } : change;
    // A call that has ended is forgotten: a later call may have the same id.
    if (change.status === 'completed' || change.status === 'failed') {
      this.#close(ref);
      this.#ended.add(ref);
    } else {
      const messages = withMessage(before?.messages ?? [], raw);
      this.#keep(ref, { call, said: inTurn, messages, isShown: true, isFresh: true });
      this.#forgetOldest(ref);
    }
    for (const listener of this.#listeners.get(ref) ?? []) listener();
    return { call, change: this.#withOutput({ ref, news, budget }, whole, isWhole) };
  }

  #keep(ref: string, one: Omit<Open, 'size'>): void {
    // `said` has fields that no message keeps, such as the raw output.
    const kept = [one.call, one.said, ...one.messages];
    const size = kept.reduce((sum, message) => sum + keptSize(message), 0);
    this.#size += size - (this.#open.get(ref)?.size ?? 0);
    this.#open.set(ref, { ...one, size });
  }

  #close(ref: string): void {
    this.#size -= this.#open.get(ref)?.size ?? 0;
    this.#open.delete(ref);
  }

  /** Forgets the oldest open calls while too much is kept: a request about one of them is not described. */
  #forgetOldest(newest: string): void {
    for (const ref of this.#open.keys()) {
      if (this.#size <= MAX_KEPT_UNITS && this.#open.size <= MAX_OPEN) return;
      if (ref === newest) continue;
      this.#close(ref);
      this.#setShown(ref);
      this.#hasForgotten = true;
    }
  }

  /** Sets or forgets the shown output of a call. */
  #setShown(ref: string, shown?: Shown): void {
    this.#shownSize += lengthOf(shown) - lengthOf(this.#shown.get(ref));
    if (shown) this.#shown.set(ref, shown);
    else this.#shown.delete(ref);
  }

  /** Forgets the oldest outputs of calls that have ended while too much is kept: what one still writes replaces its output. */
  #forgetOutputs(newest: string): void {
    for (const ref of this.#shown.keys()) {
      if (this.#shownSize <= MAX_KEPT_UNITS) return;
      if (ref !== newest && this.#ended.has(ref) && !this.#open.has(ref)) this.#setShown(ref);
    }
  }

  /** A call as it was shown before, with its output. */
  #soFar(ref: string, call: ReportedCall): ToolChange {
    const reported = readToolCall({ ...call, toolCallId: ref });
    const shown = this.#shown.get(ref);
    const change = reported === 'unknown' ? {} : reported.change;
    return shown ? { ...change, output: outputOf(shown) } : change;
  }

  /** The change with the whole output: the texts of the content, and what the terminal of the call has written. */
  #withOutput(
    { ref, news, budget }: { ref: string; news: ReportedCall; budget: MessageBudget },
    change: ToolChange,
    isWhole: boolean,
  ): ToolChange {
    const shown = this.#shown.get(ref) ?? { content: '', terminal: '' };
    const content = contentText(anyList.parse(news.content), budget);
    const terminal = withTerminal(shown.terminal, news._meta);
    if (content === null && terminal === '') return change;
    // The raw output often repeats the output of the terminal.
    if (content === null && terminal === shown.terminal) {
      const { output: _output, ...rest } = change;
      return isWhole ? change : rest;
    }
    const now = { content: content ?? shown.content, terminal };
    this.#setShown(ref, now);
    this.#forgetOutputs(ref);
    return { ...change, output: outputOf(now) };
  }

  /**
   * Returns the change of a call that a permission request describes. The approval shows the texts of the request, so
   * they are not output of the call, even if the agent sent them before.
   */
  asked(ref: string, { call, budget }: { call: ReportedCall; budget: MessageBudget }): ToolChange {
    const parts = anyList.parse(call.content);
    const diffs = diffsIn(parts);
    const reported = readToolCall({ ...call, content: diffs, rawOutput: null }, budget);
    const change = reported === 'unknown' ? {} : reported.change;
    const text = contentText(parts, budget);
    const shown = this.#shown.get(ref);
    if (!shown || text === null || diffs.length > 0 || shown.content !== text) return change;
    this.#setShown(ref, { ...shown, content: '' });
    return { ...change, output: shown.terminal };
  }
}

/** A saved text: itself, or its length and beginning if it is long, because the stored output of its call contains it. */
type SavedText = string | { length: number; begin: string };

function savedText(text: string): SavedText {
  if (text.length <= MAX_SAVED_OUTPUT) return text;
  return { length: text.length, begin: text.slice(0, MAX_SAVED_OUTPUT) };
}

/** `stored` may be newer than the saved text. Then the message that changed the output is read again. */
function restoredText(saved: SavedText, stored: string): string {
  if (typeof saved === 'string') return saved;
  const from = Math.max(0, stored.indexOf(saved.begin));
  return stored.slice(from, from + saved.length);
}

function lengthOf(shown: Shown | undefined): number {
  return shown ? shown.content.length + shown.terminal.length : 0;
}

/** Content and terminal, once where the content repeats what the terminal has written. */
function outputOf({ content, terminal }: Shown): string {
  if (terminal.trim() !== '' && content.includes(terminal.trim())) return content;
  return [content, terminal].filter(Boolean).join('\n');
}

const output = maybe(z.looseObject({ data: z.string() }));
const meta = z.looseObject({
  terminal_output: output,
  terminal_output_delta: output,
  terminal_exit: maybe(z.looseObject({ exit_code: maybe(z.number()), signal: maybeText })),
});

/** The output of a terminal after a message. `terminal_output` is the next piece for some agents, and all of it for others. */
function withTerminal(before: string, raw: unknown): string {
  if (before.length >= DERIVED_LIMITS.text) return before;
  const { data } = meta.safeParse(raw);
  if (!data) return before;
  const { terminal_output: output, terminal_output_delta: delta, terminal_exit: exit } = data;
  const isWhole = output && before !== '' && output.data.startsWith(before);
  const text = (isWhole ? '' : before) + (output?.data ?? '') + (delta?.data ?? '');
  const how = exit?.signal ?? (exit?.exit_code ? `exit code ${exit.exit_code}` : null);
  if (how === null) return text;
  return `${text}${text === '' || text.endsWith('\n') ? '' : '\n'}[${how}]\n`;
}

/** The number of values of one message that are read to measure it. */
const MAX_VALUES = 2000;
/** The size of a message with more values. */
const LARGE_UNITS = 4 * 1024 * 1024;

const sizes = new WeakMap<object, number>();

/**
 * Returns about how many code units a message about a call takes in memory, without reading all of a large one. A record
 * or list that was measured is not read again.
 */
function keptSize(message: object): number {
  const room = { values: MAX_VALUES };
  const size = measured(message, room);
  return room.values > 0 ? size : Math.max(size, LARGE_UNITS);
}

function measured(value: unknown, room: { values: number }): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 8;
  const known = sizes.get(value);
  if (known !== undefined) return known;
  let size = 16;
  const fields = value as Readonly<Record<string | number, unknown>>;
  for (const name of Array.isArray(value) ? value.keys() : Object.keys(value)) {
    if (room.values-- <= 0) return LARGE_UNITS;
    size += (typeof name === 'string' ? name.length : 0) + measured(fields[name], room);
  }
  if (room.values > 0) sizes.set(value, size);
  return size;
}
