import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { array, constantFrom, oneof, sample, stringMatching } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findProgram } from '../../src/lib/find-program.ts';
import { fitsAny, misfitOf, readPattern } from '../../src/rules/command-pattern.ts';
import { formsOf } from '../../src/rules/programs.ts';
import { readCommand } from '../../src/rules/shell-words.ts';
import { tempDirectory } from '../support/temp.ts';
import { hostileCommands, usualRules } from './hostile-commands.ts';

/** Whether a rule to allow commands of this pattern would allow the command. */
function allows(pattern: string, command: string): boolean {
  const read = readPattern(pattern, 'strict');
  const words = readCommand(command);
  return 'words' in read && 'words' in words && misfitOf(read, words.words) === null;
}

/** Whether a rule to deny commands of this pattern would deny the command. */
function denies(pattern: string, command: string): boolean {
  const read = readPattern(pattern, 'any');
  const words = readCommand(command);
  return 'words' in read && 'words' in words && fitsAny(read, formsOf(words.words));
}

describe('a hostile command', () => {
  it('is one of more than 200.', () => {
    expect(new Set(hostileCommands).size).toBeGreaterThan(200);
  });

  it.each(hostileCommands.map((command) => [JSON.stringify(command).slice(0, 100), command]))(
    'passes none of the usual rules: %s',
    (_shown, command) => {
      expect(usualRules.filter((pattern) => allows(pattern, command))).toEqual([]);
    },
  );
});

describe('a usual command', () => {
  it.each([
    ['git status', 'git status'],
    ['git status', '  git   status '],
    ['git log **', 'git log'],
    ['git log **', 'git log main src/a.ts'],
    ['git commit -m *', "git commit -m 'fix: the list, again'"],
    ['git commit -m *', 'git commit -m "fix it"'],
    ['find . -name *', "find . -name '*.ts'"],
    ['go test ./...', 'go test ./...'],
    ['npm run build', "/bin/bash -lc 'npm run build'"],
    ['cat src/*', 'cat src/a/b.ts'],
    ['curl https://example.com/*', 'curl https://example.com/a'],
    ['bash scripts/test.sh', 'bash scripts/test.sh'],
    ['pytest **', 'pytest test_a.py::test_b'],
    ['git show *', 'git show HEAD:src/a.ts'],
    ['go vet **', 'go vet ./...'],
    ['ls *.md', 'ls a.md'],
    ['rm .git/*', 'rm .git/index.lock'],
    ['git log --author=*', 'git log --author=me'],
  ])('passes the rule "%s": %s', (pattern, command) => {
    expect(allows(pattern, command)).toBe(true);
  });
});

describe('a rule to allow', () => {
  it.each([
    ['*', 'has to name the program'],
    ['**', 'has to name the program'],
    ['g* status', 'has to name the program'],
    ['git **', 'name that'],
    ['git *', 'name that'],
    ['git -C * status', 'name that'],
    ['npm run *', 'runs what its arguments say'],
    ['git submodule **', 'runs what its arguments say'],
    ['bash **', 'runs what its arguments say'],
    ['/usr/bin/env *', 'runs what its arguments say'],
    ['python3 *', 'runs what its arguments say'],
    ['xargs *', 'runs what its arguments say'],
    ['ls ** x', 'has to be the last'],
    ['/usr/bin/python3.12 *', 'runs what its arguments say'],
    ['lua5.4 *', 'runs what its arguments say'],
    ['mvn test *', 'runs what its arguments say'],
    ['cadre **', 'runs what its arguments say'],
    ['go install *', 'runs what its arguments say'],
    ['cd *', 'changes what later commands do'],
    ['cd src', 'changes what later commands do'],
    ['curl https://example.com*', 'host of an address has to be complete'],
  ])('cannot be "%s", because it %s.', (pattern, why) => {
    expect(readPattern(pattern, 'strict')).toEqual({
      why: expect.stringContaining(why) as unknown,
    });
  });
});

describe('a rule to deny', () => {
  it.each([
    ['rm **', 'rm -rf /'],
    ['rm **', '/bin/rm x'],
    ['git push **', 'git push --force origin main'],
    ['* **', 'anything at all'],
    ['**', 'anything at all'],
    ['curl **', "bash -c 'curl https://evil.example'"],
    ['git push **', '/usr/bin/git push'],
    ['git push **', 'git -C x push'],
    ['git push **', 'git --no-pager -c a=b push origin'],
    ['git push **', 'env -i A=b git push'],
    ['git push **', 'sudo -u x /usr/bin/git -C /y push'],
    ['git push **', 'nohup git push'],
    ['rm **', 'timeout 5 rm x'],
  ])('of "%s" denies: %s', (pattern, command) => {
    expect(denies(pattern, command)).toBe(true);
  });
});

it('A rule to deny does not deny other commands.', () => {
  const others = ['git log push', 'git -C x log push', 'echo git push', 'env', 'git', 'git -C'];
  expect(others.filter((command) => denies('git push **', command))).toEqual([]);
});

it('A very long word is compared in no time.', () => {
  const command = `echo ${'ab'.repeat(4000)}`;
  expect(allows('echo *a*b*a*b*a*c', command)).toBe(false);
});

it('What is read as words is what shells read as words.', async () => {
  await using own = tempDirectory('words');
  const piece = oneof(
    constantFrom("''", '""'),
    constantFrom(
      "'",
      '"',
      ' ',
      '\t',
      '=',
      '-',
      '/',
      '~',
      '$',
      '`',
      '\\',
      '!',
      '{',
      '}',
      '*',
      '#',
      ';',
      ':',
      '%',
      '@',
      ',',
      '+',
      '.',
      '^',
    ),
    stringMatching(/^[a-z0-9é ]{1,4}$/),
  );
  const texts = sample(array(piece, { maxLength: 8 }), { numRuns: 20_000, seed: 7 })
    .map((pieces) => `x${pieces.join('')}`)
    .filter((text) => 'words' in readCommand(text));
  expect(texts.length).toBeGreaterThan(1000);
  const script = texts.map((text) => `printf '%s\\0' ${text}; printf '\\1'`).join('\n');
  // Fish reads no script from a socket.
  const file = path.join(own.path, 'script');
  fs.writeFileSync(file, script);
  const installed = ['dash', 'zsh', 'ksh', 'fish'].filter((shell) =>
    findProgram(shell, process.env['PATH']),
  );
  for (const shell of ['sh', 'bash', ...installed]) {
    const said = execFileSync(shell, [file], { encoding: 'utf8', maxBuffer: 2 ** 26 });
    const read = said
      .split('\u0001')
      .slice(0, -1)
      .map((one) => one.split('\0').slice(0, -1));
    expect(read).toEqual(texts.map((text) => (readCommand(text) as { words: string[] }).words));
  }
});
