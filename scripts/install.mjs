// Installs what was built below a prefix, or removes what it has installed there.
//
//   node scripts/install.mjs install PREFIX     DESTDIR in the environment goes before it
//   node scripts/install.mjs uninstall PREFIX
//
// The list of the installed files, with their digests, is PREFIX/share/doc/cadre/installed: a file that has been changed
// since, or that was never installed, is left where it is. The directories that were made for them are beside that list in
// installed-directories, and are removed once they are empty. scripts/packages/install.sh keeps the same two lists.
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeDirectory } from '../src/core/lib/make-directory.ts';
import { layout } from './layout.ts';

const LIST = 'share/doc/cadre/installed';
const DIRECTORIES = 'share/doc/cadre/installed-directories';
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
  const made = missingDirectories(place, [LIST, ...files.map(({ to }) => to)]);
  // The lists come first, so that what has been installed when the disk is full can be uninstalled.
  writeList(place, new Map([...before, ...digests]));
  const directories = [...new Set([...directoriesIn(place), ...made])].toSorted((a, b) =>
    a < b ? -1 : 1,
  );
  writeText(place, DIRECTORIES, directories.map((directory) => `${directory}\n`).join(''));
  for (const { from, to, mode } of files) replace(from, join(place, to), mode);
  // Files of an older version that this version does not have.
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
  const made = directoriesIn(place);
  fs.rmSync(join(place, LIST));
  fs.rmSync(join(place, DIRECTORIES), { force: true });
  removeEmpty(place, dirname(LIST));
  // A directory comes after those in it.
  for (const directory of made.toReversed()) removeIfEmpty(join(place, directory));
  console.log(`install: removed cadre from ${place}`);
}

/** The digest of each file that is on the list, by its path below the place. */
function installedIn(place) {
  const list = join(place, LIST);
  if (!fs.existsSync(list)) return new Map();
  const lines = fs.readFileSync(list, 'utf8').trim().split('\n');
  return new Map(lines.map((line) => [line.slice(66), line.slice(0, 64)]));
}

/** The directories that were made for the files, by their paths below the place; "." is the place itself. */
function directoriesIn(place) {
  const list = join(place, DIRECTORIES);
  return fs.existsSync(list) ? fs.readFileSync(list, 'utf8').split('\n').filter(Boolean) : [];
}

/** The directories of the files that do not exist yet. */
function missingDirectories(place, files) {
  const above = (file) => (file === '.' ? [] : [dirname(file), ...above(dirname(file))]);
  const all = new Set(files.flatMap((file) => above(file)));
  return [...all].filter((directory) => !fs.existsSync(join(place, directory)));
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
  const lines = [...digests].map(([file, digest]) => `${digest}  ${file}\n`);
  writeText(place, LIST, lines.join(''));
}

function writeText(place, to, text) {
  const file = join(place, to);
  makeDirectory(dirname(file), 0o777);
  fs.writeFileSync(`${file}.new-${process.pid}`, text);
  fs.renameSync(`${file}.new-${process.pid}`, file);
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
  if (directory.endsWith('/cadre')) removeIfEmpty(join(place, directory));
}

function removeIfEmpty(directory) {
  try {
    fs.rmdirSync(directory);
  } catch (error) {
    if (!['ENOENT', 'ENOTEMPTY', 'EEXIST', 'ENOTDIR', 'EBUSY'].includes(error.code)) throw error;
  }
}

function digestOf(file) {
  return createHash('sha256').update(fs.readFileSync(file)).digest('hex');
}
