import { z } from 'zod';
import type { ToolChange } from '../provider.ts';
import { mergeCalls, type ReportedCall } from './reported-call.ts';
import { contentText, diffPart, readToolCall } from './tool-call.ts';

/** What was shown as the output of a call. */
interface Shown {
  /** The texts of its content. */
  content: string;
  /** What its terminal has written, where the agent tells that beside the content. */
  terminal: string;
}

const list = z.array(z.unknown()).catch([]);

/** What an agent has reported of the tool calls of a turn. */
export class Calls {
  readonly #open = new Map<string, ReportedCall>();
  readonly #shown = new Map<string, Shown>();

  clear(): void {
    this.#open.clear();
    this.#shown.clear();
  }

  /** All that is known of a call that has not ended. */
  of(ref: string): ReportedCall | undefined {
    return this.#open.get(ref);
  }

  /** Notes what an update says of a call. Returns all that is known of it, and what has changed as it is shown. */
  reported(
    ref: string,
    news: ReportedCall,
    change: ToolChange,
  ): { call: ReportedCall; change: ToolChange } {
    const call = mergeCalls(this.#open.get(ref) ?? {}, news);
    // A call that has ended is forgotten: a later call may have the same id.
    if (change.status === 'completed' || change.status === 'failed') this.#open.delete(ref);
    else this.#open.set(ref, call);
    return { call, change: this.#withOutput(ref, news, change) };
  }

  /** The change with the whole output: the texts of the content, and what the terminal of the call has written. */
  #withOutput(ref: string, news: ReportedCall, change: ToolChange): ToolChange {
    const shown = this.#shown.get(ref) ?? { content: '', terminal: '' };
    this.#shown.set(ref, shown);
    const content = contentText(list.parse(news.content));
    const terminal = withTerminal(shown.terminal, news._meta);
    if (content === null && terminal === '') return change;
    // What the terminal has written is often repeated as the raw output.
    if (content === null && terminal === shown.terminal) return without(change, 'output');
    shown.content = content ?? shown.content;
    shown.terminal = terminal;
    return { ...change, output: outputOf(shown) };
  }

  /**
   * Returns what the request for a permission tells of its call. Its texts are what the agent asks, which the approval
   * shows: they are no output of the call, nor were they when the agent sent them before.
   */
  asked(ref: string, call: ReportedCall): ToolChange {
    const parts = list.parse(call.content);
    const diffs = parts.filter((part) => diffPart.safeParse(part).success);
    const told = readToolCall({ ...call, content: diffs, rawOutput: null });
    const change = told === 'unknown' ? {} : told.change;
    const text = contentText(parts);
    const shown = this.#shown.get(ref);
    if (!shown || text === null || diffs.length > 0 || shown.content !== text) return change;
    shown.content = '';
    return { ...change, output: shown.terminal };
  }
}

/** Content and terminal, once where the content repeats what the terminal has written. */
function outputOf({ content, terminal }: Shown): string {
  if (terminal.trim() !== '' && content.includes(terminal.trim())) return content;
  return [content, terminal].filter(Boolean).join('\n');
}

function without<K extends keyof ToolChange>(change: ToolChange, field: K): Omit<ToolChange, K> {
  const { [field]: _left, ...rest } = change;
  return rest;
}

const output = z.looseObject({ data: z.string() }).nullish().catch(null);
const meta = z.looseObject({
  terminal_output: output,
  terminal_output_delta: output,
  terminal_exit: z
    .looseObject({
      exit_code: z.number().nullish().catch(null),
      signal: z.string().nullish().catch(null),
    })
    .nullish()
    .catch(null),
});

/** The output of a terminal after a message. `terminal_output` is the next piece for some agents, and all of it for others. */
function withTerminal(before: string, raw: unknown): string {
  const { data } = meta.safeParse(raw);
  if (!data) return before;
  const { terminal_output: told, terminal_output_delta: delta, terminal_exit: exit } = data;
  const isWhole = told && before !== '' && told.data.startsWith(before);
  const text = (isWhole ? '' : before) + (told?.data ?? '') + (delta?.data ?? '');
  const how = exit?.signal ?? (exit?.exit_code ? `exit code ${exit.exit_code}` : null);
  if (how === null) return text;
  return `${text}${text === '' || text.endsWith('\n') ? '' : '\n'}[${how}]\n`;
}
