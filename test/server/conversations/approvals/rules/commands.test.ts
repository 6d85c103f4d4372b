import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { array, constantFrom, oneof, sample, stringMatching, tuple } from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { findProgram } from '../../../../../src/core/lib/find-program.ts';
import {
  commandsIn,
  fitsAny,
} from '../../../../../src/server/conversations/approvals/rules/command-forms.ts';
import {
  type Misfit,
  misfitOf,
  readPattern,
  whyNothingFits,
} from '../../../../../src/server/conversations/approvals/rules/command-pattern.ts';
import { readCommand } from '../../../../../src/server/conversations/approvals/rules/shell-words.ts';
import { systemClock } from '../../../../../src/core/lib/clock.ts';
import {
  CommandNames,
  RealPaths,
} from '../../../../../src/server/conversations/approvals/rules/real-paths.ts';
import { commandIn } from '../../../../../src/server/conversations/approvals/rules/requested-action.ts';
import { tempDirectory } from '../../../../support/temp.ts';
import { hostileCommands, usualRules } from './hostile-commands.ts';

/** A directory with links that lead out of it, and to hidden files. */
const linked = tempDirectory('links');

beforeAll(() => {
  for (const name of ['.git/hooks', '.github', 'src'])
    fs.mkdirSync(path.join(linked.path, name), { recursive: true });
  fs.writeFileSync(path.join(linked.path, '.env'), '');
  for (const [name = '', target = ''] of [
    ['link', '/etc'],
    ['hooks', '.git/hooks'],
    ['github', '.github'],
    ['env', '.env'],
  ])
    fs.symlinkSync(target, path.join(linked.path, name));
});

afterAll(() => linked[Symbol.dispose]());

/** Whether a rule to allow commands of this pattern would allow the command. */
function allows(pattern: string, command: string, isConfirmed = false): boolean {
  const read = readPattern(pattern, 'strict', isConfirmed);
  const words = readCommand(command);
  return 'words' in read && 'words' in words && misfitOf(read, words.words) === null;
}

/** Whether a rule to deny commands of this pattern would deny the command. */
function denies(pattern: string, command: string): boolean {
  const read = readPattern(pattern, 'any');
  const words = readCommand(command);
  return 'words' in read && 'words' in words && fitsAny(read, commandsIn(words.words));
}

it('The list of hostile commands has more than 200 entries.', () => {
  expect(new Set(hostileCommands).size).toBeGreaterThan(200);
});

it.each(hostileCommands.map((command) => [JSON.stringify(command).slice(0, 100), command]))(
  'No usual rule allows the hostile command: %s.',
  (_shown, command) => {
    expect(usualRules.filter((pattern) => allows(pattern, command))).toEqual([]);
  },
);

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
  ['git push origin **', 'git push origin main'],
  ['curl https://*.example.com/*', "curl 'https://a.example.com/b?c=/d'"],
  ['cat /var/log/*', 'cat /var/log/a/b'],
  ['ls .git*', 'ls .gitignore'],
  ['git show *', 'git show HEAD:src/a.ts'],
  ['go vet **', 'go vet ./a'],
  ['ls *.md', 'ls a.md'],
  ['rm .git/*', 'rm .git/index.lock'],
  ['git log --author=*', 'git log --author=me'],
])('The rule "%s" allows a usual command: %s.', (pattern, command) => {
  expect(allows(pattern, command)).toBe(true);
});

it.each([
  ['*', 'has to name the program'],
  ['**', 'has to name the program'],
  ['g* status', 'has to name the program'],
  ['git **', 'depends on its first argument'],
  ['git *', 'depends on its first argument'],
  ['git -C * status', 'depends on its first argument'],
  ['npm run *', 'runs a command from its arguments'],
  ['git submodule **', 'runs a command from its arguments'],
  ['bash **', 'runs a command from its arguments'],
  ['/usr/bin/env *', 'runs a command from its arguments'],
  ['python3 *', 'runs a command from its arguments'],
  ['xargs *', 'runs a command from its arguments'],
  ['ls ** x', 'has to be the last'],
  ['/usr/bin/python3.12 *', 'runs a command from its arguments'],
  ['lua5.4 *', 'runs a command from its arguments'],
  ['mvn test *', 'runs a command from its arguments'],
  ['cadre **', 'runs a command from its arguments'],
  ['go install *', 'runs a command from its arguments'],
  ['curl **', 'can send data to any address'],
  ['curl -s *', 'can send data to any address'],
  ['cd *', 'changes later commands or their directory'],
  ['cd src', 'changes later commands or their directory'],
  ['curl https://example.com*', 'host of an address has to be complete'],
  ['curl https://example.com*x/', 'host of an address has to be complete'],
  ['curl https://*.com/x', 'host of an address has to be complete'],
  ['curl -o x* https://example.com/x', 'can send data to any address'],
  ['prog file:///home/*', 'never matches a part of an address'],
  ['sort --compress-prog=* x', 'runs a command from its arguments'],
  ['find . -name * -exec cat x', 'runs a command from its arguments'],
  ['rg --pre *', 'runs a command from its arguments'],
  ['find **', 'is not on the list of programs'],
  ['./cat **', 'is not on the list of programs'],
  ['git log --*', 'may match other options'],
  ['sort -n*', 'may match other options'],
  ['cat ../*', 'never matches'],
  ['cat *=x', 'never matches'],
])('A rule to allow "%s" is refused, because it %s.', (pattern, why) => {
  expect(readPattern(pattern, 'strict')).toEqual({
    why: expect.stringContaining(why) as unknown,
  });
});

it.each(
  (
    'find hatch pdm tox nox mise asdf volta pyenv gosu torsocks xvfb-run nix-shell ansible man less pytest eslint psql ' +
    'gh|config npm|isntall npm|it npm|in npm|install-test npm|c npm|test pip|download git|hook git|merge-index git|gc ' +
    'git|remote brew|install docker-compose|run kubectl|debug kubectl|get terraform|plan something-new'
  ).split(' '),
)('A * behind a program that is not known to be safe is refused: %s.', (program) => {
  expect(readPattern(`${program.replace('|', ' ')} **`, 'strict')).toHaveProperty('why');
});

it('A confirmed rule may name an unlisted program, but no program that runs its arguments.', () => {
  expect(readPattern('something-new **', 'strict', true)).toHaveProperty('words');
  expect(readPattern('git log --*', 'strict', true)).toHaveProperty('words');
  const never = [
    'bash **',
    'hatch **',
    'git **',
    'git push **',
    'npm it **',
    'curl **',
    'rg --pre *',
    'git grep -O* x',
    'git grep -Oless *',
    'fd -x*',
  ];
  expect(never.filter((one) => 'words' in readPattern(one, 'strict', true))).toEqual([]);
});

it.each([
  'git push **',
  'git push *',
  'git push -f *',
  'git push -o x *',
  'git push --repo=* x',
  'git push --receive-pack=x origin *',
  'git fetch **',
  'git fetch --multiple origin *',
  'git fetch origin --upload-pack x *',
  'git pull **',
  'git ls-remote **',
  'git ls-remote --heads *',
  'git remote show *',
  'git clone *',
  'hg push **',
  '/usr/bin/git push **',
])(
  'A * behind a program that reaches another machine is refused without the name of a remote: %s.',
  (pattern) => {
    expect(readPattern(pattern, 'strict', true)).toHaveProperty('why');
  },
);

it.each(['134744072:evil/repo', '0x7f000001:x', 'evilhost:x', 'HEAD:.env', 'x:/etc'])(
  'A * behind a program does not match an address: %s.',
  (word) => {
    expect(allows('something-new **', `something-new ${word}`, true)).toBe(false);
    expect(allows('git push origin *', `git push origin ${word}`)).toBe(false);
  },
);

it.each([
  ['git diff --output=*', 'git diff --output=/home/you/.bashrc'],
  ['git diff --output=*', 'git diff --output=link/x'],
  ['git diff --output=*', 'git diff --output=hooks/x'],
  ['git diff --output=*', "git diff '--output=~/x'"],
  ['prog --config=*', 'prog --config=/tmp/x'],
  ['prog -p:*', 'prog -p:/tmp/x'],
  ['prog -o*', 'prog -o/tmp/x'],
  ['prog -o*', 'prog -olink'],
  ['prog -o*', 'prog -oenv'],
  ['prog -o*', 'prog -o.env'],
  ['prog -o*', 'prog -o..'],
  ['prog -o*', `prog -o${'x'.repeat(100)}`],
  ['prog -abI*', 'prog -abIlink/x'],
  ['prog -Isrc*', 'prog -Isrc/../../x'],
  ['prog --*', 'prog --x=/etc'],
  ['prog x=*', 'prog x=/etc'],
  ['prog x=*', 'prog x=.env'],
  ['prog a,*', 'prog a,/etc'],
  ['prog a,*', 'prog a,link/x'],
  ['prog a,*', 'prog a,b,.git/x'],
  ['prog x*', 'prog x@/etc'],
  ['prog x*', "prog 'x</etc'"],
  ['prog x*', 'prog x/etc'],
  ['prog a*b*', 'prog a.b/etc'],
  ['prog *', 'prog env'],
  ['prog *', 'prog github/x'],
  ['prog *', 'prog a/.env'],
  ['prog **', 'prog a ./.env'],
  ['cat **', 'cat .env'],
  ['cat /dir/*', 'cat /dir/link/x'],
])(
  'A * in a rule to allow is checked for each name that it may be part of: "%s" allows no %s.',
  async (pattern, command) => {
    const at = (text: string) => text.replaceAll('/dir', linked.path);
    expect(await misfitOfLinked(at(pattern), at(command))).not.toBeNull();
  },
);

it('A * in a rule to allow matches names in the directory.', async () => {
  for (const [pattern = '', command = ''] of [
    ['git diff --output=*', 'git diff --output=a/b'],
    ['prog -o*', 'prog -oa'],
    ['prog -I/usr/*', 'prog -I/usr/include'],
    ['prog a,*', 'prog a,b/c'],
    ['git commit -m *', "git commit -m 'fix: the list, again'"],
  ])
    expect(await misfitOfLinked(pattern, command)).toBeNull();
});

/** Returns why a rule does not allow a command in the directory with links, once all names are looked up. */
function misfitOfLinked(pattern: string, command: string): Promise<Misfit | null> {
  const names = new CommandNames();
  const read = readPattern(pattern, 'strict', true);
  const { words, leadsOut } = commandIn(command, linked.path, { sessionCwd: linked.path, names });
  if ('why' in read || 'why' in words)
    return expect.unreachable('the rule or the command is no test');
  return new RealPaths({ clock: systemClock }).within(async (realPath) => {
    for (;;) {
      const misfit = misfitOf(read, words.words, leadsOut);
      if (!(await names.lookUp(realPath))) return misfit;
    }
  });
}

it.each([
  ['ls; rm', 'more than one'],
  ['ls;rm x', 'more than one'],
  ['ls && rm', 'more than one'],
  ['ls | wc', 'more than one'],
  ['ls 2> x', 'more than one'],
  ['echo $(id)', 'more than one'],
  ['git commit -m "a b"', 'rules do not read quotes'],
  ['PATH=x git status', 'assignment'],
  ["bash -c 'ls'", 'rules do not read quotes'],
  ['bash -c ls', 'cadre checks the command after'],
  ['a\b', 'always requires an answer from a user'],
  ['(ls)', 'not the name of a program'],
])('A rule with the command %s, whatever it is for, could match nothing.', (pattern, why) => {
  expect(whyNothingFits(pattern)).toContain(why);
});

it.each([
  'ls **',
  '* push',
  'find . -exec cat x ;',
  'git show HEAD^',
  'jq .[0] *',
  'curl https://a.b/?c=1&d=*',
])('A rule with the command %s can match something.', (pattern) => {
  expect(whyNothingFits(pattern)).toBeNull();
});

it('A rule to deny or ask fits all that a rule to allow of the same words fits.', () => {
  const word = constantFrom(
    'git',
    'push',
    'log',
    'cat',
    '-C',
    'a',
    'a:b',
    'a/b',
    '.env',
    '--x=a',
    'sudo',
    'env',
    '-o',
    'origin',
    'sh',
  );
  const wanted = oneof(word, constantFrom('*', 'a*', '*b', '--x=*', '**', '-o*'));
  const cases = sample(
    tuple(
      array(wanted, { minLength: 1, maxLength: 4 }),
      array(word, { minLength: 1, maxLength: 5 }),
    ),
    {
      numRuns: 20_000,
      seed: 7,
    },
  ).map(([pattern, command]) => [pattern.join(' '), command.join(' ')] as const);
  const allowed = cases.filter(([pattern, command]) => allows(pattern, command, true));
  expect(allowed.length).toBeGreaterThan(30);
  expect(allowed.filter(([pattern, command]) => !denies(pattern, command))).toEqual([]);
});

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
  ['git push **', "env sh -c 'git push'"],
  ['git push **', `sudo su -c "sh -c 'git push'"`],
  ['git push **', "su --command='git push'"],
  ['git push **', "env -S 'git push'"],
  ['git push **', "env '--split-string=git push'"],
  ['git push **', "env -S'git push'"],
  ['rm **', 'env -Srm x'],
  ['git push **', 'bash -ic "git push"'],
  ['git push **', `git ${'-c a=b '.repeat(30)}push`],
  ['git push **', `env ${'A=b '.repeat(30)}git push`],
  ['git push **', '/lib64/ld-linux-x86-64.so.2 /usr/bin/git push'],
  ['git push **', 'find . -exec git push x'],
  ['git push **', "find . -exec sh -c 'git push' x"],
  ['git push **', "git submodule foreach 'git push'"],
  ['git push **', "git rebase --exec 'git push' main"],
  ['git push **', "git rebase -x 'git push' main"],
  ['git push **', "git fetch --upload-pack='git push' x"],
  ['git push **', 'find . -exec env git push'],
  ['git push **', 'fd --exec=git push'],
  ['rm **', 'fd -xrm'],
  ['rm **', 'rg --pre rm x'],
  ['rm **', 'sort --compress-prog=rm x'],
  ['git push **', 'npm exec -- git push'],
  ['git push **', 'git -c alias.p=push p origin'],
  ['git push **', 'git -C x -c Alias.P="push --force" p origin main'],
  ['git push **', 'git -c alias.p.command=push p origin'],
  ['rm **', "git -c alias.status='!rm -rf' status /x"],
  ['rm **', "sudo /usr/bin/git -c alias.x='!sudo rm -rf /x' x"],
  ['git push **', `git -c alias.x='!git push' -c alias.y=log x`],
  ['rm **', "env GIT_CONFIG_KEY_0=alias.x GIT_CONFIG_VALUE_0='!rm -rf /x' git x"],
  ['pip install **', 'pip3 install x'],
  ['pip install **', 'python3.12 -m pip install x'],
  ['docker run **', 'docker --context x container run y'],
  ...(
    'and busybox chroot command coproc doas eval exec flock noglob numactl parallel pkexec prlimit runuser script su ' +
    'toybox watch'
  )
    .split(' ')
    .flatMap((program): [string, string][] => [
      ['git push **', `${program} x git push origin`],
      ['git push **', `${program} 'git push origin'`],
    ]),
])('A rule to deny "%s" denies: %s.', (pattern, command) => {
  expect(denies(pattern, command)).toBe(true);
});

it('A rule to deny does not deny other commands.', () => {
  const others = [
    'git -c alias.x=log x',
    'git -c user.alias.x=push log',
    'git log push',
    'git -C x log push',
    'echo git push',
    'env',
    'git',
    'git -C',
  ];
  expect(denies('rm **', 'git rm x') || denies('rm **', 'find . -name rm')).toBe(false);
  expect(others.filter((command) => denies('git push **', command))).toEqual([]);
});

it('Rules and shells read the same words.', async () => {
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
