import { endpoints } from '../api/index.ts';
import type { Start } from '../tui/app.tsx';
import { exitCodes } from './exit.ts';
import type { CommandContext } from './world.ts';

/**
 * Opens the screen and waits until the user leaves it. Answers false, without a screen, where stdin or stdout is no
 * terminal, where the terminal is dumb, and with `--json`.
 */
export async function openScreen(
  { world, client, global }: CommandContext,
  start: Start,
): Promise<boolean> {
  const { stdin, stdout, env, clock } = world;
  if (global.json || !stdin.isTTY || !stdout.isTTY || env.TERM === 'dumb') return false;
  // Fails before the screen is opened where no server answers.
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
