import type { Command } from 'commander';
import type { Client } from '../../client/client.ts';
import { AppError, unreachableError } from '../../api/errors.ts';
import { plain } from '../../core/lib/plain.ts';
import type { Clock } from '../../core/lib/clock.ts';
import type { GlobalOptions } from './context.ts';
import type { Layout } from './layout.ts';
import { idsIn, isQuiet, layoutFor } from './output-options.ts';
import { isNarrow, loadWidths } from './widths.ts';
import { ownEntry } from '../../core/lib/own-entry.ts';

/** Who wants a server that a command may start: a user who typed a command, or an editor that started `cadre acp`. */
export type Starter = 'command' | 'editor';

/** The input and output of a command: its streams, variables, directory and clock, the server, signals and the exit code. */
export interface CommandIo {
  stdin: NodeJS.ReadableStream & { isTTY?: boolean };
  stdout: NodeJS.WritableStream & { isTTY?: boolean; columns?: number };
  stderr: NodeJS.WritableStream & { isTTY?: boolean };
  env: NodeJS.ProcessEnv;
  /** The working directory. Throws where it is gone. */
  cwd: () => string;
  clock: Clock;
  /**
   * A client of the server that the options name. Throws as `connect` of connect.ts. With `starter`, a server is started if
   * none runs, as no-server.ts describes.
   */
  connect(options: GlobalOptions, starter?: Starter): Promise<Client>;
  /** Aborts on INT and TERM, with the exit code to end with as its reason. */
  interrupted(): AbortSignal;
  exit(code: number): void;
  /** Says what continues on the server if the reader of the output leaves, for a note on stderr. */
  unread?(note: string): void;
  /** From now on, the command continues if its output cannot be written. */
  ignoreLostOutput?(): void;
}

/** The streams of a terminal that a screen can be drawn on. */
interface ScreenStreams {
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WriteStream;
}

/** The terminal for the screen; null if stdin or stdout is not a terminal, or the terminal is dumb. */
export function terminalOf({ stdin, stdout, env }: CommandIo): ScreenStreams | null {
  if (!stdin.isTTY || !stdout.isTTY || env.TERM === 'dumb') return null;
  return { stdin: stdin as NodeJS.ReadStream, stdout: stdout as NodeJS.WriteStream };
}

/** Whether somebody at a terminal can answer a question. */
export function canAsk({ stdin, stderr }: Pick<CommandIo, 'stdin' | 'stderr'>): boolean {
  return stdin.isTTY === true && stderr.isTTY === true;
}

export interface LocalContext<Options extends GlobalOptions = GlobalOptions> {
  io: CommandIo;
  /** The options of the program and of the command. */
  global: Options;
  /** Writes the command's only document: `value` as JSON with `--json`, only `ids` with `--quiet`, else `text`. */
  show: (value: unknown, text: () => string, ids?: () => readonly string[]) => void;
  /** Writes a note on stderr, if stderr is a terminal and the output is not JSON. */
  note: (text: string) => void;
  layout: Layout;
}

export interface CommandContext extends LocalContext {
  client: Client;
}

/** The action of a command that works without a server: runs the command with its arguments and options. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- commander passes what the command declares
export function localAction<Arguments extends unknown[], Options extends GlobalOptions>(
  io: CommandIo,
  run: (context: LocalContext<Options>, ...args: Arguments) => void | Promise<void>,
): (...args: unknown[]) => Promise<void> {
  return async (...args) => {
    const command = args.pop() as Command;
    const { context, shown } = contextOf<Options>(io, command);
    await run(context, ...(args as Arguments));
    await shown();
  };
}

/**
 * The action of a client command: connects, runs the command with its arguments and options, and closes the connection
 * in any case.
 */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- commander passes what the command declares
export function clientAction<Arguments extends unknown[]>(
  io: CommandIo,
  run: (context: CommandContext, ...args: Arguments) => Promise<void>,
): (...args: unknown[]) => Promise<void> {
  return async (...args) => {
    const command = args.pop() as Command;
    const { context, shown } = contextOf(io, command);
    const starter = startsServer(command) ? 'command' : undefined;
    const client = await io.connect(context.global, starter);
    try {
      await run({ ...context, client }, ...(args as Arguments));
      await shown();
      for (const remark of client.remarks()) io.stderr.write(`cadre: ${remark}\n`);
    } catch (error) {
      if (error instanceof AppError) throw inFlags(orUnreachable(error, client), command);
      throw client.misunderstanding() ?? error;
    } finally {
      client.close();
    }
  };
}

/** The context of a command, and what waits until its document is written. */
function contextOf<Options extends GlobalOptions>(
  io: CommandIo,
  command: Command,
): { context: LocalContext<Options>; shown: () => Promise<void> | undefined } {
  const global = command.optsWithGlobals<Options>();
  let later: Promise<void> | undefined;
  const show: LocalContext['show'] = (value, text, ids) => {
    const write = () => showDocument(io, global, value, text, ids);
    if (global.json || isQuiet(global) || isNarrow(text())) write();
    else later = loadWidths().then(write);
  };
  const note = (text: string) => {
    if (io.stderr.isTTY && !global.json) io.stderr.write(`cadre: ${text}\n`);
  };
  return {
    context: { io, global, show, note, layout: layoutFor(io, command) },
    shown: () => later,
  };
}

/** Whether a command starts a server if none runs: those that begin a piece of work do, and questions about it do not. */
function startsServer(command: Command): boolean {
  let top = command;
  while (top.parent?.parent) top = top.parent;
  return ['run', 'race', 'sessions'].includes(top.name());
}

/** One of several servers that did not answer may have the missing record. */
function orUnreachable(error: AppError, client: Client): AppError {
  const remarks = client.remarks();
  if (error.code !== 'not_found' || remarks.length === 0) return error;
  return unreachableError(
    `not every server answered (${remarks.join('; ')}), and the other servers reported: ${error.message}`,
    {
      cause: error,
    },
  );
}

/** Writes one document: `value` as JSON with `--json`, only `ids` with `--quiet`, else `text`. */
export function showDocument(
  io: CommandIo,
  options: GlobalOptions,
  value: unknown,
  text: () => string,
  ids: () => readonly string[] = () => idsIn(value),
): void {
  const written = options.json
    ? `${jsonFor(io, value, 2)}\n`
    : isQuiet(options)
      ? ids()
          .map((one) => `${plain(one)}\n`)
          .join('')
      : text();
  io.stdout.write(written);
}

/** Returns a value as JSON; for a terminal with everything that it would hide or obey as escapes. */
export function jsonFor(
  { stdout }: Pick<CommandIo, 'stdout'>,
  value: unknown,
  indent?: number,
): string {
  return safeOn(stdout, JSON.stringify(value, null, indent));
}

/** Resolves once an output has passed on all that was written to it. */
export function written(output: NodeJS.WritableStream): Promise<void> {
  return new Promise((resolve) => output.write('', () => resolve()));
}

/**
 * A refusal of the server in words of the command line: `query.limit: has to be at least 1` becomes `--limit: …`. Other
 * errors, and fields that no flag or argument of the command sets, stay as they are.
 */
export function inFlags(error: AppError, command: Command): AppError {
  const [, field, problem] =
    /^(?:body|query)\.([\w.]+?)(?:\.\d+)?: (.*)$/s.exec(error.message) ?? [];
  if (error.code !== 'invalid' || field === undefined) return error;
  const words = field.split(/[._]/).flatMap((word) => [word, ...(ownEntry(synonyms, word) ?? [])]);
  const flag = nameOf(words, command);
  return flag === null ? error : new AppError(error.code, `${flag}: ${problem}`, { cause: error });
}

/** The words of flags and arguments for words in the names of fields. */
const synonyms: Readonly<Record<string, readonly string[]>> = {
  // The words of a search are `q` in its URL.
  q: ['words'],
  expected: ['expect'],
  input: ['text', 'prompt'],
  recipient: ['member', 'to'],
  sender: ['from'],
};

/** The flag or argument whose words are all in the field's name; of several, the one with the most words. */
function nameOf(words: readonly string[], command: Command): string | null {
  const flags = command.options.flatMap(({ long }) =>
    long ? [{ name: long, text: long.slice(2) }] : [],
  );
  const operands = command.registeredArguments.map((one) => ({
    name: `<${one.name()}>`,
    text: one.name(),
  }));
  const fits = [...flags, ...operands]
    .map(({ name, text }) => ({ name, parts: text.split('-') }))
    .filter(({ parts }) => parts.every((part) => words.includes(part)))
    .toSorted((a, b) => b.parts.length - a.parts.length);
  return fits[0]?.name ?? null;
}

/** A text with everything that a terminal would hide or obey as escapes of JSON, if it goes to a terminal. */
export function safeOn({ isTTY }: { isTTY?: boolean }, text: string): string {
  if (isTTY !== true) return text;
  return text.replaceAll(
    /(?!\n)[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu,
    (character) =>
      Array.from(
        character.split(''),
        (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
      ).join(''),
  );
}
