import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { expectError } from '../../../support/an-error.ts';
import { endpoints } from '../../../../src/api/index.ts';
import { openSession } from '../../../support/turns.ts';
import {
  cleanUp,
  commit,
  create,
  get,
  git,
  letGo,
  makeRepository,
  read,
  restore,
  sharedWorktreeHarnesses,
  type WorktreeHarness,
  write,
  testWorktreeHarness,
  withTree,
} from '../../../support/worktrees/work.ts';
import { scaled } from '../../../support/patience.ts';

/** Each test runs git some hundred times: a busy machine takes its time. */
const LIMIT_MS = 180_000;

/** A command that leaves a mark where it is run, and passes on what it reads. */
function tripwire(harness: WorktreeHarness, name: string): string {
  const file = path.join(harness.directory, `trip-${name}`);
  const mark = path.join(harness.directory, `ran-${name}`);
  fs.writeFileSync(file, `#!/bin/sh\ntouch '${mark}'\ncat\n`, { mode: 0o755 });
  return file;
}

/** The marks that were left. */
function tripped({ directory }: WorktreeHarness): string[] {
  return fs.readdirSync(directory).filter((name) => name.startsWith('ran-'));
}

/** Everything by which settings of a repository can name a command. */
const COMMANDS: Record<string, (command: string) => string> = {
  'core.fsmonitor': (command) => command,
  'core.sshCommand': (command) => command,
  'core.editor': (command) => command,
  'core.pager': (command) => command,
  'core.askPass': (command) => command,
  'core.gitProxy': (command) => command,
  'core.alternateRefsCommand': (command) => command,
  'sequence.editor': (command) => command,
  'credential.helper': (command) => command,
  'diff.external': (command) => command,
  'diff.trip.command': (command) => command,
  'diff.trip.textconv': (command) => command,
  'merge.trip.driver': (command) => command,
  'filter.trip.clean': (command) => command,
  'filter.trip.smudge': (command) => command,
  'filter.drip.process': (command) => command,
  'gpg.program': (command) => command,
  'uploadpack.packObjectsHook': (command) => command,
  'remote.origin.uploadpack': (command) => command,
  'remote.origin.receivepack': (command) => command,
  'remote.origin.url': (command) => `ext::${command}`,
  'remote.origin.vcs': () => 'ext',
  'gc.recentObjectsHook': (command) => command,
  'submodule.lib.update': (command) => `!${command}`,
  'interactive.diffFilter': (command) => command,
  'trailer.x.command': (command) => command,
  'alias.status': (command) => `!${command}`,
  'alias.worktree': (command) => `!${command}`,
};

/** Plants all of that in a repository, as somebody who may write into it could. */
function plant(harness: WorktreeHarness): void {
  const { repo } = harness;
  write(repo, {
    '.gitattributes':
      '* filter=trip diff=trip merge=trip ident\n*.p filter=drip\n*.crlf eol=crlf\n',
    'x.p': 'p\n',
  });
  commit(repo, 'with attributes');
  for (const [name, valueOf] of Object.entries(COMMANDS)) {
    const value = valueOf(tripwire(harness, name));
    // By an included file, too, which git reads as its own.
    fs.appendFileSync(path.join(repo, '.git/included'), sectionOf(name, value));
    fs.appendFileSync(path.join(repo, '.git/config'), sectionOf(name, value));
  }
  const more = `[include]\n\tpath = included\n[core]\n\thooksPath = ${harness.directory}/hooks\n`;
  const promisor = `[extensions]\n\tpartialClone = origin\n[remote "origin"]\n\tpromisor = true\n`;
  const signing = `[commit]\n\tgpgSign = true\n[protocol "ext"]\n\tallow = always\n[core]\n\trepositoryformatversion = 1\n`;
  fs.appendFileSync(path.join(repo, '.git/config'), more + promisor + signing);
  const hooks = ['post-checkout', 'pre-commit', 'reference-transaction', 'post-index-change'];
  for (const directory of [path.join(repo, '.git/hooks'), path.join(harness.directory, 'hooks')])
    for (const hook of [...hooks, 'pre-auto-gc', 'post-merge', 'fsmonitor-watchman']) {
      fs.mkdirSync(directory, { recursive: true });
      fs.copyFileSync(tripwire(harness, `hook-${hook}`), path.join(directory, hook));
      fs.chmodSync(path.join(directory, hook), 0o755);
    }
}

function sectionOf(name: string, value: string): string {
  const parts = name.split('.');
  const key = parts.at(-1);
  const middle = parts.slice(1, -1).join('.');
  const section = middle === '' ? parts[0] : `${parts[0]} "${middle}"`;
  return `[${section}]\n\t${key} = ${JSON.stringify(value)}\n`;
}

describe('a command that a repository names', { timeout: scaled(LIMIT_MS) }, () => {
  test('No operation on a worktree runs a command of the repository.', async () => {
    const harness = await testWorktreeHarness();
    plant(harness);
    const tree = await create(harness);
    write(tree.path, { 'a.txt': 'changed\n', 'new.p': 'new\n', 'd.crlf': 'a\nb\r\n' });
    git(tree.path, '-c', 'core.hooksPath=/dev/null', 'rev-parse', 'HEAD');
    expect((await letGo(harness, tree)).status).toBe('cleaned');
    const back = await restore(harness, tree);
    expect(read(back.path, 'a.txt')).toBe('changed\n');
    expect(read(back.path, 'd.crlf')).toBe('a\nb\r\n');
    const body = { dry_run: false };
    const { worktrees } = await harness.client.call(endpoints.collectWorktrees, { body });
    expect(worktrees.map(({ status }) => status)).toEqual(['cleaned']);
    expect(tripped(harness)).toEqual([]);
  });

  test('A missing object that a remote promises is a refusal, and runs no command.', async () => {
    const harness = await testWorktreeHarness();
    const blob = git(harness.repo, 'rev-parse', 'HEAD:a.txt');
    plant(harness);
    const file = path.join(harness.repo, '.git/objects', blob.slice(0, 2), blob.slice(2));
    fs.rmSync(file);
    await expectError(create(harness), 'conflict');
    expect(tripped(harness)).toEqual([]);
  });

  test('A filter runs while it is allowed for the repository, until it changes.', async () => {
    const harness = await testWorktreeHarness();
    write(harness.repo, { '.gitattributes': '*.up filter=upper\n', 'kept.up': 'KEPT\n' });
    commit(harness.repo, 'with attributes');
    git(harness.repo, 'config', 'filter.upper.smudge', 'tr A-Z a-z');
    const raw = await create(harness, { worktree_name: 'raw' });
    expect(read(raw.path, 'kept.up')).toBe('KEPT\n');
    const body = { repo_root: harness.repo };
    const { brings } = await harness.client.call(endpoints.lookAtBrought, { body });
    expect(brings).toMatchObject([
      { kind: 'filters', text: 'filter.upper.smudge = "tr A-Z a-z"\n', trusted: false },
    ]);
    const sha256 = brings[0]?.sha256 ?? '';
    await harness.client.call(endpoints.trustContent, { body: { ...body, sha256 } });
    const smudged = await create(harness, { worktree_name: 'smudged' });
    expect(read(smudged.path, 'kept.up')).toBe('kept\n');
    git(harness.repo, 'config', 'filter.upper.smudge', 'sh -c "touch ran; cat"');
    const later = await create(harness, { worktree_name: 'later' });
    expect(read(later.path, 'kept.up')).toBe('KEPT\n');
  });

  test('No command of a foreign repository in the place of a submodule runs.', async () => {
    const harness = await testWorktreeHarness();
    const library = makeRepository(path.join(harness.directory, 'library'));
    const allow = ['-c', 'protocol.file.allow=always'];
    git(harness.repo, ...allow, 'submodule', '--quiet', 'add', library, 'lib');
    commit(harness.repo, 'with a submodule');
    const tree = await create(harness);
    const fake = makeRepository(path.join(harness.directory, 'fake'));
    git(fake, 'config', 'filter.trip.clean', tripwire(harness, 'clean'));
    git(fake, 'config', 'core.fsmonitor', tripwire(harness, 'fsmonitor'));
    fs.writeFileSync(path.join(fake, '.git/info/attributes'), '* filter=trip\n');
    write(tree.path, { 'lib/.git': `gitdir: ${fake}/.git\n`, 'lib/a.txt': 'changed\n' });
    expect(await letGo(harness, tree)).toMatchObject({
      status: 'failed',
      diagnostics: [expect.stringContaining('(lib)')],
    });
    expect(tripped(harness)).toEqual([]);
  });

  test('A bare repository among the files of another one is refused, and runs no command.', async () => {
    const harness = await testWorktreeHarness();
    const bare = path.join(harness.repo, 'vendor/evil');
    git(harness.directory, 'clone', '--quiet', '--bare', harness.repo, bare);
    git(bare, 'config', 'core.fsmonitor', tripwire(harness, 'fsmonitor'));
    git(bare, 'config', 'core.worktree', harness.repo);
    git(bare, 'config', 'core.bare', 'false');
    const { id } = await openSession(harness.client, bare);
    await expectError(
      create({ ...harness, session: id }),
      'invalid',
      'a bare repository has to be named by its own directory',
    );
    expect(tripped(harness)).toEqual([]);
  });
});

/** Things in place of a file that would make a reader wait or lead it elsewhere. */
const ODD: Record<string, (file: string) => void> = {
  'a FIFO': (file) => void execFileSync('mkfifo', [file]),
  'a directory': (file) => fs.mkdirSync(file),
  'a link to a device': (file) => fs.symlinkSync('/dev/zero', file),
};

/** The files that the server reads for a worktree and that its agent can write. */
const PLACES: Record<string, (tree: string, admin: string, repo: string) => string> = {
  'the lock of the worktree': (_tree, admin) => path.join(admin, 'locked'),
  'its HEAD': (_tree, admin) => path.join(admin, 'HEAD'),
  'its index': (_tree, admin) => path.join(admin, 'index'),
  'its log': (_tree, admin) => path.join(admin, 'logs/HEAD'),
  'its note of where it lies': (_tree, admin) => path.join(admin, 'gitdir'),
  'a note beside HEAD': (_tree, admin) => path.join(admin, 'MERGE_HEAD'),
  'its .git file': (tree) => path.join(tree, '.git'),
  'the log of its branch': (_tree, _admin, repo) =>
    path.join(repo, '.git/logs/refs/heads/cadre/tree'),
  'its ignore file': (tree) => path.join(tree, 'sub/.gitignore'),
  'its attributes': (tree) => path.join(tree, '.gitattributes'),
  'the exclude file of the repository': (_tree, _admin, repo) =>
    path.join(repo, '.git/info/exclude'),
};

describe('files that an agent can write', { timeout: scaled(LIMIT_MS) }, () => {
  const onShared = sharedWorktreeHarnesses();
  const isWhole = process.env.WORKTREE_PLACES === 'all';
  // In the suite each place has a FIFO, for which a reader waits, and two have each of the others.
  const oddAt = (at: number) =>
    Object.keys(ODD).filter((_, odd) => isWhole || odd === 0 || (at < 4 && odd === 1 + (at % 2)));
  const rows = Object.keys(PLACES).flatMap((place, at) => oddAt(at).map((odd) => [place, odd]));
  test.for(rows)('The server keeps running if %s is %s.', async ([place = '', odd = '']) => {
    const { harness, tree } = await withTree(onShared());
    write(tree.path, { mine: 'mine\n' });
    const admin = git(tree.path, 'rev-parse', '--absolute-git-dir');
    const file = PLACES[place]?.(tree.path, admin, harness.repo) ?? '';
    fs.rmSync(file, { force: true, recursive: true });
    ODD[odd]?.(file);
    const cleanup = await letGo(harness, tree);
    const now = await get(harness, tree);
    if (cleanup.status === 'cleaned') {
      expect(git(harness.repo, 'show', `${now.archive_ref}:mine`)).toBe('mine');
      return;
    }
    expect(cleanup.status).toBe('failed');
    expect(cleanup.diagnostics[0]).toContain(path.basename(file));
    expect(read(tree.path, 'mine')).toBe('mine\n');
    // Once the obstructing file is removed, the cleanup can be tried again.
    if (place.includes('repository')) return;
    fs.rmSync(file, { recursive: true });
    expect(['cleaned', 'failed']).toContain((await cleanUp(harness, tree)).status);
  });

  test('The creation of a worktree is refused if the settings of its repository are a FIFO.', async () => {
    const harness = await onShared();
    const config = path.join(harness.repo, '.git/config');
    fs.rmSync(config);
    execFileSync('mkfifo', [config]);
    await expectError(create(harness), 'conflict', '.git/config is not a regular file');
  });
});
