import { expect, it } from 'vitest';
import { endpoints } from '../../../../src/api/index.ts';
import type { Client } from '../../../../src/client/client.ts';
import { atLength } from '../../../support/at-length.ts';
import { scaled } from '../../../support/patience.ts';
import { seededRandom } from '../../../support/random.ts';
import { startServer } from '../../../support/server.ts';
import { testDirectory } from '../../../support/temp.ts';
import { openSession, runTurn } from '../../../support/turns.ts';
import { makeRepository } from '../../../support/worktrees/work.ts';

/** `KILLS=100` for a longer run. */
const KILLS = Number(process.env.KILLS ?? atLength(1, 20, 3));
const SEED = Number(process.env.SEED || 0) || Math.trunc(Date.now() % 1e9);
/** The places around the transaction, each with the number of hits up to which a server is killed there. */
const PLACES = [
  ['fork.prepared', 1],
  ['fork.stored', 1],
  ['commit.before', 6],
  ['commit.after', 6],
  ['sync.after', 6],
  ['worktree.made', 1],
] as const;
const WAYS = ['fork', 'worktree', 'rewind'] as const;

interface Origin {
  id: string;
  turn_id: string;
}

/** Opens a session in a worktree of its own, with two turns. */
async function prepare(client: Client, cwd: string, name: string): Promise<Origin> {
  const { id } = await openSession(client, cwd, { worktree: { worktree_name: name } });
  const { turn } = await runTurn(client, id, 'say one');
  await runTurn(client, id, 'say two');
  return { id, turn_id: turn.turn_id };
}

function ask(client: Client, way: (typeof WAYS)[number], { id, turn_id }: Origin) {
  const params = { session_id: id };
  const key = `${way}-${id}`;
  if (way === 'rewind')
    return client.call(endpoints.rewindSession, { params, body: { turn_id } }, undefined, key);
  const worktree = way === 'worktree' ? { worktree_name: `fork-${id.slice(-8)}` } : null;
  return client.call(
    endpoints.forkSession,
    { params, body: { turn_id, worktree } },
    undefined,
    key,
  );
}

async function stateOf(client: Client, { id }: Origin) {
  const sessions = await client.call(endpoints.listSessions, { query: { limit: 500 } });
  const origin = sessions.find((one) => one.id === id);
  const forks = sessions.filter(({ forked_from }) => forked_from?.session_id === id);
  const worktrees = await client.call(endpoints.listWorktrees, { query: { limit: 500 } });
  const claimed = worktrees.filter(({ status }) => status === 'active').map((one) => one.id);
  return { origin, forks, claimed };
}

it(
  'A server that is killed during a fork or a rewind has the new session once or not at all, and its repeated request opens it once.',
  { timeout: scaled(60_000 + KILLS * 20_000) },
  async () => {
    const directory = testDirectory('fork-killed');
    const repository = makeRepository(testDirectory('fork-repository'));
    const random = seededRandom(SEED);
    const below = (end: number) => Math.floor(random() * end);
    let stored = 0;
    for (let kill = 0; kill < KILLS; kill++) {
      const before = await startServer(directory);
      const origin = await prepare(before.client, repository, `work-${kill}`);
      await before.end('SIGTERM');

      const way = WAYS[below(WAYS.length)] ?? 'fork';
      const [place, hits] = PLACES[below(PLACES.length)] ?? PLACES[0];
      const failpoint = `${place}=kill@${1 + below(hits)}`;
      const about = `SEED=${SEED}, kill ${kill} of a ${way} at ${failpoint}`;
      const env = { CADRE_FAILPOINTS: failpoint };
      const dying = await startServer(directory, { env }).catch(() => null);
      if (dying) {
        await ask(dying.client, way, origin).catch(() => undefined);
        await dying.end('SIGKILL');
      }

      const after = await startServer(directory);
      try {
        const found = await stateOf(after.client, origin);
        expect(found.forks.length, `with ${about}`).toBeLessThanOrEqual(1);
        const isClosed = way === 'rewind' && found.forks.length === 1;
        expect(found.origin?.status, `with ${about}`).toBe(isClosed ? 'closed' : 'ready');
        expect(found.origin?.continued_by, `with ${about}`).toBe(
          isClosed ? found.forks[0]?.id : undefined,
        );
        stored += found.forks.length;

        const { id: session_id, worktree_id } = await ask(after.client, way, origin);
        const done = await stateOf(after.client, origin);
        expect(
          done.forks.map((one) => one.id),
          `with ${about}`,
        ).toEqual([session_id]);
        if (found.forks.length > 0) expect(found.forks[0]?.id, `with ${about}`).toBe(session_id);
        expect(done.claimed, `with ${about}`).toContain(worktree_id);
        const params = { session_id };
        const past = await after.client.call(endpoints.listPastTurns, { params, query: {} });
        expect(
          past.map(({ prompt }) => prompt),
          `with ${about}`,
        ).toEqual(['say one']);
        const { turn } = await runTurn(after.client, session_id, 'say three');
        expect(turn, `with ${about}`).toMatchObject({ status: 'completed', text: 'three' });
      } finally {
        await after.end('SIGTERM');
      }
    }
    if (KILLS >= 20) {
      expect(stored, `SEED=${SEED}`).toBeGreaterThan(0);
      expect(stored, `SEED=${SEED}`).toBeLessThan(KILLS);
    }
  },
);
