import type { CommandIo } from '../command-io.ts';

/** Writes a text to stdout; on a terminal through the program that `PAGER` names, where it names one. */
export async function writePaged(text: string, io: CommandIo): Promise<void> {
  const { stdout, env } = io;
  const { PAGER: pager = '' } = env;
  if (!stdout.isTTY || pager === '' || pager === 'cat') {
    stdout.write(text);
    return;
  }
  // Ctrl-C is for the pager.
  io.interrupted();
  const { execa } = await import('execa');
  // A user who leaves the pager early does not want the rest: the end of the pager never counts as an error.
  await execa(pager, {
    shell: true,
    input: text,
    stdout: 'inherit',
    stderr: 'inherit',
    // As gh and git do it: colours, no pager for less than a screen, and the screen stays.
    env: { LESS: 'FRX', LV: '-c', ...env },
    extendEnv: false,
    reject: false,
  });
}
