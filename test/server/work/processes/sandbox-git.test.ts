import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { endpoints } from '../../../../src/api/index.ts';
import { atLength } from '../../../support/at-length.ts';
import { expectEventually } from '../../../support/expect-eventually.ts';
import { logs, ranTo, run, ended, stdout } from '../../../support/processes/work.ts';
import { type TestRuntime, withRuntime } from '../../../support/runtime.ts';
import { hasSandbox, required } from '../../../support/sandbox/available.ts';
import { scriptedProvider } from '../../../support/scripted-provider.ts';
import { tempDirectory } from '../../../support/temp.ts';
import { openSession } from '../../../support/turns.ts';
import { commit, git, write } from '../../../support/worktrees/work.ts';

interface Stage extends TestRuntime {
  /** The main worktree. */
  main: string;
  worktree: string;
  session: { session_id: string };
}

const IDENTITY = `export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b LC_ALL=C`;

/** Runs a test with a session that works in a worktree, or in the main worktree. */
async function onStage(
  kind: 'worktree' | 'main',
  test: (stage: Stage) => Promise<void>,
): Promise<void> {
  await using directory = tempDirectory('repository');
  const at = (name: string) => path.join(directory.path, name);
  for (const name of ['origin.git', 'main', 'sub']) fs.mkdirSync(at(name));
  git(at('origin.git'), 'init', '-q', '--bare', '-b', 'main');
  git(at('sub'), 'init', '-q', '-b', 'main');
  commit(at('sub'), 'sub');
  const main = at('main');
  git(main, 'init', '-q', '-b', 'main');
  write(main, { 'a/a': 'a\n' });
  commit(main, 'one');
  write(main, { b: 'b\n' });
  commit(main, 'two');
  git(main, '-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', at('sub'), 'sub');
  commit(main, 'submodule');
  git(main, 'remote', 'add', 'origin', at('origin.git'));
  git(main, 'push', '-q', 'origin', 'main');
  git(main, 'fetch', '-q');
  git(main, 'update-ref', 'refs/cadre/archive/old', 'HEAD');
  git(main, 'worktree', 'add', '-q', at('mine'));
  git(main, 'worktree', 'add', '-q', at('other'));
  const worktree = at('mine');
  const config = required({ write: [at('origin.git')], read: [at('sub')] });
  await withRuntime(
    async (given) => {
      const { id } = await openSession(given.client, kind === 'main' ? main : worktree);
      await test({ ...given, main, worktree, session: { session_id: id } });
    },
    { providers: [scriptedProvider()], config },
  );
}

/** Runs commands one after another; returns the failed ones, each with its errors. */
async function failuresOf(stage: Stage, commands: readonly string[]): Promise<Map<string, string>> {
  const script = commands
    .map((one, n) => `(${one}) >/dev/null 2>/tmp/${n}; echo "result ${n} $?"; cat /tmp/${n}`)
    .join('\n');
  const over = await ranTo(stage, `${IDENTITY}\n${script}`, stage.session);
  const text = await stdout(stage, over);
  const parts = text.split(/^result /m).slice(1);
  expect(parts).toHaveLength(commands.length);
  return new Map(
    parts.flatMap((part, n): [string, string][] => {
      const [head = '', ...lines] = part.split('\n');
      const bad = lines.filter((line) => /Read-only|error:|fatal:/.test(line));
      return head.endsWith(' 0') && bad.length === 0
        ? []
        : [[commands[n] ?? '', lines.join(' ').trim()]];
    }),
  );
}

const FILE = 'git -c protocol.file.allow=always';
/** Commands of git, and whether they work in a worktree and in a main worktree. */
const table: [command: string, inWorktree: boolean, inMain: boolean][] = [
  ['git status --short', true, true],
  ['echo 1 > n && git add n && git commit -qm n', true, false],
  ['git commit -q --amend -m n2', true, false],
  ['git log --oneline -2', true, true],
  ['git branch t1', true, false],
  ['git switch -qc t2', true, false],
  ['git switch -q -', true, false],
  ['git tag v1', true, false],
  [
    'git stash list; echo 2 >> n; git stash -q && git stash pop -q && git checkout -q n',
    true,
    false,
  ],
  ['git merge -q t1', true, false],
  ['git rebase -q main', true, false],
  ['git cherry-pick -n main~1; git reset -q --hard', true, false],
  ['git revert --no-edit -n HEAD; git reset -q --hard', true, false],
  ['git clean -fdq', true, true],
  ['git worktree list', true, true],
  [`${FILE} fetch -q origin`, true, false],
  [`${FILE} pull -q --ff-only origin main`, true, false],
  [`${FILE} push -q origin HEAD:refs/heads/x`, true, false],
  [`${FILE} push -qu origin HEAD`, false, false],
  ['git switch -qc t3 origin/main', true, false],
  ['git branch -q -d t1', false, false],
  ['git branch -qD t2', false, false],
  ['git branch -qm t3 t4', false, false],
  ['git config user.x y', false, false],
  ['git gc -q', false, false],
  ['git pack-refs --all', false, false],
  ['git submodule -q status', true, true],
  ['git sparse-checkout set a', false, false],
  ['git notes add -m x', true, false],
  ['git bisect start HEAD HEAD~1 && git bisect reset', false, false],
  ['git diff HEAD~1', true, true],
  ['git maintenance run --auto', true, true],
  ['git remote add o2 /x', false, false],
  ['git worktree add -q /tmp/w9', true, false],
  ['git update-ref -d refs/cadre/archive/old', false, false],
  ['git hash-object -w b', true, false],
  ['git for-each-ref', true, true],
];

describe.skipIf(!hasSandbox)('git in a sandbox', () => {
  test('In a worktree, the commands of daily work succeed, and commands that change settings fail.', () =>
    onStage('worktree', async (stage) => {
      const failed = await failuresOf(
        stage,
        table.map(([command]) => command),
      );
      const expected = table.filter(([, works]) => !works).map(([command]) => command);
      expect([...failed.keys()]).toEqual(expected);
      expect(git(stage.main, 'rev-parse', 'refs/cadre/archive/old')).toBeTruthy();
      expect(git(stage.main, 'worktree', 'list')).not.toContain('w9');
      expect(git(stage.worktree, 'log', '-1', '--format=%an')).toBe('a');
    }));

  test('In a main worktree, commands that read succeed, and commits fail because .git is read-only.', () =>
    onStage('main', async (stage) => {
      const failed = await failuresOf(
        stage,
        table.map(([command]) => command),
      );
      const expected = table.filter(([, , works]) => !works).map(([command]) => command);
      expect([...failed.keys()]).toEqual(expected);
      expect(failed.get('git tag v1')).toMatch(/Read-only/);
    }));

  test('Settings, hooks, other worktrees, and the index and HEAD of the main worktree stay unchanged.', () =>
    onStage('worktree', async (stage) => {
      const common = path.join(stage.main, '.git');
      const own = path.join(common, 'worktrees/mine');
      const names =
        'config index HEAD logs/HEAD hooks/x info/attributes commondir objects/info/alternates ' +
        'refs/cadre/x logs/refs/cadre/x worktrees/other/HEAD worktrees/mine/commondir ' +
        'worktrees/mine/gitdir worktrees/mine/config.worktree';
      const kept = names.split(' ').map((name) => path.join(common, name));
      const pinned = path.join(stage.worktree, '.git');
      // The first command makes git create what it needs.
      await ranTo(stage, 'git status', stage.session);
      const before = contentsOf([...kept, pinned]);
      const attack = (file: string) => {
        const words = `'${file}'`;
        return `echo planted > ${words}; rm -f ${words}; ln -sf /etc/passwd ${words}; mv ${words} ${words}.2; echo planted > ${words}`;
      };
      const moves = [
        'refs/cadre',
        'logs/refs',
        'logs',
        'worktrees',
        'hooks',
        'objects/info',
        'real',
      ];
      const script = [
        ...[...kept, pinned].map(attack),
        ...moves.map((name) => `perl -e 'rename $ARGV[0], "$ARGV[0].2"' '${common}/${name}'`),
        `perl -e 'rename $ARGV[0], "$ARGV[0].2"' '${own}'`,
      ].join('\n');
      await ranTo(stage, `(${script}) 2>/dev/null; true`, stage.session);
      expect(contentsOf([...kept, pinned])).toEqual(before);
      expect(fs.readdirSync(common)).toEqual(expect.arrayContaining(['refs', 'logs', 'worktrees']));
      // A link that a process has left in the stand-in leads the server nowhere.
      await ranTo(
        stage,
        `cd '${common}' && ln -sfn /tmp/x packed-refs; ln -sfn / HEAD`,
        stage.session,
      );
      const { exit_code } = await ranTo(stage, 'git log -1 && git branch after', stage.session);
      expect(exit_code).toBe(0);
    }));

  test('A change of the settings outside is visible inside, and the settings stay read-only.', () =>
    onStage('worktree', async (stage) => {
      const config = path.join(stage.main, '.git/config');
      const command = `touch ready; until [ -n "$(git config cadre.x)" ]; do sleep 0.02; done; echo x >> '${config}'; git config cadre.x`;
      const process = await run(stage, command, stage.session);
      await expectEventually(() => fs.existsSync(path.join(stage.worktree, 'ready'))).toBe(true);
      git(stage.main, 'config', 'cadre.x', 'new');
      expect(await stdout(stage, await ended(stage, process))).toBe('new\n');
      expect((await logs(stage, process)).stderr?.content).toMatch(/Read-only/);
      expect(git(stage.main, 'config', '--list')).toContain('cadre.x=new');
    }));

  test('No ref and no commit is lost while git packs refs outside and a process commits inside.', () =>
    onStage('worktree', async (stage) => {
      const rounds = atLength(15, 200);
      const command = `${IDENTITY}
for n in $(seq ${rounds}); do
  git commit -q --allow-empty -m "inside $n" && git tag "inside-$n" || echo "failed $n"
  git switch -qc "branch-$n" && git switch -q - || echo "failed $n"
done`;
      const process = await run(stage, command, stage.session);
      const over = ended(stage, process);
      let isOver = false;
      void over.then(() => (isOver = true));
      const seen = new Set<string>();
      const look = () => {
        const refs = git(stage.main, 'for-each-ref', '--format=%(refname)').split('\n');
        const lost = [...seen].filter((one) => !refs.includes(one));
        expect(lost).toEqual([]);
        for (const one of refs) seen.add(one);
      };
      for (let n = 0; !isOver; n++) {
        git(stage.main, 'branch', `outside-${n}`);
        git(stage.main, 'pack-refs', '--all', '--prune');
        look();
        // The server runs in this process.
        await new Promise((resolve) => setImmediate(resolve));
      }
      look();
      expect((await logs(stage, await over)).stderr?.content ?? '').toBe('');
      const output = await stdout(stage, await over);
      expect(output).toBe('');
      expect(git(stage.worktree, 'rev-list', '--count', 'main..HEAD')).toBe(String(rounds));
      expect([...seen].filter((one) => one.startsWith('refs/tags/inside-'))).toHaveLength(rounds);
    }));

  test('A link that a process leaves among reflogs or files of its worktree is removed when the process ends.', () =>
    onStage('worktree', async (stage) => {
      const victim = path.join(stage.main, 'victim');
      fs.writeFileSync(victim, 'kept\n');
      const common = path.join(stage.main, '.git');
      const links = [
        'logs/refs/heads/mine',
        'worktrees/mine/COMMIT_EDITMSG',
        'worktrees/mine/logs/HEAD',
      ];
      await ranTo(stage, `${IDENTITY}; git commit -q --allow-empty -m one`, stage.session);
      const command = links.map((name) => `ln -sf '${victim}' '${common}/${name}'`).join(' && ');
      const { exit_code } = await ranTo(stage, command, stage.session);
      expect(exit_code).toBe(0);
      const isLink = (name: string) =>
        fs.lstatSync(path.join(common, name), { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
      await expectEventually(() => links.filter(isLink)).toEqual([]);
      git(stage.worktree, 'commit', '-q', '--allow-empty', '-m', 'outside');
      expect(fs.readFileSync(victim, 'utf8')).toBe('kept\n');
    }));

  test('The stand-in is removed when the session is closed, and outside of its session nothing refers to it.', () =>
    onStage('worktree', async (stage) => {
      await ranTo(stage, `${IDENTITY}; git commit -q --allow-empty -m kept`, stage.session);
      const own = path.join(stage.directory, 'sandbox', stage.session.session_id);
      expect(fs.readdirSync(path.join(own, 'git')).length).toBeGreaterThan(0);
      await stage.client.call(endpoints.closeSession, { params: stage.session, body: {} });
      await expectEventually(() => fs.existsSync(own)).toBe(false);
      expect(git(stage.worktree, 'log', '-1', '--format=%s')).toBe('kept');
      expect(git(stage.worktree, 'status', '--short')).toBe('');
    }));
});

function contentsOf(files: readonly string[]): Record<string, string | null> {
  return Object.fromEntries(
    files.map((file) => [
      file,
      fs.lstatSync(file, { throwIfNoEntry: false })?.isFile()
        ? fs.readFileSync(file, 'latin1')
        : null,
    ]),
  );
}
