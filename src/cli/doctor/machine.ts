import fs from 'node:fs';
import { findProgram } from '../../lib/find-program.ts';
import { isPackaged } from '../../lib/self.ts';
import { type Check, fail, ok, warn } from './check.ts';

/** The oldest Node that runs the server, as in package.json. */
const NODE = [22, 12] as const;

export const node: Check = () => {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const isOld = major < NODE[0] || (major === NODE[0] && minor < NODE[1]);
  if (isOld) return fail(`${process.version} is too old: install Node ${NODE.join('.')} or newer`);
  return ok(`${process.version}${isPackaged() ? ', in the executable' : ` (${process.execPath})`}`);
};

/** The programs and files with which the server ends its children and locks its data directory. */
export const prerequisites: Check = ({ world }) => {
  const needed = ['/bin/sh', 'flock', 'grep'];
  const missing = needed.filter((program) => !findProgram(program, world.env.PATH));
  if (missing.length > 0)
    return fail(`${missing.join(', ')} cannot be found: install it, and see that PATH has it`);
  if (!fs.existsSync('/proc/self/stat'))
    return fail('/proc is not there: mount it, since processes are found and ended by it');
  return ok(`${needed.join(', ')} and /proc are there`);
};

/** git, which only worktrees need. */
export const git: Check = async () => {
  const found = await (await import('../../worktrees/git.ts')).findGit();
  return 'problem' in found ? warn(found.problem) : ok(`git ${found.version}`);
};
