import { describe, expect, it } from 'vitest';
import { ProviderError } from '../../../../src/agents/provider.ts';
import { completed, type ScriptedOptions } from '../../../support/scripted-provider.ts';
import { soon } from '../../../support/sessions/soon.ts';
import { acrossCrash, endOf, kinds, type Stage } from '../../../support/sessions/stage.ts';

/** A session whose agent has seen a turn. */
async function used(stage: Stage): Promise<string> {
  const { id } = await stage.open();
  const turn = await stage.play({ id });
  const { active_turn_id: turnId } = await stage.session(id);
  turn.end(completed);
  await stage.until(endOf(turnId ?? ''));
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

describe('the verification of sessions after a start', () => {
  it('The server answers during the verification, which fails the sessions that the provider has lost.', () => {
    const { has, asked, first, answer } = questions();
    return acrossCrash(
      async (stage) => {
        const unused = await stage.open();
        const closed = await used(stage);
        await stage.close(closed);
        return { here: await used(stage), lost: await used(stage), unused: unused.id };
      },
      async (stage, { here, lost, unused }) => {
        await soon(first, 'the question');
        expect(await stage.recovery()).toMatchObject({
          status: 'running',
          ended_at: null,
          sessions_failed: [],
        });
        answer.resolve([`ref-${lost}`]);
        const recovery = await done(stage);
        expect(recovery.ended_at).toBe(stage.clock.now());
        expect(recovery.sessions_failed).toMatchObject([
          { session_id: lost, code: 'resume_failed' },
        ]);
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
      },
      { after: { played: { has } } },
    );
  });

  it('A session that is closed or starts a turn during the verification does not fail.', () => {
    const { has, first, answer } = questions();
    return acrossCrash(
      async (stage) => ({ closed: await used(stage), busy: await used(stage) }),
      async (stage, { closed, busy }) => {
        await soon(first, 'the question');
        await stage.close(closed);
        await stage.play({ id: busy }, 'at work');
        answer.resolve([`ref-${closed}`, `ref-${busy}`]);
        const recovery = await done(stage);
        expect((await stage.session(closed)).status).toBe('closed');
        expect((await stage.session(busy)).status).toBe('running');
        expect(recovery.sessions_failed).toEqual([]);
      },
      { after: { played: { has } } },
    );
  });

  it('No session fails if the provider cannot answer.', () =>
    acrossCrash(
      used,
      async (stage, id) => {
        const recovery = await done(stage);
        expect(recovery.sessions_failed).toEqual([]);
        expect((await stage.session(id)).status).toBe('ready');
        expect(await stage.logged('cannot verify sessions')).toMatchObject({
          level: 'warn',
        });
      },
      {
        after: {
          played: {
            has: () =>
              Promise.reject(new ProviderError('provider_unavailable', 'it does not start')),
          },
        },
      },
    ));

  it('A session on the list of the provider counts as present without another request.', () => {
    const { has, asked } = questions();
    const refs: string[] = [];
    return acrossCrash(
      async (stage) => {
        const id = await used(stage);
        refs.push(`ref-${id}`);
        return id;
      },
      async (stage, id) => {
        expect((await done(stage)).sessions_failed).toEqual([]);
        expect(asked).toEqual([]);
        expect((await stage.session(id)).status).toBe('ready');
      },
      { after: { played: { has, listed: async () => new Set(refs) } } },
    );
  });

  it('Sessions of a provider without a list are not verified until their next turn.', () => {
    const { has, asked } = questions();
    return acrossCrash(
      used,
      async (stage) => {
        await done(stage);
        expect(asked).toEqual([]);
      },
      { after: { played: { has, listed: async () => null } } },
    );
  });

  it('A turn that is sent during the verification waits for the answer, and then runs.', () => {
    const { has, first, answer } = questions();
    return acrossCrash(
      used,
      async (stage, id) => {
        await soon(first, 'the question');
        await stage.send({ id }, 'go on');
        expect(stage.provider.agents).toEqual([]);
        answer.resolve([]);
        expect((await stage.provider.nextTurn()).text).toBe('go on');
      },
      { after: { played: { has } } },
    );
  });

  it('A start without sessions to verify asks no provider.', () => {
    const { has, asked } = questions();
    return acrossCrash(
      (stage) => stage.open(),
      async (stage) => {
        await done(stage);
        expect(asked).toEqual([]);
      },
      { after: { played: { has } } },
    );
  });

  it('A provider that cannot start an agent is not asked.', () => {
    const { has, asked } = questions();
    return acrossCrash(
      used,
      async (stage, id) => {
        await done(stage);
        expect(asked).toEqual([]);
        expect((await stage.session(id)).status).toBe('ready');
      },
      { after: { played: { has, problem: () => 'not installed' } } },
    );
  });

  it('The verification is aborted when the server stops.', () => {
    const { has, asked, first } = questions();
    return acrossCrash(
      used,
      async (stage, id) => {
        await stage.until(({ kind }) => kind === 'runtime.recovered');
        await soon(first, 'the question');
        expect(asked).toEqual([`ref-${id}`]);
        await soon(stage.given.runtime.stop(AbortSignal.abort()), 'the stop');
      },
      { after: { played: { has } } },
    );
  });
});
