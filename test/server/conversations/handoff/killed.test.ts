import { expect, it } from 'vitest';
import { endpoints } from '../../../../src/api/index.ts';
import type { Client } from '../../../../src/client/client.ts';
import { atLength } from '../../../support/at-length.ts';
import { expectEventually } from '../../../support/expect-eventually.ts';
import { scaled } from '../../../support/patience.ts';
import { seededRandom } from '../../../support/random.ts';
import { startServer } from '../../../support/server.ts';
import { testDirectory } from '../../../support/temp.ts';
import { openSession, runTurn, send } from '../../../support/turns.ts';
import { makeRepository } from '../../../support/worktrees/work.ts';

/** `KILLS=100` for a longer run. */
const KILLS = Number(process.env.KILLS ?? atLength(1, 20, 3));
const SEED = Number(process.env.SEED || 0) || Math.trunc(Date.now() % 1e9);
/** The places around the transaction, each with the number of hits up to which a server is killed there. */
const PLACES = [
  ['handoff.prepared', 1],
  ['handoff.stored', 1],
  ['commit.before', 6],
  ['commit.after', 6],
  ['sync.after', 6],
  ['turn.accepted', 1],
  ['turn.started', 1],
] as const;

/** Opens a session in a worktree of its own, with one turn. */
async function prepare(client: Client, cwd: string, name: string, more: object = {}) {
  const worktree = { worktree_name: name };
  const session = await openSession(client, cwd, { worktree, ...more });
  await runTurn(client, session.id, 'say begun');
  return { id: session.id, worktree_id: session.worktree_id ?? '' };
}

function handOff(client: Client, session_id: string) {
  const body = { provider: 'acp' as const, note: 'say continued' };
  const input = { params: { session_id }, body };
  return client.call(endpoints.handOffSession, input, undefined, `handoff-${session_id}`);
}

async function stateOf(client: Client, { id, worktree_id }: { id: string; worktree_id: string }) {
  const sessions = await client.call(endpoints.listSessions, { query: { limit: 500 } });
  const next = sessions.filter(({ continues }) => continues === id);
  const worktree = await client.call(endpoints.getWorktree, { params: { worktree_id } });
  const active = worktree.claims.filter(({ released_at }) => released_at === null);
  return {
    status: worktree.status,
    claimedBy: active.map(({ session_id }) => session_id),
    next: next.map((one) => one.id),
    continuedBy: sessions.find((one) => one.id === id)?.continued_by,
  };
}

it(
  'A server that is killed during a handoff has it done once or not at all, and its repeated request does it once.',
  { timeout: scaled(60_000 + KILLS * 20_000) },
  async () => {
    const directory = testDirectory('handoff-killed');
    const repository = makeRepository(testDirectory('handoff-repository'));
    const random = seededRandom(SEED);
    const below = (end: number) => Math.floor(random() * end);
    let stored = 0;
    for (let kill = 0; kill < KILLS; kill++) {
      const before = await startServer(directory);
      const old = await prepare(before.client, repository, `work-${kill}`);
      await before.end('SIGTERM');

      const [place, hits] = PLACES[below(PLACES.length)] ?? PLACES[0];
      const failpoint = `${place}=kill@${1 + below(hits)}`;
      const about = `SEED=${SEED}, kill ${kill} at ${failpoint}`;
      const env = { CADRE_FAILPOINTS: failpoint };
      const dying = await startServer(directory, { env }).catch(() => null);
      if (dying) {
        await handOff(dying.client, old.id).catch(() => undefined);
        await dying.end('SIGKILL');
      }

      const after = await startServer(directory);
      try {
        const found = await stateOf(after.client, old);
        expect(found.status, `with ${about}`).toBe('active');
        expect(found.next.length, `with ${about}`).toBeLessThanOrEqual(1);
        expect(found.continuedBy, `with ${about}`).toBe(found.next[0]);
        expect(found.claimedBy, `with ${about}`).toEqual([found.next[0] ?? old.id]);
        stored += found.next.length;

        const answer = await handOff(after.client, old.id);
        const done = await stateOf(after.client, old);
        expect(done.next, `with ${about}`).toEqual([answer.session.id]);
        expect(done.continuedBy, `with ${about}`).toBe(answer.session.id);
        expect(done.claimedBy, `with ${about}`).toEqual([answer.session.id]);
        if (found.next.length > 0) expect(done.next, `with ${about}`).toEqual(found.next);
        const params = { session_id: answer.session.id };
        const turns = () => after.client.call(endpoints.listTurns, { params, query: {} });
        // A turn that an agent may have seen fails at the restart; all others run.
        await expectEventually(
          async () => (await turns()).map(({ status, turn_id }) => `${turn_id} ${status}`),
          scaled(20_000),
        ).toEqual([expect.stringMatching(`^${answer.turn_id} (completed|failed)$`)]);
        expect((await turns())[0]?.source, `with ${about}`).toBe('handoff');
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

/** The places of a handoff at a usage limit, each with the number of hits up to which a server is killed there. */
const LIMIT_PLACES = [
  ['handoff.due', 1],
  ['handoff.prepared', 1],
  ['handoff.stored', 1],
  ['commit.before', 10],
  ['commit.after', 10],
  ['sync.after', 10],
  ['turn.ending', 2],
  ['turn.accepted', 2],
  ['turn.started', 2],
] as const;

/** Allows the agent demo to continue sessions of a repository. */
async function allowHandoff(client: Client, repo_root: string): Promise<void> {
  const look = { body: { repo_root, handoff: 'demo' } };
  const { brings } = await client.call(endpoints.lookAtBrought, look);
  const body = { repo_root, sha256: brings[0]?.sha256 ?? '' };
  await client.call(endpoints.trustContent, { body });
}

it(
  'A server that is killed while it hands a session over at a usage limit has done it exactly once after a restart.',
  { timeout: scaled(60_000 + KILLS * 20_000) },
  async () => {
    const directory = testDirectory('limit-killed');
    const repository = makeRepository(testDirectory('limit-repository'));
    const random = seededRandom(SEED);
    const below = (end: number) => Math.floor(random() * end);
    let handed = 0;
    for (let kill = 0; kill < KILLS; kill++) {
      const before = await startServer(directory);
      await allowHandoff(before.client, repository);
      const more = { after_limit: 'handoff:demo' };
      const old = await prepare(before.client, repository, `limit-${kill}`, more);
      await before.end('SIGTERM');

      const [place, hits] = LIMIT_PLACES[below(LIMIT_PLACES.length)] ?? LIMIT_PLACES[0];
      const failpoint = `${place}=kill@${1 + below(hits)}`;
      const about = `SEED=${SEED}, kill ${kill} at ${failpoint}`;
      const env = { CADRE_FAILPOINTS: failpoint };
      const dying = await startServer(directory, { env }).catch(() => null);
      if (dying) {
        await send(dying.client, old.id, 'limit 7200000').catch(() => undefined);
        await Promise.race([dying.exited, isHandedOver(dying.client, old)]);
        await dying.end('SIGKILL');
      }

      const after = await startServer(directory);
      try {
        const params = { session_id: old.id };
        const session = () => after.client.call(endpoints.getSession, { params });
        await expectEventually(
          async () => (await session()).active_turn_id,
          scaled(20_000),
        ).toBeNull();
        const isLimited = (await session()).last_turn_error?.code === 'usage_limit';
        const count = isLimited ? 1 : 0;
        await expectEventually(
          async () => (await stateOf(after.client, old)).next.length,
          scaled(20_000),
        ).toBe(count);
        const done = await stateOf(after.client, old);
        const [next] = done.next;
        expect(done.status, `with ${about}`).toBe('active');
        expect(done.continuedBy, `with ${about}`).toBe(next);
        expect(done.claimedBy, `with ${about}`).toEqual([next ?? old.id]);
        expect((await session()).usage_limit, `with ${about}`).toBeNull();
        if (next !== undefined) {
          const own = { params: { session_id: next }, query: {} };
          const turns = () => after.client.call(endpoints.listTurns, own);
          await expectEventually(
            async () => (await turns()).map(({ source, status }) => `${source} ${status}`),
            scaled(20_000),
          ).toEqual([expect.stringMatching(/^handoff (completed|failed)$/)]);
        }
        handed += count;
      } finally {
        await after.end('SIGTERM');
      }
    }
    if (KILLS >= 20) expect(handed, `SEED=${SEED}`).toBeGreaterThan(0);
  },
);

/** Resolves when the turn of the session that continues another one has ended, or the server no longer answers. */
async function isHandedOver(client: Client, old: { id: string; worktree_id: string }) {
  const next = async () => {
    const sessions = await client.call(endpoints.listSessions, { query: { limit: 500 } });
    return sessions.find(({ continues }) => continues === old.id)?.last_turn_status ?? null;
  };
  await expectEventually(() => next().catch(() => 'gone'), scaled(20_000)).not.toBeNull();
}
