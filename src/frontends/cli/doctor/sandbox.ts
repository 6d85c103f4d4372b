import os from 'node:os';
import path from 'node:path';
import { type Check, fail, ok, warn } from './check.ts';

/** The sandbox of child processes, found by starting one. */
export const sandbox: Check = async ({ config, directory, world }) => {
  const { mode, network, nests } = config.sandbox;
  if (mode === 'off')
    return ok('off; to check this machine, run CADRE_SANDBOX_MODE=auto cadre doctor');
  const searchPath = world.env.PATH ?? '';
  const { probeBriefly } = await import('../../../core/children/sandbox/run-probe.ts');
  const level = await probeBriefly({ searchPath, network, nests }, world.clock);
  if (level.level === 'full') {
    const parts = network === 'none' ? 'files, processes and network' : 'files and processes';
    const hidden = await hiddenPrograms(searchPath, directory);
    const more =
      hidden.length === 0
        ? ''
        : `; programs of PATH that are not visible inside: ${hidden.join(', ')} (add them to sandbox.read)`;
    return ok(`full: ${parts} are isolated by ${level.program}${more}`);
  }
  const detail = `${level.level}, because ${level.reason}: ${level.help}`;
  return level.level === 'none' && mode === 'require' ? fail(detail) : warn(detail);
};

/** Resolves with the directories of PATH that a sandbox does not show. */
async function hiddenPrograms(searchPath: string, dataDirectory: string): Promise<string[]> {
  const { hiddenEntries, readHostView } =
    await import('../../../core/children/sandbox/host-view.ts');
  const worktrees = path.join(dataDirectory, 'worktrees');
  const view = await readHostView({ home: os.homedir(), dataDirectory, worktrees, searchPath });
  return hiddenEntries(searchPath, view);
}
