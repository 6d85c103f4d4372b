import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { withServer } from '../support/server.ts';
import { openSession } from '../support/turns.ts';
import { branches, commit, makeRepository, read, write } from '../support/worktrees/work.ts';
import { cadreOn } from '../support/cli/cadre.ts';

describe('cadre worktrees', () => {
  test('makes, lists, claims, releases, cleans and restores by the last characters of an id.', () =>
    withServer(async (server) => {
      const cadre = cadreOn(server);
      const repo = makeRepository(path.join(server.directory, 'repo'));
      const { id: session } = await openSession(server.client, repo);
      const { id: other } = await openSession(server.client, repo);
      const made = await cadre(['worktrees', 'create', 'tree', '--session', session.slice(-8)]);
      expect([made.code, made.stderr]).toEqual([0, '']);
      const place = made.stdout.trim();
      expect(read(place, 'a.txt')).toBe('one\n');

      const listed = await cadre(['worktrees', 'list', '--repo', repo]);
      const [heading = '', row = ''] = listed.stdout.split('\n');
      expect(heading.split(/\s+/)).toEqual(['ID', 'STATUS', 'AGE', 'NAME', 'BRANCH', 'PATH']);
      const [end = '', status, , name, branch] = row.split(/\s+/);
      expect([status, name, branch]).toEqual(['active', 'tree', 'cadre/tree']);
      expect((await cadre(['worktrees', 'list', '--status', 'cleaned', '--json'])).json()).toEqual(
        [],
      );

      const claimed = await cadre(['worktrees', 'claim', end, '--session', other]);
      expect(claimed.stdout).toMatch(/^wt_\w+ is claimed as consumer\n$/);
      const twice = await cadre(['worktrees', 'claim', end, '--session', other, '--role', 'owner']);
      expect(twice.code).toBe(7);
      const shown = await cadre(['worktrees', 'get', end, '--json']);
      expect(shown.json()).toMatchObject({
        claims: [{ session_id: session }, { session_id: other }],
      });

      write(place, { new: 'mine' });
      const first = await cadre(['worktrees', 'release', end, '--session', other]);
      expect(first.stdout).toMatch(/^wt_\w+ is active, with 1 claims\n$/);
      expect((await cadre(['worktrees', 'cleanup', end])).code).toBe(5);
      const last = await cadre(['worktrees', 'release', end, '--session', session, '--keep']);
      expect(last.stdout).toMatch(/^wt_\w+ is retained, with 0 claims\n$/);
      const told = await cadre(['worktrees', 'gc']);
      expect(told.stdout).toContain('it would go, its work archived');
      expect(fs.existsSync(place)).toBe(true);
      const cleaned = await cadre(['worktrees', 'cleanup', end, '--reason', 'done']);
      expect(cleaned.stdout).toMatch(
        /^(wt_\w+): cleaned\n {2}archived: refs\/cadre\/archive\/\1\n$/,
      );
      expect(branches(repo)).toEqual(['main']);

      const back = await cadre(['worktrees', 'restore', end, '--name', 'tree-2']);
      expect(read(back.stdout.trim(), 'new')).toBe('mine');
      expect((await cadre(['worktrees', 'gc', '--remove'])).stdout).toMatch(/ cleaned /);
      expect(branches(repo)).toEqual(['main']);
      const unknown = await cadre(['worktrees', 'get', '00000000']);
      expect([unknown.code, unknown.stderr]).toEqual([
        3,
        'cadre: no worktree ends with "00000000"; see cadre worktrees list\n',
      ]);
    }));
});

describe('cadre worktrees trust', () => {
  test('shows what would run, allows it where somebody says so, and is taken back by untrust.', () =>
    withServer(async (server) => {
      const cadre = cadreOn(server);
      const repo = makeRepository(path.join(server.directory, 'repo'));
      const { id: session } = await openSession(server.client, repo);
      const create = (name: string, ...more: string[]) =>
        cadre(['worktrees', 'create', name, '--session', session, ...more]);
      const at = ['--repo', repo];
      expect((await cadre(['worktrees', 'trust', ...at])).code).toBe(3);
      write(repo, { '.cadre/worktree-init.sh': 'touch ran\n' });
      commit(repo, 'with a script');

      const asked = await create('asked', '--init-if-trusted');
      expect(asked.stderr).toContain(`cadre worktrees trust --repo ${repo}`);
      expect(fs.existsSync(path.join(asked.stdout.trim(), 'ran'))).toBe(false);
      expect(fs.existsSync(path.join((await create('said')).stdout.trim(), 'ran'))).toBe(true);
      const none = await create('none', '--no-init');
      expect(fs.existsSync(path.join(none.stdout.trim(), 'ran'))).toBe(false);

      const nobody = await cadre(['worktrees', 'trust', ...at]);
      expect([nobody.code, nobody.stdout]).toEqual([2, '']);
      expect(nobody.stderr).toContain('  | touch ran\n');
      const trusted = await cadre(['worktrees', 'trust', ...at, '--yes']);
      expect(trusted.stdout).toMatch(/^[0-9a-f]{64} may run for /);
      const sha256 = trusted.stdout.slice(0, 64);
      expect((await cadre(['worktrees', 'list-trusted', ...at])).stdout).toContain(sha256);
      const allowed = await create('allowed', '--init-if-trusted');
      expect(fs.existsSync(path.join(allowed.stdout.trim(), 'ran'))).toBe(true);

      const withdrawn = await cadre(['worktrees', 'untrust', ...at]);
      expect(withdrawn.stdout).toBe(`1 withdrawn for ${repo}\n`);
      const byDigest = await cadre(['worktrees', 'trust', ...at, '--sha256', sha256, '--json']);
      expect(byDigest.json()).toMatchObject([{ repo_root: repo, sha256 }]);
    }));
});
