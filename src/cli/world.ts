import type { Clock } from '../lib/clock.ts';
import type { Client } from '../client/client.ts';
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

/** Writes one document: JSON where that was asked for, else what people read. */
export function show(
  world: World,
  options: GlobalOptions,
  value: unknown,
  text: () => string,
): void {
  world.stdout.write(options.json ? `${JSON.stringify(value, null, 2)}\n` : text());
}
