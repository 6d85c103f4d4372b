import fs from 'node:fs';
import { findProgram } from '../../../core/lib/find-program.ts';
import { hasProc } from '../../../core/lib/platform.ts';
import { isPackaged } from '../../../core/lib/self.ts';
import { type Check, fail, ok, warn } from './check.ts';

/** The oldest Node that runs the server, as in package.json. */
const NODE = [22, 12] as const;

export const node: Check = () => {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const isOld = major < NODE[0] || (major === NODE[0] && minor < NODE[1]);
  if (isOld)
    return fail(`Node ${process.version} is too old: install Node ${NODE.join('.')} or newer`);
  return ok(`${process.version}${isPackaged() ? ', in the executable' : ` (${process.execPath})`}`);
};

/** What the server needs to find and end its children, and to lock its data directory, by how the machine is looked at. */
const NEEDED = hasProc ? ['/bin/sh', 'flock', 'grep'] : ['/bin/sh', 'ps', 'awk', 'lsof'];

export const prerequisites: Check = ({ world }) => {
  const missing = NEEDED.filter((program) => !findProgram(program, world.env.PATH));
  if (hasProc && missing.join() === 'grep')
    return warn(
      'the program grep was not found: install grep, with which the server finds processes that a crash left behind',
    );
  if (missing.length > 0)
    return fail(
      `required programs not found (${missing.join(', ')}): install them, and check PATH`,
    );
  if (!hasProc) return ok(`found ${NEEDED.join(', ')}`);
  if (!fs.existsSync('/proc/self/stat'))
    return fail('/proc is missing: mount /proc, with which cadre finds and stops processes');
  return ok(`found ${NEEDED.join(', ')} and /proc`);
};

/** git, which only worktrees need. */
export const git: Check = async () => {
  const found = await (await import('../../../server/work/git/git.ts')).findGit();
  return 'problem' in found ? warn(found.problem) : ok(`git ${found.version}`);
};
