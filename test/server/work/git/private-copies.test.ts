import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { entriesOf } from '../../../../src/server/work/git/changes.ts';
import { Git, toBytes } from '../../../../src/server/work/git/git.ts';
import { blobIdsOf, writeWorktreeTree } from '../../../../src/server/work/git/private-copies.ts';
import { testDirectory } from '../../../support/temp.ts';
import { git, makeRepository, write } from '../../../support/worktrees/work.ts';

/** A repository, git that works on it with an index of its own, and a directory outside with a secret file. */
function opened() {
  const place = testDirectory('copies');
  const repo = makeRepository(path.join(place, 'repo'));
  const [outside, scratch] = [path.join(place, 'outside'), path.join(place, 'scratch')];
  for (const one of [outside, scratch]) fs.mkdirSync(one);
  write(outside, { secret: 'SECRET\n' });
  const index = path.join(scratch, 'index');
  fs.copyFileSync(path.join(repo, '.git/index'), index);
  const location = { directory: repo, gitDir: path.join(repo, '.git'), workTree: repo, index };
  const isolated = new Git({ marker: 'x', signal: new AbortController().signal }, location);
  return { repo, outside, scratch, isolated };
}

function isThere(...names: string[]) {
  return names.map((name) => ({ name, isThere: true }));
}

test('A directory that was replaced by a link after git listed its files gives none of the files behind the link.', async () => {
  const { repo, outside, scratch, isolated } = opened();
  fs.symlinkSync(outside, path.join(repo, 'd'));
  const names = ['d/secret', '../outside/secret', 'd', 'a.txt'];
  const entries = await entriesOf(isolated, repo, isThere(...names));
  const zeros = '0'.repeat(40);
  expect(entries).toEqual([
    `0 ${zeros}\td/secret`,
    `0 ${zeros}\t../outside/secret`,
    `120000 ${hashOf(outside)}\td`,
    `100644 ${hashOf('one\n')}\ta.txt`,
  ]);
  expect(objectsOf(repo)).not.toContain(hashOf('SECRET\n'));
  expect(await blobIdsOf(repo, names, 40)).toEqual([null, null, null, hashOf('one\n')]);
  expect(fs.readdirSync(scratch)).toEqual(['index']);
});

test('Files of every kind and size are written as they are on the disk.', async () => {
  const { repo, isolated } = opened();
  const large = 'x'.repeat(3 * 1024 * 1024 + 1);
  write(repo, { empty: '', 'deep/er/large': large, run: '#!/bin/sh\r\n' });
  fs.chmodSync(path.join(repo, 'run'), 0o755);
  fs.symlinkSync('nowhere/é', path.join(repo, 'link'));
  const odd = Buffer.from('odd \xff"\n', 'latin1');
  fs.writeFileSync(Buffer.concat([Buffer.from(`${repo}/`), odd]), 'odd\n');
  execFileSync('mkfifo', [path.join(repo, 'fifo')]);
  const many = Array.from({ length: 300 }, (_, at) => `many/${at}`);
  write(repo, Object.fromEntries(many.map((name) => [name, `${name}\n`])));
  const names = ['empty', 'deep/er/large', 'run', 'link', odd.toString('latin1'), 'fifo', 'gone'];
  const entries = await entriesOf(isolated, repo, isThere(...names, ...many));
  expect(entries).toEqual([
    `0 ${'0'.repeat(40)}\tfifo`,
    `0 ${'0'.repeat(40)}\tgone`,
    `100644 ${hashOf('')}\tempty`,
    `100644 ${hashOf(large)}\tdeep/er/large`,
    `100755 ${hashOf('#!/bin/sh\r\n')}\trun`,
    `120000 ${hashOf('nowhere/é')}\tlink`,
    `100644 ${hashOf('odd\n')}\t${odd.toString('latin1')}`,
    ...many.map((name) => `100644 ${hashOf(`${name}\n`)}\t${name}`),
  ]);
  expect(git(repo, 'cat-file', '-s', hashOf(large))).toBe(String(large.length));
});

test('The tree of a worktree has converted and filtered files, and nothing behind a link.', async () => {
  const { repo, outside, isolated } = opened();
  write(repo, {
    '.gitattributes': '*.crlf text\n*.up filter=up\n',
    'tools/up.sh': 'tr a-z A-Z\n',
    'sub/a.crlf': 'one\r\ntwo\r\n',
    'b.up': 'loud\n',
  });
  fs.symlinkSync(outside, path.join(repo, 'd'));
  fs.rmSync(path.join(repo, 'sub/b.txt'));
  const filter = ['filter.up.clean', 'sh tools/up.sh'] as const;
  git(repo, 'config', ...filter);
  const settings = [filter];
  const names = ['.gitattributes', 'd', 'd/new', 'd/secret', 'sub/a.crlf', 'sub/b.txt', 'b.up'];
  const tree = await writeWorktreeTree({ isolated, settings, listed: null }, repo, names);
  expect(git(repo, 'ls-tree', '-r', '--name-only', tree).split('\n')).toEqual([
    '.gitattributes',
    'a.txt',
    'b.up',
    'd',
    'sub/a.crlf',
  ]);
  expect(git(repo, 'cat-file', 'blob', `${tree}:sub/a.crlf`)).toBe('one\ntwo');
  expect(git(repo, 'cat-file', 'blob', `${tree}:b.up`)).toBe('LOUD');
  expect(git(repo, 'cat-file', 'blob', `${tree}:d`)).toBe(outside);
});

function hashOf(content: string): string {
  const input = Buffer.from(toBytes(content), 'latin1');
  return execFileSync('git', ['hash-object', '--stdin'], { input, encoding: 'utf8' }).trim();
}

function objectsOf(repo: string): string {
  return git(repo, 'cat-file', '--batch-all-objects', '--batch-check');
}
