import type { Command } from 'commander';
import type { Client } from '../client/client.ts';
import { AppError } from '../errors.ts';
import type { Clock } from '../lib/clock.ts';
import type { GlobalOptions } from './context.ts';

/** What a command may touch of the world, and how it ends. */
export interface World {
  stdin: NodeJS.ReadableStream & { isTTY?: boolean };
  stdout: NodeJS.WritableStream & { isTTY?: boolean };
  stderr: NodeJS.WritableStream & { isTTY?: boolean };
  env: NodeJS.ProcessEnv;
  clock: Clock;
  /** A client of the server that the options name. */
  connect(options: GlobalOptions): Promise<Client>;
  /** Aborts on INT and TERM, with the exit code to end with as its reason. */
  interrupted(): AbortSignal;
  /** Sets the exit code. */
  exit(code: number): void;
}

/** What a command of a client works with. */
export interface CommandContext {
  world: World;
  client: Client;
  global: GlobalOptions;
  /** Writes the one document of the command: JSON where that was asked for, else what people read. */
  show: (value: unknown, text: () => string) => void;
}

/**
 * An action of a client command: connects, runs it with the command's arguments and options, lets go of the
 * connection whatever happens.
 */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- commander hands over what the command declares
export function clientAction<Given extends unknown[]>(
  world: World,
  run: (context: CommandContext, ...given: Given) => Promise<void>,
): (...given: unknown[]) => Promise<void> {
  return async (...given) => {
    const global = (given.pop() as Command).optsWithGlobals<GlobalOptions>();
    const client = await world.connect(global);
    try {
      const show = (value: unknown, text: () => string) => showDocument(world, global, value, text);
      await run({ world, client, global, show }, ...(given as Given));
    } catch (error) {
      if (error instanceof AppError) throw error;
      throw client.misunderstanding() ?? error;
    } finally {
      client.close();
    }
  };
}

/** Writes one document: JSON where that was asked for, else what people read. */
export function showDocument(
  world: World,
  options: GlobalOptions,
  value: unknown,
  text: () => string,
): void {
  world.stdout.write(options.json ? `${JSON.stringify(value, null, 2)}\n` : text());
}
