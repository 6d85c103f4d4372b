import { expect, it } from 'vitest';
import { ProviderError } from '../../../../src/agents/provider.ts';
import type { ScriptedOptions } from '../../../support/scripted-provider.ts';
import { soon } from '../../../support/sessions/with-timeout.ts';
import { kinds, type Stage, afterCrash } from '../../../support/sessions/harness.ts';

/** A session whose agent has seen a turn. */
async function used(stage: Stage): Promise<string> {
  const { id } = await stage.open();
  const turn = await stage.play({ id });
  await stage.complete(turn);
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
async function done(stage: Stage) {
  const looking = (async () => {
    for (;;) {
      const recovery = await stage.recovery();
      if (recovery.status === 'done') return recovery;
    }
  })();
  return soon(looking, 'the end of the verification');
}

it('The server answers during the verification, which fails the sessions that the provider has lost.', async () => {
  const { has, asked, first, answer } = questions();
  const [stage, { here, lost, unused }] = await afterCrash(
    async (stage) => {
      const unused = await stage.open();
      const closed = await used(stage);
      await stage.close(closed);
      return { here: await used(stage), lost: await used(stage), unused: unused.id };
    },
    { after: { played: { has } } },
  );
  await soon(first, 'the question');
  expect(await stage.recovery()).toMatchObject({
    status: 'running',
    ended_at: null,
    sessions_failed: [],
  });
  answer.resolve([`ref-${lost}`]);
  const recovery = await done(stage);
  expect(recovery.ended_at).toBe(stage.clock.now());
  expect(recovery.sessions_failed).toMatchObject([{ session_id: lost, code: 'resume_failed' }]);
  expect(await stage.session(lost)).toMatchObject({
    status: 'failed',
    failure: { code: 'resume_failed' },
  });
  expect(kinds(await stage.events(lost)).at(-1)).toBe('session.failed');
  expect((await stage.session(here)).status).toBe('ready');
  expect((await stage.session(unused)).status).toBe('ready');
  expect((await stage.send({ id: lost }, 'hello?')).body.code).toBe('session_failed');
  expect(asked).toEqual([`ref-${here}`, `ref-${lost}`]);
  expect(stage.provider.agents).toEqual([]);
});

it('A session that is closed or starts a turn during the verification does not fail.', async () => {
  const { has, first, answer } = questions();
  const [stage, { closed, busy }] = await afterCrash(
    async (stage) => ({ closed: await used(stage), busy: await used(stage) }),
    { after: { played: { has } } },
  );
  await soon(first, 'the question');
  await stage.close(closed);
  await stage.play({ id: busy }, 'at work');
  answer.resolve([`ref-${closed}`, `ref-${busy}`]);
  const recovery = await done(stage);
  expect((await stage.session(closed)).status).toBe('closed');
  expect((await stage.session(busy)).status).toBe('running');
  expect(recovery.sessions_failed).toEqual([]);
});

it('No session fails if the provider cannot answer.', async () => {
  const [stage, id] = await afterCrash(used, {
    after: {
      played: {
        has: () => Promise.reject(new ProviderError('provider_unavailable', 'it does not start')),
      },
    },
  });
  const recovery = await done(stage);
  expect(recovery.sessions_failed).toEqual([]);
  expect((await stage.session(id)).status).toBe('ready');
  expect(await stage.logged('cannot verify sessions')).toMatchObject({
    level: 'warn',
  });
});

it('A session on the list of the provider counts as present without another request.', async () => {
  const { has, asked } = questions();
  const refs: string[] = [];
  const [stage, id] = await afterCrash(
    async (stage) => {
      const id = await used(stage);
      refs.push(`ref-${id}`);
      return id;
    },
    { after: { played: { has, listed: async () => new Set(refs) } } },
  );
  expect((await done(stage)).sessions_failed).toEqual([]);
  expect(asked).toEqual([]);
  expect((await stage.session(id)).status).toBe('ready');
});

it('Sessions of a provider without a list are not verified until their next turn.', async () => {
  const { has, asked } = questions();
  const [stage] = await afterCrash(used, {
    after: { played: { has, listed: async () => null } },
  });
  await done(stage);
  expect(asked).toEqual([]);
});

it('A turn that is sent during the verification waits for the answer, and then runs.', async () => {
  const { has, first, answer } = questions();
  const [stage, id] = await afterCrash(used, { after: { played: { has } } });
  await soon(first, 'the question');
  await stage.send({ id }, 'go on');
  expect(stage.provider.agents).toEqual([]);
  answer.resolve([]);
  expect((await stage.provider.nextTurn()).text).toBe('go on');
});

it('A start without sessions to verify asks no provider.', async () => {
  const { has, asked } = questions();
  const [stage] = await afterCrash((stage) => stage.open(), { after: { played: { has } } });
  await done(stage);
  expect(asked).toEqual([]);
});

it('A provider that cannot start an agent is not asked.', async () => {
  const { has, asked } = questions();
  const [stage, id] = await afterCrash(used, {
    after: { played: { has, problem: () => 'not installed' } },
  });
  await done(stage);
  expect(asked).toEqual([]);
  expect((await stage.session(id)).status).toBe('ready');
});

it('The verification is aborted when the server stops.', async () => {
  const { has, asked, first } = questions();
  const [stage, id] = await afterCrash(used, { after: { played: { has } } });
  await stage.until(({ kind }) => kind === 'runtime.recovered');
  await soon(first, 'the question');
  expect(asked).toEqual([`ref-${id}`]);
  await soon(stage.given.runtime.stop(AbortSignal.abort()), 'the stop');
});
