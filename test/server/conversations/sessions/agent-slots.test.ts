import { expect, it } from 'vitest';
import type { Session } from '../../../../src/api/sessions.ts';
import type { Agent, AgentKind, AgentUpdate } from '../../../../src/agents/provider.ts';
import { AgentPool } from '../../../../src/server/conversations/sessions/agent-pool.ts';
import { shortageFor } from '../../../../src/server/conversations/sessions/agent-slots.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

const IDLE_MS = 900_000;

/**
 * A pool with scripted agents. The name of a session is its family, its kind of agent and a number: `a/lasting/1`. The
 * session of a lasting agent cannot be resumed.
 */
function poolOf(max: number) {
  const clock = new ManualClock();
  const notices: string[] = [];
  const opened: string[] = [];
  const pool = new AgentPool({
    clock,
    maxLive: () => max,
    idleTimeoutMs: () => IDLE_MS,
    forkPointOf: () => undefined,
    suits: () => true,
    familyOf: (id) => id.split('/')[0] ?? '',
    outputs: { closeAside: () => Promise.resolve() },
    kinds: {
      usable: (_provider, agent) =>
        ({
          open: ({ id }: Session) => {
            opened.push(id);
            const gone = Promise.withResolvers<string>();
            return Promise.resolve({
              canResume: agent !== 'lasting',
              gone: gone.promise,
              isLost: () => false,
              end: () => Promise.resolve(gone.resolve('was ended')),
            } as Partial<Agent> as Agent);
          },
        }) as Partial<AgentKind> as AgentKind,
    },
  });
  const sessionOf = (id: string) => ({ id, provider: 'acp', agent: id.split('/')[1] }) as Session;
  const lease = async (id: string) => {
    const sink = {
      update: (update: AgentUpdate) => {
        if (update.type === 'notice') notices.push(`${id} ${update.code}`);
      },
    } as never;
    const { signal } = new AbortController();
    return pool.lease(
      sessionOf(id),
      () => sink,
      signal,
      (why) => notices.push(`${id} waits: ${why}`),
    );
  };
  const start = async (...ids: string[]) => {
    for (const id of ids) pool.release(await lease(id));
  };
  /** Starts the agent of a session without a turn. */
  const tryStart = (id: string) =>
    pool.tryStart(sessionOf(id), () => ({}) as never, new AbortController().signal);
  const isLive = (id: string) => pool.find(id) !== undefined;
  return { pool, clock, notices, opened, lease, tryStart, start, isLive };
}

it('Agents that cannot be ended when idle take at most half of the slots, so that a turn of any other agent starts.', async () => {
  const { pool, notices, lease, start, isLive, clock } = poolOf(4);
  await start('a/lasting/1', 'b/lasting/1');
  const third = lease('c/lasting/1');
  await start('c/plain/1', 'd/plain/1', 'e/plain/1');
  expect(isLive('c/lasting/1')).toBe(false);
  expect(pool.waiting).toMatchObject([{ session_id: 'c/lasting/1', waited_ms: 0 }]);
  clock.advance(5000);
  expect(notices).toEqual([
    'c/lasting/1 waits: sessions that cannot be resumed already use 2 agents, and may use at most 2 of the 4 agents that providers.max_live allows: 0 busy; 2 idle that cannot be resumed: a/lasting/1, b/lasting/1',
  ]);
  expect(pool.waiting[0]?.reason).toContain('a/lasting/1');
  // The slot of one that has been idle for so long is lent to the turn that waits.
  clock.advance(IDLE_MS);
  await third;
  expect([isLive('a/lasting/1'), isLive('b/lasting/1')]).toEqual([false, true]);
  expect(notices).toContain('a/lasting/1 agent_ended');
  expect(pool.waiting).toEqual([]);
  await pool.endAll();
});

it('An idle agent that cannot be resumed lives on for as long as no turn waits for its slot.', async () => {
  const { pool, start, clock, isLive, notices } = poolOf(4);
  await start('a/lasting/1');
  clock.advance(10 * IDLE_MS);
  await start('b/plain/1', 'c/plain/1', 'd/plain/1', 'e/plain/1');
  expect([isLive('a/lasting/1'), isLive('b/plain/1')]).toEqual([true, false]);
  expect(notices).toEqual([]);
  await pool.endAll();
});

it('A session and all that its agents have spawned take at most three quarters of the slots; others pass them in the queue.', async () => {
  const { pool, lease, clock, notices } = poolOf(4);
  const first = await lease('a/plain/1');
  await Promise.all([lease('a/plain/2'), lease('a/plain/3')]);
  const waits = [lease('a/plain/4'), lease('a/plain/5')];
  await lease('b/plain/1');
  clock.advance(5000);
  expect(notices[0]).toContain(
    'a/plain/4 waits: session a and its spawned sessions already use 3 agents, and may use at most 3 of the 4 agents',
  );
  expect(pool.waiting.map(({ session_id }) => session_id)).toEqual(['a/plain/4', 'a/plain/5']);
  pool.release(first);
  await waits[0];
  expect(pool.count()).toBe(4);
  void waits[1]?.catch(() => undefined);
  await pool.endAll();
});

it('One slot alone is lent to every kind of agent, one after the other.', async () => {
  const { pool, start, lease, clock, isLive } = poolOf(1);
  await start('a/lasting/1');
  const next = lease('b/plain/1');
  clock.advance(IDLE_MS);
  await next;
  expect([isLive('a/lasting/1'), isLive('b/plain/1')]).toEqual([false, true]);
  await pool.endAll();
});

it('A burst of first starts of a kind that turns out to be lasting takes no more than its quota.', async () => {
  const { pool, lease, start, isLive } = poolOf(4);
  const burst = ['a', 'b', 'c', 'd', 'e'].map((family) => lease(`${family}/lasting/1`));
  await Promise.all(burst.slice(0, 2));
  await start('f/plain/1', 'g/plain/1', 'h/plain/1');
  expect(pool.count('acp', 'lasting')).toBe(2);
  expect([isLive('a/lasting/1'), isLive('b/lasting/1')]).toEqual([true, true]);
  for (const one of burst.slice(2)) void one.catch(() => undefined);
  await pool.endAll();
});

it('A burst of first starts of a kind whose sessions can be resumed takes all slots, once the first has started.', async () => {
  const { pool, lease } = poolOf(4);
  await Promise.all(['a', 'b', 'c', 'd'].map((family) => lease(`${family}/plain/1`)));
  expect(pool.count()).toBe(4);
  await pool.endAll();
});

it('First starts of several kinds wait for each other only where they could exceed the quota of lasting agents.', () => {
  const slot = (kind: string, isLasting: boolean | null) => ({
    family: kind,
    sessionId: kind,
    kind,
    isLasting,
    isBusy: true,
  });
  const shortage = (...taken: ReturnType<typeof slot>[]) =>
    shortageFor(slot('new', null), taken, 4)?.by ?? null;
  expect(shortage(slot('a', null))).toBe(null);
  expect(shortage(slot('new', null))).toBe('unknown');
  expect(shortage(slot('a', null), slot('b', null))).toBe('unknown');
  expect(shortage(slot('a', null), slot('b', true))).toBe('unknown');
  // All live agents have answered. One more may exceed the quota, so that its answer becomes known, too.
  expect(shortage(slot('a', true), slot('b', true))).toBe(null);
});

it('A session whose agent starts for a turn gets no second agent for a try without a turn.', async () => {
  const { pool, opened, lease, tryStart, start } = poolOf(8);
  await start('a/plain/1');
  const leased = lease('b/plain/1');
  // The lease has a slot, and its start waits for the event loop.
  for (let at = 0; at < 10; at++) await Promise.resolve();
  expect(opened).toEqual(['a/plain/1']);
  expect(await tryStart('b/plain/1')).toBeUndefined();
  await leased;
  expect(opened).toEqual(['a/plain/1', 'b/plain/1']);
  await pool.endAll();
});
