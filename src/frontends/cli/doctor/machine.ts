import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { findRegistration } from '../../../core/config/registration.ts';
import { isRedactable, MIN_SECRET_LENGTH, secretVariables } from '../../../core/config/secrets.ts';
import type { Config } from '../../../core/config/schema.ts';
import { configFile } from '../../../core/config/sources.ts';
import { readToken, tokenFileOf } from '../../../core/config/token.ts';
import { commandOn } from '../command-on.ts';
import { type Check, fail, ok, warn } from './check.ts';
import { findProgram } from '../../../core/lib/find-program.ts';
import { hasProc } from '../../../core/lib/platform.ts';
import { isPackaged } from '../../../core/lib/self.ts';

const MIB = 1024 ** 2;

export const configuration: Check = ({ found, config, options, io }) => {
  const [first, ...others] = found.problems;
  if (first) {
    const more = others.length > 0 ? `; ${others.length} more, see cadre config check` : '';
    return fail(`${first}${more}`);
  }
  const file = path.resolve(configFile(options, io.env));
  const exists = fs.existsSync(file);
  if (exists && isOpen(file) && hasSecrets(fs.readFileSync(file, 'utf8'), config))
    return warn(
      `the file ${file} contains secrets and is readable for other users: run chmod 600 on the file`,
    );
  const short = secretVariables(config).find(([, value]) => !isRedactable(value));
  if (short)
    return warn(
      `the secret ${short[0]} is a number or shorter than ${MIN_SECRET_LENGTH} characters, so logs would show the secret: use a longer secret`,
    );
  return ok(exists ? file : `${file} not found: the defaults are used`);
};

export const dataDirectory: Check = ({ directory }) => {
  const there = nearest(directory);
  const stat = fs.statSync(there);
  if (!stat.isDirectory())
    return fail(
      `the data directory ${there} is not a directory: move the file to another place, or set data.root_dir`,
    );
  if (!mayWrite(there))
    return fail(
      `the directory ${there} is not writable: change its owner with chown, or set data.root_dir`,
    );
  if (there !== directory) return ok(`${directory}, created by the first cadre serve`);
  if (isOpen(directory))
    return warn(
      `the directory ${directory} is readable for other users: run chmod 700 on the directory (the next start of the server also does this)`,
    );
  return ok(directory);
};

export const diskSpace: Check = ({ directory, config }) => {
  const { bavail, bsize } = fs.statfsSync(nearest(directory));
  const free = Math.floor((bavail * bsize) / MIB);
  // Without room for a write, nothing works, whatever the configuration says.
  const needed = Math.max(1, Math.ceil(config.retention.min_free_bytes / MIB));
  return free < needed
    ? fail(
        `only ${free} MiB of disk space are free, but the server needs ${needed} MiB (retention.min_free_bytes): free some space`,
      )
    : ok(`${free} MiB are free`);
};

export const token: Check = ({ config, directory }) => {
  const file = tokenFileOf(config, directory);
  if (file === null) return ok('set by auth.token');
  if (!fs.existsSync(file)) return ok(`${file}, created by the first cadre serve`);
  readToken(file);
  return ok(file);
};

export const registration: Check = ({ directory, options }) => {
  const registered = findRegistration(directory);
  if (!registered) return ok('no server is registered');
  const { pid } = registered.server;
  return registered.runs
    ? ok(`a server is running (pid ${pid})`)
    : warn(
        `the last server (pid ${pid}) did not shut down cleanly: run ${commandOn('serve', options)} to repair its data`,
      );
};

function hasSecrets(text: string, config: Config): boolean {
  const { token } = config.auth;
  const variables = secretVariables(config);
  return (
    (token !== null && text.includes(token)) ||
    variables.some(([name, value]) => text.includes(name) && text.includes(value))
  );
}

/** The path itself if it exists, else the nearest directory above it that does. */
function nearest(file: string): string {
  return fs.existsSync(file) ? file : nearest(path.dirname(file));
}

function isOpen(file: string): boolean {
  return (fs.statSync(file).mode & 0o077) !== 0;
}

function mayWrite(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.R_OK | fs.constants.W_OK | fs.constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** The oldest Node that runs the server, as in package.json. */
const NODE = [22, 12] as const;

export const node: Check = () => {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const isOld = major < NODE[0] || (major === NODE[0] && minor < NODE[1]);
  if (isOld)
    return fail(`Node ${process.version} is too old: install Node ${NODE.join('.')} or newer`);
  return ok(`${process.version}${isPackaged() ? ', in the executable' : ` (${process.execPath})`}`);
};

/** The programs with which the server finds and ends its children, and locks its data directory. */
const NEEDED = hasProc ? ['/bin/sh', 'flock', 'grep'] : ['/bin/sh', 'ps', 'awk', 'lsof'];

export const prerequisites: Check = ({ io }) => {
  const missing = NEEDED.filter((program) => !findProgram(program, io.env.PATH));
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

/** The sandbox of child processes, found by starting one. */
export const sandbox: Check = async ({ config, directory, io }) => {
  const { mode, network, nests } = config.sandbox;
  if (mode === 'off')
    return ok('off; to check this machine, run CADRE_SANDBOX_MODE=auto cadre doctor');
  const searchPath = io.env.PATH ?? '';
  const { probeBriefly } = await import('../../../core/children/sandbox/run-probe.ts');
  const level = await probeBriefly({ searchPath, network, nests }, io.clock);
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
