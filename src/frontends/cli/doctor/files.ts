import fs from 'node:fs';
import path from 'node:path';
import { findRegistration } from '../../../core/config/registration.ts';
import { isRedactable, MIN_SECRET_LENGTH, secretVariables } from '../../../core/config/secrets.ts';
import type { Config } from '../../../core/config/schema.ts';
import { configFile } from '../../../core/config/sources.ts';
import { readToken, tokenFileOf } from '../../../core/config/token.ts';
import { type Check, fail, ok, warn } from './check.ts';

const MIB = 1024 ** 2;

export const configuration: Check = ({ found, config, options, world }) => {
  const [first, ...others] = found.problems;
  if (first) {
    const more = others.length > 0 ? `; ${others.length} more, see cadre config check` : '';
    return fail(`${first}${more}`);
  }
  const file = path.resolve(configFile(options, world.env));
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

export const registration: Check = ({ directory }) => {
  const registered = findRegistration(directory);
  if (!registered) return ok('no server is registered');
  const { pid } = registered.server;
  return registered.runs
    ? ok(`a server is running (pid ${pid})`)
    : warn(
        `the last server (pid ${pid}) did not shut down cleanly: start cadre serve to repair its data`,
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
function nearest(place: string): string {
  return fs.existsSync(place) ? place : nearest(path.dirname(place));
}

function isOpen(place: string): boolean {
  return (fs.statSync(place).mode & 0o077) !== 0;
}

function mayWrite(place: string): boolean {
  try {
    fs.accessSync(place, fs.constants.R_OK | fs.constants.W_OK | fs.constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
