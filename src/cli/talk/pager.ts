import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { World } from '../world.ts';

/** Writes a text to stdout; on a terminal through the program that `PAGER` names, where it names one. */
export async function writePaged(text: string, world: World): Promise<void> {
  const { stdout, env } = world;
  const { PAGER: pager = '' } = env;
  if (!stdout.isTTY || pager === '' || pager === 'cat') {
    stdout.write(text);
    return;
  }
  // Ctrl-C is for the pager.
  world.interrupted();
  const child = spawn(pager, {
    shell: true,
    stdio: ['pipe', 'inherit', 'inherit'],
    // As gh and git do it: colours, no pager for less than a screen, and the screen stays.
    env: { LESS: 'FRX', LV: '-c', ...env },
  });
  // Whoever leaves the pager early does not want the rest.
  child.stdin.on('error', () => undefined);
  child.stdin.end(text);
  await once(child, 'close');
}
