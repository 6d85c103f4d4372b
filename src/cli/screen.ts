import { endpoints } from '../api/index.ts';
import type { Start } from '../tui/app.tsx';
import { exitCodes } from './exit.ts';
import type { CommandContext } from './world.ts';

/**
 * Opens the screen on the terminal, until somebody leaves it. False where there is none to look at and type on, where
 * JSON was asked for, or where it can do no more than print.
 */
export async function openScreen(
  { world, client, global }: CommandContext,
  start: Start,
): Promise<boolean> {
  const { stdin, stdout, env, clock } = world;
  if (global.json || !stdin.isTTY || !stdout.isTTY || env.TERM === 'dumb') return false;
  // A server that is not there is said on the terminal as it is.
  await client.call(endpoints.getVersion, {});
  const signal = world.interrupted();
  const screen = await import('../tui/open.tsx');
  const { interrupted } = await screen.openScreen({
    client,
    clock,
    env,
    signal,
    start,
    stdin: stdin as NodeJS.ReadStream,
    stdout: stdout as NodeJS.WriteStream,
  });
  if (signal.aborted) world.exit(Number(signal.reason));
  else if (interrupted) world.exit(exitCodes.interrupted);
  return true;
}
