import path from 'node:path';
import { expect, test } from 'vitest';
import { endpoints } from '../../src/api/index.ts';
import { withDemo } from '../support/demo-server.ts';
import { expectEventually } from '../support/expect-eventually.ts';
import { withScreen } from '../support/tui/stage.tsx';
import { commit, git, makeRepository, write } from '../support/worktrees/work.ts';

test('The worktree of a session is merged with keys, once it was shown what that does.', () =>
  withDemo(async ({ client, directory }) => {
    const repo = makeRepository(path.join(directory, 'repo'));
    git(repo, 'config', 'user.name', 'Ada');
    git(repo, 'config', 'user.email', 'ada@example.org');
    const body = {
      provider: 'acp' as const,
      cwd: repo,
      title: 'the job',
      worktree: { worktree_name: 'tree' },
    };
    await client.call(endpoints.createSession, { body });
    const [tree] = await client.call(endpoints.listWorktrees, { query: {} });
    write(tree?.path ?? '', { 'new.txt': 'mine\n' });
    const mine = commit(tree?.path ?? '', 'mine');
    await withScreen(client, { page: 'top' }, async ({ expectShows, press }) => {
      await expectShows('the job');
      await press('M');
      await expectShows('cadre/tree into main: main moves forward');
      await expectShows('A new.txt +1 -0');
      await press('s');
      await expectShows('main gets one commit of all');
      await press('b');
      await expectShows('nothing to do');
      await press('y');
      expect(git(repo, 'rev-parse', 'main')).not.toBe(mine);
      await press('m');
      await expectShows('y do it');
      await press('y');
      await expectShows('merged into main; the worktree stays');
      await expectEventually(() => git(repo, 'rev-parse', 'main')).toBe(mine);
    });
  }));
