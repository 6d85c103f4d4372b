import { serversOf } from '../../client/routed.ts';
import { endpoints } from '../../api/index.ts';
import { noDefaults } from '../../client/defaults.ts';
import type { Start } from '../tui/open.tsx';
import { configuration, addressOf, type GlobalOptions, serverDirectory } from './context.ts';
import { editorOf, editorProgram } from './editor.ts';
import { exitCodes } from './exit.ts';
import { defaultsOf, promptHistory } from './session/defaults.ts';
import { type CommandContext, terminalOf, type CommandIo } from './command-io.ts';
import fs from 'node:fs/promises';
import { notFoundError, usageError } from '../../api/errors.ts';
import { findRegistration } from '../../core/config/registration.ts';
import type { PrepareProgram } from '../tui/screen/screen-context.ts';
import { runHere } from './run-program.ts';

/**
 * Opens the screen and waits until the user leaves it. Answers false, without a screen, where there is no terminal for
 * it, and with `--json`. Unless the server is known to answer, it is asked first. Throws `unreachable`.
 */
export async function openScreen(
  { io, client, global }: CommandContext,
  start: Start,
  answers = false,
): Promise<boolean> {
  const terminal = terminalOf(io);
  if (global.json || !terminal) return false;
  // Fails before the screen opens. The screen shows which of several servers answer.
  if (!answers && !serversOf(client)) await client.call(endpoints.getVersion, {});
  const { clock, env } = io;
  const signal = io.interrupted();
  // The page of events opens no session.
  const defaults = start.page === 'top' ? await defaultsOf({ io, global }) : noDefaults;
  const screen = await import('../tui/open.tsx');
  const { interrupted } = await screen.openScreen({
    ...terminal,
    client,
    clock,
    env,
    signal,
    defaults,
    start,
    settings: (await configuration(global, env))?.screen,
    history: await promptHistory({ io, global }),
    edit: editorOf(env),
    runProgram: programRunnerOf(io, global),
  });
  if (signal.aborted) io.exit(Number(signal.reason));
  else if (interrupted) io.exit(exitCodes.interrupted);
  return true;
}

/**
 * Returns what runs the shell or the editor of the user in a directory. Only the server that is registered on this
 * machine counts as one of this machine: the address of any other may be the end of a tunnel.
 */
function programRunnerOf(
  { env, stdout }: Pick<CommandIo, 'env' | 'stdout'>,
  global: GlobalOptions,
): PrepareProgram {
  return async (program, { directory, url }) => {
    const found = findRegistration(await serverDirectory(global, env));
    if (!found?.runs || addressOf(url) !== addressOf(found.server.url))
      throw usageError(
        `cannot open directory ${directory}: the server ${url} does not run on this machine`,
      );
    const isDirectory = await fs.stat(directory).then(
      (entry) => entry.isDirectory(),
      () => false,
    );
    if (!isDirectory) throw notFoundError(`the directory ${directory} does not exist`);
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
      throw usageError(`the editor "${editor}" was not found: set VISUAL or EDITOR`);
  }
}
