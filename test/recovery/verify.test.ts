import { describe, expect, it } from 'vitest';
import { ProviderError } from '../../src/providers/provider.ts';
import { completed } from '../support/scripted-provider.ts';
import { soon } from '../sessions/support/soon.ts';
import { acrossCrash, endOf, kinds, type Stage } from '../sessions/support/stage.ts';
import type { PlayedOptions } from '../sessions/support/played-provider.ts';

/** A session whose agent has seen a turn. */
async function used(stage: Stage): Promise<string> {
  const { id } = await stage.open();
  const turn = await stage.play({ id });
  const { active_turn_id: turnId } = await stage.session(id);
  turn.end(completed);
  await stage.until(endOf(turnId ?? ''));
  return id;
}

/** A question to the provider that the test answers. */
function questions() {
  const asked = Promise.withResolvers<readonly { ref: string; cwd: string }[]>();
  const answer = Promise.withResolvers<string[]>();
  let count = 0;
  const missing: PlayedOptions['missing'] = (sessions, signal) => {
    count++;
    asked.resolve(sessions);
    return new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error));
      answer.promise.then(resolve, reject);
    });
  };
  return { missing, asked: asked.promise, answer, count: () => count };
}

/** Resolves when the summary says that all were asked for. Nothing else tells of it, so it is asked. */
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
  it('runs while the server answers, and fails what the provider has no more', () => {
    const { missing, asked, answer, count } = questions();
    return acrossCrash(
      async (stage) => {
        const unused = await stage.open();
        const closed = await used(stage);
        await stage.close(closed);
        return { here: await used(stage), lost: await used(stage), unused: unused.id };
      },
      async (stage, { here, lost, unused }) => {
        const sessions = await soon(asked, 'the question');
        expect(sessions.map(({ ref }) => ref)).toEqual([`ref-${here}`, `ref-${lost}`]);
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
        expect([count(), stage.provider.agents]).toEqual([1, []]);
      },
      { after: { played: { missing } } },
    );
  });

  it('does not fail a session that was closed, or got to work, meanwhile', () => {
    const { missing, asked, answer } = questions();
    return acrossCrash(
      async (stage) => ({ closed: await used(stage), busy: await used(stage) }),
      async (stage, { closed, busy }) => {
        await soon(asked, 'the question');
        await stage.close(closed);
        await stage.play({ id: busy }, 'at work');
        answer.resolve([`ref-${closed}`, `ref-${busy}`]);
        const recovery = await done(stage);
        expect((await stage.session(closed)).status).toBe('closed');
        expect((await stage.session(busy)).status).toBe('running');
        expect(recovery.sessions_failed).toEqual([]);
      },
      { after: { played: { missing } } },
    );
  });

  it('fails nothing where the provider cannot tell', () =>
    acrossCrash(
      used,
      async (stage, id) => {
        const recovery = await done(stage);
        expect(recovery.sessions_failed).toEqual([]);
        expect((await stage.session(id)).status).toBe('ready');
        expect(await stage.logged('sessions could not be verified')).toMatchObject({
          level: 'warn',
          provider: 'acp',
        });
      },
      {
        after: {
          played: {
            missing: () =>
              Promise.reject(new ProviderError('provider_unavailable', 'it does not start')),
          },
        },
      },
    ));

  it('asks nobody where there is nothing to ask for', () => {
    const { missing, count } = questions();
    return acrossCrash(
      (stage) => stage.open(),
      async (stage) => {
        await done(stage);
        expect(count()).toBe(0);
      },
      { after: { played: { missing } } },
    );
  });

  it('asks no provider that could start no agent', () => {
    const { missing, count } = questions();
    return acrossCrash(
      used,
      async (stage, id) => {
        await done(stage);
        expect(count()).toBe(0);
        expect((await stage.session(id)).status).toBe('ready');
      },
      { after: { played: { missing, problem: () => 'not installed' } } },
    );
  });

  it('is given up when the server stops', () => {
    const { missing, asked } = questions();
    return acrossCrash(
      used,
      async (stage, id) => {
        await stage.until(({ kind }) => kind === 'runtime.recovered');
        expect((await soon(asked, 'the question')).map(({ ref }) => ref)).toEqual([`ref-${id}`]);
        await soon(stage.given.runtime.stop(AbortSignal.abort()), 'the stop');
      },
      { after: { played: { missing } } },
    );
  });
});
