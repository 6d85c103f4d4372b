import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { createMountPoints, findExisting } from '../../../../src/core/children/sandbox/files.ts';
import { findGitDirectories } from '../../../../src/core/children/sandbox/git-directories.ts';
import { hiddenEntries, readHostView } from '../../../../src/core/children/sandbox/host-view.ts';
import { tempDirectory } from '../../../support/temp.ts';

function make(root: string, directories: readonly string[]): void {
  for (const one of directories) fs.mkdirSync(path.join(root, one), { recursive: true });
}

describe('the programs of PATH', () => {
  test('A program below the home directory is shown with the files that it needs.', async () => {
    await using home = tempDirectory('home');
    make(home.path, [
      '.nvm/v22/bin',
      'go/bin',
      'conda/bin',
      'conda/lib',
      '.local/bin',
      '.local/share/pipx/x',
    ]);
    fs.symlinkSync('../share/pipx/x/program', path.join(home.path, '.local/bin/program'));
    const entries = ['.nvm/v22/bin', 'go/bin', 'conda/bin', '.local/bin', 'missing'];
    const searchPath = [
      ...entries.map((one) => path.join(home.path, one)),
      '/usr/bin',
      'relative',
    ].join(':');
    const view = await viewOf(home.path, searchPath);
    const shown = view.tools.map((one) => path.relative(home.path, one.path));
    expect(shown.toSorted()).toEqual([
      '.local/bin',
      '.local/share/pipx/x',
      '.nvm/v22',
      'conda',
      'go/bin',
    ]);
  });

  test('A link that leads through a directory with another link is not followed.', async () => {
    await using home = tempDirectory('home');
    make(home.path, ['bin', 'project', 'secrets']);
    fs.symlinkSync('../project/tool/run', path.join(home.path, 'bin/run'));
    fs.symlinkSync('../secrets', path.join(home.path, 'project/tool'));
    const { tools } = await viewOf(home.path, path.join(home.path, 'bin'));
    expect(tools.map((one) => path.relative(home.path, one.path))).toEqual(['bin']);
  });

  test('The links that lead to a path are known, and settings behind two links are not visible.', async () => {
    await using home = tempDirectory('home');
    make(home.path, ['dotfiles', 'deep']);
    const at = (name: string) => path.join(home.path, name);
    fs.writeFileSync(at('deep/real'), '');
    fs.symlinkSync('dotfiles/one', at('.gitconfig'));
    fs.symlinkSync(at('nested/real'), at('dotfiles/one'));
    fs.symlinkSync('deep', at('nested'));
    const [found] = await findExisting([at('.gitconfig')]);
    expect(found).toEqual({
      asked: at('.gitconfig'),
      path: at('deep/real'),
      isDirectory: false,
      links: [at('.gitconfig'), at('dotfiles/one'), at('nested')],
    });
    expect((await viewOf(home.path, '')).homeReadable).toEqual([]);
    fs.rmSync(at('dotfiles/one'));
    fs.writeFileSync(at('dotfiles/one'), '');
    expect(await viewOf(home.path, '')).toMatchObject({
      homeReadable: [{ path: at('dotfiles/one') }],
    });
  });

  test('The directories of PATH that are not visible inside are known.', async () => {
    await using home = tempDirectory('home');
    await using elsewhere = tempDirectory('elsewhere');
    make(home.path, ['bin']);
    const searchPath = [path.join(home.path, 'bin'), elsewhere.path, '/usr/bin'].join(':');
    const view = await viewOf(home.path, searchPath);
    expect(await hiddenEntries(searchPath, view)).toEqual([elsewhere.path]);
  });
});

function viewOf(home: string, searchPath: string) {
  const dataDirectory = path.join(home, 'data');
  return readHostView({
    home,
    dataDirectory,
    worktrees: path.join(dataDirectory, 'w'),
    searchPath,
  });
}

describe('the directories of git', () => {
  const git = (cwd: string, ...words: string[]) =>
    execFileSync('git', words, { cwd, stdio: 'pipe', env: { ...process.env, HOME: cwd } });

  test('A main worktree and a worktree share the directory of git.', async () => {
    await using directory = tempDirectory('git');
    const [repo, tree] = ['repo', 'tree'].map((name) => path.join(directory.path, name)) as [
      string,
      string,
    ];
    make(repo, ['sub']);
    git(repo, 'init', '-q');
    git(
      repo,
      '-c',
      'user.name=a',
      '-c',
      'user.email=b',
      'commit',
      '-q',
      '--allow-empty',
      '-m',
      'one',
    );
    git(repo, 'worktree', 'add', '-q', tree);
    const commonDirectory = path.join(repo, '.git');
    expect(await findGitDirectories(path.join(repo, 'sub'))).toEqual({
      commonDirectory,
      gitDirectory: commonDirectory,
      file: null,
    });
    expect(await findGitDirectories(tree)).toEqual({
      commonDirectory,
      gitDirectory: path.join(commonDirectory, 'worktrees/tree'),
      file: path.join(tree, '.git'),
    });
    expect(await findGitDirectories(directory.path)).toBeNull();
  });

  test('A file .git is not followed if the directory that it names does not point back.', async () => {
    await using directory = tempDirectory('git');
    make(directory.path, ['root', 'secrets/worktrees/x', 'secrets/other']);
    const root = path.join(directory.path, 'root');
    const target = path.join(directory.path, 'secrets/worktrees/x');
    fs.writeFileSync(path.join(root, '.git'), `gitdir: ${target}\n`);
    expect(await findGitDirectories(root)).toBeNull();
    fs.writeFileSync(path.join(target, 'commondir'), '../..\n');
    fs.writeFileSync(path.join(target, 'gitdir'), '/elsewhere/.git\n');
    expect(await findGitDirectories(root)).toBeNull();
    fs.writeFileSync(path.join(target, 'gitdir'), `${path.join(root, '.git')}\n`);
    expect(await findGitDirectories(root)).toMatchObject({
      commonDirectory: path.join(directory.path, 'secrets'),
    });
    fs.writeFileSync(path.join(target, 'commondir'), '../../other\n');
    expect(await findGitDirectories(root)).toBeNull();
    fs.rmSync(path.join(root, '.git'));
    fs.symlinkSync(target, path.join(root, '.git'));
    expect(await findGitDirectories(root)).toBeNull();
  });
});

describe('mount points', () => {
  const point = (file: string, isDirectory: boolean) => ({ path: file, isDirectory });

  test('A link at a mount point is replaced, and nothing is created where it leads.', async () => {
    await using directory = tempDirectory('points');
    make(directory.path, ['own', 'outside']);
    const [own, outside] = ['own', 'outside'].map((name) => path.join(directory.path, name)) as [
      string,
      string,
    ];
    fs.symlinkSync(outside, path.join(own, '.config'));
    fs.symlinkSync(path.join(outside, 'planted'), path.join(own, '.gitconfig'));
    const points = [
      point(path.join(own, '.config'), true),
      point(path.join(own, '.config/git'), true),
      point(path.join(own, '.gitconfig'), false),
    ];
    await createMountPoints(directory.path, points);
    await createMountPoints(directory.path, points);
    expect(fs.readdirSync(outside)).toEqual([]);
    expect(fs.lstatSync(path.join(own, '.config')).isDirectory()).toBe(true);
    expect(fs.lstatSync(path.join(own, '.gitconfig')).isFile()).toBe(true);
  });

  test('No mount point is created or removed behind a link that a program has put in place of a directory.', async () => {
    await using directory = tempDirectory('points');
    make(directory.path, ['own', 'outside/git']);
    const at = (name: string) => path.join(directory.path, name);
    fs.symlinkSync(at('outside'), at('own/.config'));
    await expect(
      createMountPoints(directory.path, [point(at('own/.config/git'), false)]),
    ).rejects.toThrow(/replaced/);
    expect(fs.readdirSync(at('outside'))).toEqual(['git']);
  });
});
