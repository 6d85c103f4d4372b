import type { Command } from 'commander';
import type { Client } from '../../client/client.ts';
import { AppError } from '../../api/errors.ts';
import { plain } from '../../core/lib/plain.ts';
import type { Clock } from '../../core/lib/clock.ts';
import type { GlobalOptions } from './context.ts';
import { inFlags } from './flag-words.ts';
import type { Layout } from './layout.ts';
import { idsIn, isQuiet, layoutFor } from './output-options.ts';
import { safeOn } from './safe-json.ts';
import { isNarrow, loadWidths } from './widths.ts';

/** Who wants a server that a command may start: a user who typed a command, or an editor that started `cadre acp`. */
export type Starter = 'command' | 'editor';

/** What is around a command: its streams, environment, directory and clock, the server, signals and the exit code. */
export interface World {
  stdin: NodeJS.ReadableStream & { isTTY?: boolean };
  stdout: NodeJS.WritableStream & { isTTY?: boolean; columns?: number };
  stderr: NodeJS.WritableStream & { isTTY?: boolean };
  env: NodeJS.ProcessEnv;
  /** The working directory. Throws where it is gone. */
  cwd: () => string;
  clock: Clock;
  /**
   * A client of the server that the options name. Throws as `connect` of connect.ts. With `starter`, a server is started if
   * none runs, as autostart.ts describes.
   */
  connect(options: GlobalOptions, starter?: Starter): Promise<Client>;
  /** Aborts on INT and TERM, with the exit code to end with as its reason. */
  interrupted(): AbortSignal;
  /** Sets the exit code. */
  exit(code: number): void;
}

/** The streams of a terminal that a screen can be drawn on. */
interface ScreenStreams {
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WriteStream;
}

/** The terminal that a screen can be drawn on; null where stdin or stdout is none, or it is dumb. */
export function terminalOf({ stdin, stdout, env }: World): ScreenStreams | null {
  if (!stdin.isTTY || !stdout.isTTY || env.TERM === 'dumb') return null;
  return { stdin: stdin as NodeJS.ReadStream, stdout: stdout as NodeJS.WriteStream };
}

/** The arguments that every client command gets. */
export interface CommandContext {
  world: World;
  client: Client;
  global: GlobalOptions;
  /** Writes the command's only document: `value` as JSON with `--json`, only `ids` with `--quiet`, else `text`. */
  show: (value: unknown, text: () => string, ids?: () => readonly string[]) => void;
  /** Tells people something on stderr, where that is a terminal and they did not ask for JSON. */
  note: (text: string) => void;
  /** How text for people is laid out on stdout. */
  layout: Layout;
}

/**
 * The action of a client command: connects, runs the command with its arguments and options, and closes the connection
 * in any case.
 */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- commander passes what the command declares
export function clientAction<Arguments extends unknown[]>(
  world: World,
  run: (context: CommandContext, ...args: Arguments) => Promise<void>,
): (...args: unknown[]) => Promise<void> {
  return async (...args) => {
    const command = args.pop() as Command;
    const global = command.optsWithGlobals<GlobalOptions>();
    const client = await world.connect(global, startsServer(command) ? 'command' : undefined);
    try {
      let later: Promise<void> | undefined;
      const show: CommandContext['show'] = (value, text, ids) => {
        const write = () => showDocument(world, global, value, text, ids);
        if (global.json || isQuiet(global) || isNarrow(text())) write();
        else later = loadWidths().then(write);
      };
      const note = (text: string) => {
        if (world.stderr.isTTY && !global.json) world.stderr.write(`cadre: ${text}\n`);
      };
      const layout = layoutFor(world, command);
      await run({ world, client, global, show, note, layout }, ...(args as Arguments));
      await later;
      for (const remark of client.remarks()) world.stderr.write(`cadre: ${remark}\n`);
    } catch (error) {
      if (error instanceof AppError) throw inFlags(orUnreachable(error, client), command);
      throw client.misunderstanding() ?? error;
    } finally {
      client.close();
    }
  };
}

/** Whether a command starts a server if none runs: those that begin a piece of work do, and questions about it do not. */
function startsServer(command: Command): boolean {
  let top = command;
  while (top.parent?.parent) top = top.parent;
  return top.name() === 'run' || top.name() === 'sessions';
}

/** Of several servers, what was not found may be on one that could not be asked. */
function orUnreachable(error: AppError, client: Client): AppError {
  const remarks = client.remarks();
  if (error.code !== 'not_found' || remarks.length === 0) return error;
  return new AppError(
    'unreachable',
    `not every server answered (${remarks.join('; ')}), and the other servers reported: ${error.message}`,
    {
      cause: error,
    },
  );
}

/** Writes one document: `value` as JSON with `--json`, only `ids` with `--quiet`, else `text`. */
export function showDocument(
  world: World,
  options: GlobalOptions,
  value: unknown,
  text: () => string,
  ids: () => readonly string[] = () => idsIn(value),
): void {
  const written = options.json
    ? `${jsonFor(world, value, 2)}\n`
    : isQuiet(options)
      ? ids()
          .map((one) => `${plain(one)}\n`)
          .join('')
      : text();
  world.stdout.write(written);
}

/** Returns a value as JSON; for a terminal with everything that it would hide or obey as escapes. */
export function jsonFor(
  { stdout }: Pick<World, 'stdout'>,
  value: unknown,
  indent?: number,
): string {
  return safeOn(stdout, JSON.stringify(value, null, indent));
}

/** Resolves once an output has passed on all that was written to it. */
export function written(output: NodeJS.WritableStream): Promise<void> {
  return new Promise((resolve) => output.write('', () => resolve()));
}
