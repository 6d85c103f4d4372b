import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import type { Worktree } from '../../../src/api/worktrees.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { scaled } from '../../support/patience.ts';
import { seededRandom } from '../../support/random.ts';
import { startServer, type TestServer, untilNothingCarries } from '../../support/server.ts';
import { tempDirectory } from '../../support/temp.ts';
import { openSession } from '../../support/turns.ts';
import {
  cleanUp,
  commit,
  create,
  get,
  git,
  makeRepository,
  read,
  release,
  restore,
  write,
} from '../../support/worktrees/work.ts';

/** The number of kills: `KILLS=1000` for the whole campaign. */
const KILLS = Number(process.env.KILLS ?? 4);
/** The first kill that happens, which continues a campaign that was stopped. */
const FROM = Number(process.env.KILLS_FROM || 0);
const SEED = Number(process.env.SEED || 0) || Math.trunc(Date.now() % 1e9);
/** The server is killed within this time after the first request of an action, in milliseconds. Later rounds use a measured time. */
const FIRST_WINDOW_MS = 400;

interface Round {
  server: TestServer;
  session: string;
  repo: string;
  tree: Worktree;
  /** The file that only the commit of this round has. */
  file: string;
}

interface Action {
  run: (round: Round) => Promise<unknown>;
  /** Whether the action is done, so that the next server does not try it again. */
  isDone: (round: Round) => Promise<boolean> | boolean;
  /** The directory that has the file at the end. */
  place: (round: Round) => string;
}

const params = ({ tree }: Round) => ({ worktree_id: tree.id });
const isClaimed = async ({ server, tree }: Round) =>
  (await get(server, tree)).claims.some(({ released_at }) => released_at === null);

/** The actions in which a server is killed. The next server tries an unfinished action again, and has to finish it. */
const actions: Record<string, Action> = {
  merge: {
    run: (round) =>
      round.server.client.call(endpoints.mergeWorktree, {
        params: params(round),
        body: { dry_run: false },
      }),
    isDone: ({ repo, file }) => git(repo, 'ls-tree', '--name-only', 'main', file) === file,
    place: ({ repo }) => repo,
  },
  rebase: {
    run: (round) =>
      round.server.client.call(endpoints.rebaseWorktree, {
        params: params(round),
        body: { dry_run: false },
      }),
    isDone: ({ repo, tree }) =>
      git(repo, 'merge-base', 'main', tree.branch) === git(repo, 'rev-parse', 'main'),
    place: ({ tree }) => tree.path,
  },
  'cleanup and restore': {
    async run(round) {
      const { server, session, tree } = round;
      if (await isClaimed(round)) await release(server, tree, session);
      else if (fs.existsSync(tree.path)) await cleanUp(server, tree);
      await restore(server, tree);
    },
    // A cleanup that the kill interrupted may continue, so the whole action is tried again.
    isDone: () => false,
    place: ({ tree }) => tree.path,
  },
};

test(
  'A server that is killed at a random time in a merge, a rebase, a cleanup or a restore loses no file, and the next server finishes the work.',
  { timeout: scaled(120_000 + KILLS * 20_000) },
  async () => {
    await using directory = tempDirectory('merges-killed');
    const data = path.join(directory.path, 'data');
    fs.mkdirSync(data);
    const repo = makeRepository(path.join(directory.path, 'repo'));
    git(repo, 'config', 'user.name', 'Ada');
    git(repo, 'config', 'user.email', 'ada@example.org');
    const random = seededRandom(SEED);
    const names = Object.keys(actions);
    const unfinished: Record<string, number> = Object.fromEntries(names.map((name) => [name, 0]));
    const windows: Record<string, number> = {};
    let server = await startServer(data);
    let about = '';
    try {
      for (let kill = 0; kill < KILLS; kill++) {
        const moment = random();
        if (kill < FROM) continue;
        if (kill > FROM && kill % 25 === 0) console.info(`${kill} of ${KILLS} kills`);
        const name = names[kill % names.length] ?? '';
        const action = actions[name] as Action;
        about = `SEED=${SEED}, kill ${kill} in ${name}`;
        const file = `file-${kill}`;
        const { id: session } = await openSession(server.client, repo);
        const tree = await create({ ...server, session }, { worktree_name: `work-${kill}` });
        write(tree.path, { [file]: `${file}\n` });
        commit(tree.path, file);
        // The branches differ, so git cannot fast-forward.
        write(repo, { [`main-${kill}`]: 'main\n' });
        commit(repo, `main ${kill}`);

        const under = action.run({ server, session, repo, tree, file }).catch(() => undefined);
        await pause(moment * (windows[name] ?? FIRST_WINDOW_MS));
        await server.end('SIGKILL');
        await under;
        server = await startServer(data);
        const round = { server, session, repo, tree, file };
        const underWay = async () =>
          (await server.client.call(endpoints.getWorktreeDiagnostics, {})).under_way;
        await expectEventually(underWay, scaled(20_000)).toBe(0);
        expect(git(repo, 'status', '--porcelain'), `with ${about}`).toBe('');
        expect(git(repo, 'log', '--all', '--format=%s').split('\n'), `with ${about}`).toContain(
          file,
        );
        if (!(await action.isDone(round))) {
          unfinished[name] = (unfinished[name] ?? 0) + 1;
          const begun = performance.now();
          await action.run(round);
          windows[name] = Math.max(50, 1.2 * (performance.now() - begun));
        }
        expect(read(action.place(round), file), `with ${about}`).toBe(`${file}\n`);
        for (const place of [repo, tree.path])
          expect(git(place, 'status', '--porcelain'), `with ${about}`).toBe('');
        git(repo, 'fsck', '--connectivity-only', '--no-dangling');
        if (await isClaimed(round)) await release(server, tree, session);
        else await cleanUp(server, tree);
        if (name === 'merge') expect(read(repo, file), `with ${about}`).toBe(`${file}\n`);
      }
      console.info(
        `SEED=${SEED}: ${KILLS - FROM} kills, not finished before the kill: ${JSON.stringify(unfinished)}`,
      );
    } catch (error) {
      throw new Error(`failed with ${about}; the log of the server: ${server.log()}`, {
        cause: error,
      });
    } finally {
      await server.end('SIGKILL');
      await untilNothingCarries(directory.path);
    }
  },
);
