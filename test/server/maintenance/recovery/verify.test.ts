import { expect, it } from 'vitest';
import { ProviderError } from '../../../../src/agents/provider.ts';
import { sqlWasm } from '../../../../src/core/lib/self.ts';
import { openConnection } from '../../../../src/core/store/connection.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import type { ScriptedOptions } from '../../../support/scripted-provider.ts';
import { withTimeout } from '../../../support/sessions/with-timeout.ts';
import {
  kinds,
  type Harness,
  afterCrash,
  testHarness,
  withHarness,
} from '../../../support/sessions/harness.ts';
import { testDirectory } from '../../../support/temp.ts';

/** A session whose agent has seen a turn. */
async function used(harness: Harness): Promise<string> {
  const { id } = await harness.open();
  const turn = await harness.startTurn({ id });
  await harness.complete(turn);
  return id;
}

/** Questions to the provider that the test answers: with the refs of the sessions that it has no more. */
function questions() {
  const asked: string[] = [];
  const first = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<string[]>();
  const has: ScriptedOptions['has'] = async ({ ref }, signal) => {
    asked.push(ref);
    first.resolve();
    const given = new Promise<never>((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error));
    });
    return !(await Promise.race([answer.promise, given])).includes(ref);
  };
  return { has, asked, first: first.promise, answer };
}

/** Resolves once the summary reports the end of the verification. Polls, because no event reports it. */
async function done(harness: Harness) {
  const looking = (async () => {
    for (;;) {
      const recovery = await harness.recovery();
      if (recovery.status === 'done') return recovery;
    }
  })();
  return withTimeout(looking, 'the end of the verification');
}

it('The server answers during the verification, which fails the sessions that the provider has lost.', async () => {
  const { has, asked, first, answer } = questions();
  const [harness, { here, lost, unused }] = await afterCrash(
    async (harness) => {
      const unused = await harness.open();
      const closed = await used(harness);
      await harness.close(closed);
      return { here: await used(harness), lost: await used(harness), unused: unused.id };
    },
    { after: { agents: { has } } },
  );
  await withTimeout(first, 'the question');
  expect(await harness.recovery()).toMatchObject({
    status: 'running',
    ended_at: null,
    sessions_failed: [],
  });
  answer.resolve([`ref-${lost}`]);
  const recovery = await done(harness);
  expect(recovery.ended_at).toBe(harness.clock.now());
  expect(recovery.sessions_failed).toMatchObject([{ session_id: lost, code: 'resume_failed' }]);
  expect(await harness.session(lost)).toMatchObject({
    status: 'failed',
    failure: { code: 'resume_failed' },
  });
  expect(kinds(await harness.events(lost)).at(-1)).toBe('session.failed');
  expect((await harness.session(here)).status).toBe('ready');
  expect((await harness.session(unused)).status).toBe('ready');
  expect((await harness.send({ id: lost }, 'hello?')).body.code).toBe('session_failed');
  expect(asked).toEqual([`ref-${here}`, `ref-${lost}`]);
  expect(harness.provider.agents).toEqual([]);
});

it('A session that is closed or starts a turn during the verification does not fail.', async () => {
  const { has, first, answer } = questions();
  const [harness, { closed, busy }] = await afterCrash(
    async (harness) => ({ closed: await used(harness), busy: await used(harness) }),
    { after: { agents: { has } } },
  );
  await withTimeout(first, 'the question');
  await harness.close(closed);
  await harness.startTurn({ id: busy }, 'at work');
  answer.resolve([`ref-${closed}`, `ref-${busy}`]);
  const recovery = await done(harness);
  expect((await harness.session(closed)).status).toBe('closed');
  expect((await harness.session(busy)).status).toBe('running');
  expect(recovery.sessions_failed).toEqual([]);
});

it('No session fails if the provider cannot answer.', async () => {
  const [harness, id] = await afterCrash(used, {
    after: {
      agents: {
        has: () => Promise.reject(new ProviderError('provider_unavailable', 'it does not start')),
      },
    },
  });
  const recovery = await done(harness);
  expect(recovery.sessions_failed).toEqual([]);
  expect((await harness.session(id)).status).toBe('ready');
  expect(await harness.logged('cannot verify sessions')).toMatchObject({
    level: 'warn',
  });
});

it('A session on the list of the provider counts as present without another request.', async () => {
  const { has, asked } = questions();
  const refs: string[] = [];
  const [harness, id] = await afterCrash(
    async (harness) => {
      const id = await used(harness);
      refs.push(`ref-${id}`);
      return id;
    },
    { after: { agents: { has, listed: async () => new Set(refs) } } },
  );
  expect((await done(harness)).sessions_failed).toEqual([]);
  expect(asked).toEqual([]);
  expect((await harness.session(id)).status).toBe('ready');
});

it('Sessions of a provider without a list are not verified until their next turn.', async () => {
  const { has, asked } = questions();
  const [harness] = await afterCrash(used, {
    after: { agents: { has, listed: async () => null } },
  });
  await done(harness);
  expect(asked).toEqual([]);
});

it('A turn that is sent during the verification waits for the answer, and then runs.', async () => {
  const { has, first, answer } = questions();
  const [harness, id] = await afterCrash(used, { after: { agents: { has } } });
  await withTimeout(first, 'the question');
  await harness.send({ id }, 'go on');
  expect(harness.provider.agents).toEqual([]);
  answer.resolve([]);
  expect((await harness.provider.nextTurn()).text).toBe('go on');
});

it('A start without sessions to verify asks no provider.', async () => {
  const { has, asked } = questions();
  const [harness] = await afterCrash((harness) => harness.open(), { after: { agents: { has } } });
  await done(harness);
  expect(asked).toEqual([]);
});

it('A provider that cannot start an agent is not asked.', async () => {
  const { has, asked } = questions();
  const [harness, id] = await afterCrash(used, {
    after: { agents: { has, problem: () => 'not installed' } },
  });
  await done(harness);
  expect(asked).toEqual([]);
  expect((await harness.session(id)).status).toBe('ready');
});

it('The verification is aborted when the server stops.', async () => {
  const { has, asked, first } = questions();
  const [harness, id] = await afterCrash(used, { after: { agents: { has } } });
  await harness.until(({ kind }) => kind === 'runtime.recovered');
  await withTimeout(first, 'the question');
  expect(asked).toEqual([`ref-${id}`]);
  await withTimeout(harness.given.runtime.stop(AbortSignal.abort()), 'the stop');
});

it('The verification passes over a damaged session.', async () => {
  const directory = testDirectory('data');
  const clock = new ManualClock();
  const write = async (harness: Harness) => [await used(harness), await used(harness)];
  const [, lost] = await withHarness(write, { directory, clock });
  {
    using connection = await openConnection({ wasm: sqlWasm, directory });
    connection.sql.exec('UPDATE sessions SET sum = sum + 1 WHERE n = 1');
  }
  const agents = { has: () => Promise.resolve(false) };
  const harness = await testHarness({ directory, clock: new ManualClock(clock.now()), agents });
  const { sessions_failed } = await done(harness);
  expect(sessions_failed).toMatchObject([{ session_id: lost }]);
});
