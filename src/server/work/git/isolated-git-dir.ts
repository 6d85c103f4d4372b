import fs from 'node:fs/promises';
import path from 'node:path';
import { readForeignFile } from '../../../core/lib/foreign-file.ts';
import { entryKindOf } from './foreign.ts';
import { bytePath, type Git, nulTerminated } from './git.ts';
import type { Repository } from './repository.ts';

/** The settings of a repository that control how files are read and written, and that run no program. */
const COPIED =
  /^(core\.(autocrlf|bigfilethreshold|checkstat|eol|filemode|ignorecase|precomposeunicode|protecthfs|protectntfs|sparsecheckout|sparsecheckoutcone|symlinks|trustctime)|extensions\.objectformat)$/;
/** The values of those settings are one word each; a setting with any other value is not copied. */
const WORD = /^[\w.-]*$/;
/** The maximum size of a settings or patterns file, in bytes. */
const SETTINGS_BYTES = 4 * 1024 * 1024;
/** The maximum size of an index, and of each shared part of a split index, in bytes. */
export const INDEX_BYTES = 1024 * 1024 * 1024;

/** Attributes that turn off every conversion: line endings, encodings, keywords and filters. */
const AS_THEY_ARE = '* -text !eol -ident !filter !working-tree-encoding\n';

/** A setting of a repository: its name, in lower case except for the subsection in the middle, and its value. */
export type Setting = readonly [name: string, value: string];

/** Returns the settings of the repository or one of its worktrees, without the settings of the user and the machine. */
export async function ownSettings(
  repository: Repository,
  gitDir: string | null = null,
): Promise<Setting[]> {
  return (await settingsAt(repository, gitDir)).own;
}

/** Returns these settings, and all that apply there: the settings of the machine and the user come first. */
export async function settingsAt(
  { git, commonDir }: Repository,
  gitDir: string | null = null,
): Promise<{ own: Setting[]; all: Setting[] }> {
  const local = git.with({ gitDir: gitDir ?? commonDir });
  const listed = (await local.text(['config', '--list', '-z', '--show-scope'])).split('\0');
  const own: Setting[] = [];
  const all: Setting[] = [];
  for (let at = 0; at + 1 < listed.length; at += 2) {
    const entry = listed[at + 1] ?? '';
    const end = entry.indexOf('\n');
    const setting: Setting =
      end < 0 ? [entry, 'true'] : [entry.slice(0, end), entry.slice(end + 1)];
    all.push(setting);
    if (listed[at] === 'local' || listed[at] === 'worktree') own.push(setting);
  }
  return { own, all };
}

/** Returns the value of a setting that counts, which is its last one. */
export function lastOf(settings: readonly Setting[], name: string): string | undefined {
  return settings.findLast(([one]) => one === name)?.[1];
}

export function filtersIn(settings: readonly Setting[]): Setting[] {
  return settings.filter(([name]) => name.startsWith('filter.'));
}

/** Whether a boolean setting is on; its last value counts. Git takes any number but 0 for true. */
export function isOn(settings: readonly Setting[], name: string): boolean {
  const value = lastOf(settings, name) ?? '';
  return /^(true|yes|on|[+-]?0*[1-9]\d*[kmg]?)$/i.test(value.trim());
}

/** Returns the filters of a repository that a person has allowed. */
export type FiltersOf = (settings: readonly Setting[]) => Promise<readonly Setting[]>;

export interface IsolatedGit {
  /** Git with a git directory of cadre's own. */
  isolated: Git;
  settings: readonly Setting[];
  /** Whether the repository has filters that do not run. */
  isFiltered: boolean;
}

/**
 * Makes a git directory of cadre's own, through which git works on the files of a repository. It copies only the
 * settings that control how files are read and written, so no command that the repository names can run, even if its
 * settings change meanwhile. `filters` are the exception: a person has allowed them. With `asTheyAre`, git reads
 * and writes files byte for byte. `scratch` is a directory of cadre's; the index is the file `index` in it.
 */
export async function openIsolatedGitDir(
  repository: Repository,
  about: {
    /** Git's own directory for the checkout whose files are worked on. */
    gitDir?: string | null;
    files?: string | null;
    head?: string | null;
    scratch: string;
    /** The settings that apply there; only the safe ones are copied. Without them git is asked. */
    settings?: readonly Setting[] | undefined;
    filters?: FiltersOf;
    asTheyAre?: boolean;
  },
): Promise<IsolatedGit> {
  const { git, commonDir } = repository;
  const { gitDir = null, files = null, head = null, scratch, asTheyAre = false } = about;
  const all = about.settings ?? (await ownSettings(repository, gitDir));
  const filters = (await about.filters?.(all)) ?? [];
  const isolated = path.join(scratch, 'git');
  for (const directory of ['refs', 'info'])
    await fs.mkdir(path.join(isolated, directory), { recursive: true, mode: 0o700 });
  const settings = all.filter(([name, value]) => COPIED.test(name) && WORD.test(value));
  const config = asTheyAre ? [...settings, ['core.autocrlf', 'false'] as const] : settings;
  await fs.writeFile(path.join(isolated, 'config'), configText([...config, ...filters]));
  await fs.writeFile(path.join(isolated, 'HEAD'), `${head ?? 'ref: refs/heads/none'}\n`);
  const copy = async (from: string, name: string, maxBytes: number, more = '') => {
    const content = await readForeignFile(from, name, { maxBytes });
    if (content === null && more === '') return;
    await fs.writeFile(
      path.join(isolated, name),
      Buffer.concat([content ?? Buffer.alloc(0), Buffer.from(`\n${more}`)]),
    );
  };
  await copy(commonDir, 'info/exclude', SETTINGS_BYTES);
  await copy(commonDir, 'info/attributes', SETTINGS_BYTES, asTheyAre ? AS_THEY_ARE : '');
  if (gitDir !== null) {
    await copy(gitDir, 'info/sparse-checkout', SETTINGS_BYTES);
    // A split index keeps part of its entries in such a file.
    for (const name of await fs.readdir(gitDir))
      if (/^sharedindex\.[0-9a-f]+$/.test(name)) {
        const content = await readForeignFile(gitDir, name, { maxBytes: INDEX_BYTES });
        if (content !== null) await fs.writeFile(path.join(isolated, name), content);
      }
  }
  const location = {
    directory: files ?? commonDir,
    gitDir: isolated,
    workTree: files ?? undefined,
    index: path.join(scratch, 'index'),
    objects: path.join(commonDir, 'objects'),
  };
  const isFiltered = filtersIn(all).length > filters.length;
  return { isolated: git.at(location), settings: all, isFiltered };
}

function configText(settings: readonly Setting[]): string {
  const own: Setting[] = [
    [
      'core.repositoryformatversion',
      settings.some(([name]) => name.startsWith('extensions.')) ? '1' : '0',
    ],
    ['core.bare', 'false'],
  ];
  return [...own, ...settings]
    .map(([name, value]) => {
      const first = name.indexOf('.');
      const last = name.lastIndexOf('.');
      const middle = first === last ? '' : ` ${quotedValue(name.slice(first + 1, last))}`;
      return `[${name.slice(0, first)}${middle}]\n\t${name.slice(last + 1)} = ${quotedValue(value)}\n`;
    })
    .join('');
}

function quotedValue(text: string): string {
  const escaped = text.replaceAll(/["\\]/g, '\\$&').replaceAll('\n', '\\n').replaceAll('\t', '\\t');
  return `"${escaped}"`;
}

/**
 * Copies the index, so that no other process writes to it, and clears the flags that hide changes of existing files;
 * returns the names of the files that are excluded from the checkout and do not exist, and its entries as
 * `git ls-files -s -z` prints them, which are null if git was not asked for them.
 */
export async function copyIndex(
  isolated: Git,
  gitDir: string | null,
  head: string | null,
): Promise<{ absent: string[]; listed: string[] | null }> {
  const { workTree } = isolated.location;
  const isCopied = gitDir !== null && (await copyIndexFile(isolated, gitDir));
  if (!isCopied) await isolated.text(['read-tree', head ?? '--empty']);
  if (!isCopied || workTree === undefined) return { absent: [], listed: null };
  return unhideExisting(isolated, workTree);
}

/** Copies the index as it is; returns whether there is one. */
export async function copyIndexFile({ location }: Git, gitDir: string): Promise<boolean> {
  const copy = location.index ?? '';
  const content = await readForeignFile(gitDir, 'index', { maxBytes: INDEX_BYTES });
  if (content === null) return false;
  // Git trusts an entry that is older than the index, so the copy must not be younger than the original.
  const { mtimeMs } = await fs.lstat(path.join(gitDir, 'index'));
  await fs.writeFile(copy, content);
  await fs.utimes(copy, Math.floor(mtimeMs / 1000), Math.floor(mtimeMs / 1000));
  return true;
}

/** Clears the flags assume-unchanged and skip-worktree of every existing file, so that git compares it. */
async function unhideExisting(
  isolated: Git,
  files: string,
): Promise<{ absent: string[]; listed: string[] }> {
  const entries = await isolated.entries(['ls-files', '-v', '-s', '-z']);
  const absent: string[] = [];
  for (const [flag, pattern] of [
    ['--no-assume-unchanged', /^[a-z] /],
    ['--no-skip-worktree', /^[Ss] /],
  ] as const) {
    const existing: string[] = [];
    for (const entry of entries.filter((one) => pattern.test(one))) {
      const name = entry.slice(entry.indexOf('\t') + 1);
      if ((await entryKindOf(bytePath(files, name))) !== null) existing.push(name);
      else if (flag === '--no-skip-worktree') absent.push(name);
    }
    if (existing.length > 0)
      await isolated.text(['update-index', flag, '-z', '--stdin'], nulTerminated(existing));
  }
  return { absent, listed: entries.map((entry) => entry.slice(2)) };
}
