// Installs what was built below a prefix, or removes what it has installed there.
//
//   node scripts/install.mjs install PREFIX     DESTDIR in the environment goes before it
//   node scripts/install.mjs uninstall PREFIX
//
// The list of the installed files, with their digests, is PREFIX/share/doc/cadre/installed: a file that has been changed
// since, or that was never installed, is left where it is.
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeDirectory } from '../src/core/lib/make-directory.ts';
import { layout } from './layout.mjs';

const LIST = 'share/doc/cadre/installed';
const root = dirname(dirname(fileURLToPath(import.meta.url)));
const [action, prefix] = process.argv.slice(2);

try {
  if (!prefix || !['install', 'uninstall'].includes(action))
    throw new Error('usage: install PREFIX, or uninstall PREFIX');
  // All users may read what is installed, whatever the user who installs it lets others read of new files.
  process.umask(0o022);
  // With DESTDIR the prefix is a place in another tree, where an absolute path is meant.
  const place = join(process.env.DESTDIR ?? '', resolve(withHome(prefix)));
  if (action === 'install') install(place);
  else uninstall(place);
} catch (error) {
  console.error(`install: ${error.message}`);
  process.exitCode = 1;
}

// Not every shell replaces the ~ of PREFIX=~/.local.
function withHome(prefix) {
  return prefix.replace(/^~(?=\/|$)/, homedir());
}

function install(place) {
  const before = installedIn(place);
  const files = layout(root, join(root, 'out', 'cadre'));
  const digests = new Map(files.map(({ from, to }) => [to, digestOf(from)]));
  // The list comes first, so that what has been installed when the disk is full can be uninstalled.
  writeList(place, new Map([...before, ...digests]));
  for (const { from, to, mode } of files) replace(from, join(place, to), mode);
  // What an older version had and this one has not.
  for (const [to, digest] of before) if (!digests.has(to)) removeOwn(place, to, digest);
  writeList(place, digests);
  console.log(
    `install: installed ${join(place, 'bin', 'cadre')} and ${files.length - 1} other files in ${place}`,
  );
}

function uninstall(place) {
  const files = installedIn(place);
  if (files.size === 0)
    throw new Error(`no installation found in ${place}: ${LIST} does not exist`);
  for (const [to, digest] of files) removeOwn(place, to, digest);
  fs.rmSync(join(place, LIST));
  removeEmpty(place, dirname(LIST));
  console.log(`install: removed cadre from ${place}`);
}

/** The digest of each file that is on the list, by its path below the place. */
function installedIn(place) {
  const list = join(place, LIST);
  if (!fs.existsSync(list)) return new Map();
  const lines = fs.readFileSync(list, 'utf8').trim().split('\n');
  return new Map(lines.map((line) => [line.slice(66), line.slice(0, 64)]));
}

// A program that is running cannot be written to; a rename replaces it.
function replace(from, to, mode) {
  makeDirectory(dirname(to), 0o777);
  const fresh = `${to}.new-${process.pid}`;
  try {
    fs.copyFileSync(from, fresh);
    fs.chmodSync(fresh, mode);
    fs.renameSync(fresh, to);
  } finally {
    fs.rmSync(fresh, { force: true });
  }
}

function writeList(place, digests) {
  const to = join(place, LIST);
  const lines = [...digests].map(([file, digest]) => `${digest}  ${file}\n`);
  makeDirectory(dirname(to), 0o777);
  fs.writeFileSync(`${to}.new-${process.pid}`, lines.join(''));
  fs.renameSync(`${to}.new-${process.pid}`, to);
}

function removeOwn(place, to, digest) {
  const file = join(place, to);
  if (!fs.existsSync(file)) return;
  if (digestOf(file) !== digest) {
    console.warn(`install: kept ${file}: the file was changed after the installation`);
    return;
  }
  fs.rmSync(file);
  removeEmpty(place, dirname(to));
}

/** Removes a directory below the place that is named after cadre, once it is empty; others are for all programs. */
function removeEmpty(place, directory) {
  if (!directory.endsWith('/cadre')) return;
  if (fs.existsSync(join(place, directory)) && fs.readdirSync(join(place, directory)).length === 0)
    fs.rmdirSync(join(place, directory));
}

function digestOf(file) {
  return createHash('sha256').update(fs.readFileSync(file)).digest('hex');
}
