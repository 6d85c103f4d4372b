import fs from 'node:fs/promises';
import { AppError } from '../../api/errors.ts';
import { findRegistration } from '../../core/config/registration.ts';
import type { Visit } from '../tui/visit.ts';
import { addressOf, type GlobalOptions, serverDirectory } from './context.ts';
import { editorProgram } from './editor.ts';
import { runHere } from './run-program.ts';
import type { World } from './world.ts';

/**
 * Returns what runs the shell or the editor of the user in a directory. Only the server that is registered on this
 * machine counts as one of this machine: the address of any other may be the end of a tunnel.
 */
export function visitorOf(
  { env, stdout }: Pick<World, 'env' | 'stdout'>,
  global: GlobalOptions,
): Visit {
  return async (program, { directory, url }) => {
    const found = findRegistration(await serverDirectory(global, env));
    if (!found?.runs || addressOf(url) !== addressOf(found.server.url))
      throw new AppError(
        'usage',
        `cannot open directory ${directory}: the server ${url} does not run on this machine`,
      );
    const isDirectory = await fs.stat(directory).then(
      (entry) => entry.isDirectory(),
      () => false,
    );
    if (!isDirectory) throw new AppError('not_found', `the directory ${directory} does not exist`);
    return program === 'shell' ? () => runShell(directory) : () => runEditor(directory);
  };

  async function runShell(directory: string): Promise<void> {
    stdout.write(`cadre: shell in ${directory}: exit returns to the screen\n`);
    // The code with which a shell ends is the one of its last command.
    await runHere(
      { command: env.SHELL?.trim() || '/bin/sh', args: [], env, cwd: directory },
      false,
    );
  }

  async function runEditor(directory: string): Promise<void> {
    const { editor, program } = editorProgram(env, '.');
    const { code } = await runHere({ ...program, cwd: directory }, false);
    if (code === 127)
      throw new AppError('usage', `the editor "${editor}" was not found: set VISUAL or EDITOR`);
  }
}
