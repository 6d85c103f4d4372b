import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { endpoints } from '../../../../src/api/index.ts';
import { atLength } from '../../../support/at-length.ts';
import { expectEventually } from '../../../support/expect-eventually.ts';
import { logs, ranTo, run, ended, stdout } from '../../../support/processes/work.ts';
import { hasSandbox } from '../../../support/sandbox/available.ts';
import { git } from '../../../support/worktrees/work.ts';
import { IDENTITY, withGitHarness } from './git-harness.ts';

describe.skipIf(!hasSandbox)('git in a sandbox', () => {
  test('Settings, hooks, other worktrees, and the index and HEAD of the main worktree stay unchanged.', () =>
    withGitHarness('worktree', async (harness) => {
      const common = path.join(harness.main, '.git');
      const own = path.join(common, 'worktrees/mine');
      const names =
        'config index HEAD logs/HEAD hooks/x info/attributes commondir objects/info/alternates ' +
        'refs/cadre/x logs/refs/cadre/x worktrees/other/HEAD worktrees/mine/commondir ' +
        'worktrees/mine/gitdir worktrees/mine/config.worktree';
      const kept = names.split(' ').map((name) => path.join(common, name));
      const pinned = path.join(harness.worktree, '.git');
      // The first command makes git create what it needs.
      await ranTo(harness, 'git status', harness.session);
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
        'objects/pack',
        'refs/heads',
        'refs/tags',
        'refs/remotes',
        'real',
      ];
      const script = [
        ...[...kept, pinned].map(attack),
        ...moves.map((name) => `perl -e 'rename $ARGV[0], "$ARGV[0].2"' '${common}/${name}'`),
        `perl -e 'rename $ARGV[0], "$ARGV[0].2"' '${own}'`,
      ].join('\n');
      await ranTo(harness, `(${script}) 2>/dev/null; true`, harness.session);
      expect(contentsOf([...kept, pinned])).toEqual(before);
      expect(fs.readdirSync(common)).toEqual(expect.arrayContaining(['refs', 'logs', 'worktrees']));
      expect(fs.readdirSync(path.join(common, 'objects'))).not.toContain('pack.2');
      expect(fs.readdirSync(path.join(common, 'refs'))).toEqual([
        'cadre',
        'heads',
        'remotes',
        'tags',
      ]);
      // A link that a process has left in the stand-in leads the server nowhere.
      await ranTo(
        harness,
        `cd '${common}' && ln -sfn /tmp/x packed-refs; ln -sfn / HEAD`,
        harness.session,
      );
      const { exit_code } = await ranTo(harness, 'git log -1 && git branch after', harness.session);
      expect(exit_code).toBe(0);
    }));

  test('A change of the settings outside is visible inside, and the settings stay read-only.', () =>
    withGitHarness('worktree', async (harness) => {
      const config = path.join(harness.main, '.git/config');
      const command = `touch ready; until [ -n "$(git config cadre.x)" ]; do sleep 0.02; done; echo x >> '${config}'; git config cadre.x`;
      const process = await run(harness, command, harness.session);
      await expectEventually(() => fs.existsSync(path.join(harness.worktree, 'ready'))).toBe(true);
      git(harness.main, 'config', 'cadre.x', 'new');
      expect(await stdout(harness, await ended(harness, process))).toBe('new\n');
      expect((await logs(harness, process)).stderr?.content).toMatch(/Read-only/);
      expect(git(harness.main, 'config', '--list')).toContain('cadre.x=new');
    }));

  test('No ref and no commit is lost while git packs refs outside and a process commits inside.', () =>
    withGitHarness('worktree', async (harness) => {
      const rounds = atLength(15, 200);
      const command = `${IDENTITY}
for n in $(seq ${rounds}); do
  git commit -q --allow-empty -m "inside $n" && git tag "inside-$n" || echo "failed $n"
  git switch -qc "branch-$n" && git switch -q - || echo "failed $n"
done`;
      const process = await run(harness, command, harness.session);
      const over = ended(harness, process);
      let isOver = false;
      void over.then(() => (isOver = true));
      const seen = new Set<string>();
      const look = () => {
        const refs = git(harness.main, 'for-each-ref', '--format=%(refname)').split('\n');
        const lost = [...seen].filter((one) => !refs.includes(one));
        expect(lost).toEqual([]);
        for (const one of refs) seen.add(one);
      };
      for (let n = 0; !isOver; n++) {
        git(harness.main, 'branch', `outside-${n}`);
        git(harness.main, 'pack-refs', '--all', '--prune');
        look();
        // The server runs in this process.
        await new Promise((resolve) => setImmediate(resolve));
      }
      look();
      expect((await logs(harness, await over)).stderr?.content ?? '').toBe('');
      const output = await stdout(harness, await over);
      expect(output).toBe('');
      expect(git(harness.worktree, 'rev-list', '--count', 'main..HEAD')).toBe(String(rounds));
      expect([...seen].filter((one) => one.startsWith('refs/tags/inside-'))).toHaveLength(rounds);
    }));

  test('A link that a process leaves in the repository or among files of its worktree is removed when the process ends.', () =>
    withGitHarness('worktree', async (harness) => {
      const victim = path.join(harness.main, 'victim');
      fs.writeFileSync(victim, 'kept\n');
      const common = path.join(harness.main, '.git');
      const links = [
        'logs/refs/heads/mine',
        'worktrees/mine/COMMIT_EDITMSG',
        'worktrees/mine/logs/HEAD',
        'refs/heads/k',
        'objects/zz',
      ];
      await ranTo(harness, `${IDENTITY}; git commit -q --allow-empty -m one`, harness.session);
      const command = links.map((name) => `ln -sf '${victim}' '${common}/${name}'`).join(' && ');
      const { exit_code } = await ranTo(harness, command, harness.session);
      expect(exit_code).toBe(0);
      const isLink = (name: string) =>
        fs.lstatSync(path.join(common, name), { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
      await expectEventually(() => links.filter(isLink)).toEqual([]);
      git(harness.worktree, 'commit', '-q', '--allow-empty', '-m', 'outside');
      expect(fs.readFileSync(victim, 'utf8')).toBe('kept\n');
    }));

  test('The stand-in is removed when the session is closed, and outside of its session nothing refers to it.', () =>
    withGitHarness('worktree', async (harness) => {
      await ranTo(harness, `${IDENTITY}; git commit -q --allow-empty -m kept`, harness.session);
      const own = path.join(harness.directory, 'sandbox', harness.session.session_id);
      expect(fs.readdirSync(path.join(own, 'git')).length).toBeGreaterThan(0);
      await harness.client.call(endpoints.closeSession, { params: harness.session, body: {} });
      await expectEventually(() => fs.existsSync(own)).toBe(false);
      expect(git(harness.worktree, 'log', '-1', '--format=%s')).toBe('kept');
      expect(git(harness.worktree, 'status', '--short')).toBe('');
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
