import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { Edit } from '../../client/review.ts';
import { AppError, usageError } from '../../api/errors.ts';
import { type Program, runHere } from './run-program.ts';

/**
 * Opens a text in the editor of VISUAL or EDITOR, else in vi, on the terminal of this command. The first line of the
 * text is a comment. If `read` throws an AppError, the editor opens again with the reason as the first line, as long as
 * the user changes something. Throws `usage` if the editor does not start, or fails. A text that was not read stays in
 * a file, which the error names.
 */
export function editorOf(env: NodeJS.ProcessEnv): Edit {
  return async (name, text, read) => {
    const directory = await fs.mkdtemp(path.join(os.tmpdir(), 'cadre-'));
    const file = path.join(directory, name);
    try {
      await fs.writeFile(file, text, { mode: 0o600 });
      const done = await editUntilRead(env, file, text, read);
      await fs.rm(directory, { recursive: true, force: true });
      return done;
    } catch (error) {
      const isWritten = (await fs.readFile(file, 'utf8').catch(() => text)) !== text;
      if (!isWritten) await fs.rm(directory, { recursive: true, force: true });
      if (!isWritten || !(error instanceof AppError)) throw error;
      throw new AppError(error.code, `${error.message}: your text was saved in the file ${file}`, {
        cause: error,
      });
    }
  };
}

async function editUntilRead<T>(
  env: NodeJS.ProcessEnv,
  file: string,
  text: string,
  read: (text: string) => T,
): Promise<T> {
  for (let before = text; ;) {
    await runEditor(env, file);
    const after = await fs.readFile(file, 'utf8');
    try {
      return read(after);
    } catch (error) {
      if (!(error instanceof AppError) || after === before) throw error;
      before = [`#! ${error.message}`, ...after.split('\n').slice(1)].join('\n');
      await fs.writeFile(file, before);
    }
  }
}

/** The editor that VISUAL or EDITOR names, else vi. As with git, the variable may hold a command with arguments. */
export function editorProgram(
  env: NodeJS.ProcessEnv,
  file: string,
): { editor: string; program: Program } {
  const editor = [env.VISUAL, env.EDITOR].find((one) => one?.trim()) ?? 'vi';
  const args = ['-c', `${editor} "$@"`, editor, file];
  return { editor, program: { command: '/bin/sh', args, env } };
}

async function runEditor(env: NodeJS.ProcessEnv, file: string): Promise<void> {
  const { editor, program } = editorProgram(env, file);
  const { code } = await runHere(program, false);
  if (code === 0) return;
  const how = code === null ? 'stopped by a signal' : `exit code ${code}`;
  throw usageError(
    code === 127
      ? `the editor "${editor}" was not found: set VISUAL or EDITOR`
      : `the editor "${editor}" failed (${how}), so nothing was changed`,
  );
}
