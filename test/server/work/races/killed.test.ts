import fs from 'node:fs';
import { expect, it } from 'vitest';
import type { Worktree } from '../../../../src/api/worktrees.ts';
import { racesOn, work } from '../../../support/races.ts';
import { completed } from '../../../support/scripted-provider.ts';
import { afterCrash, kinds } from '../../../support/sessions/harness.ts';
import { testDirectory } from '../../../support/temp.ts';
import { makeRepository } from '../../../support/worktrees/work.ts';

/** Worktrees outside of the data directory, because the next server has a copy of it. */
function outside() {
  return { config: { worktrees: { root_dir: testDirectory('race-worktrees') } } };
}

it('A server that is killed while the contenders run judges each of them once after its start.', async () => {
  const repository = makeRepository(testDirectory('race'));
  const options = outside();
  const [harness, id] = await afterCrash(
    async (before) => {
      const races = racesOn(before, repository);
      const { body: race } = await races.start({ check: 'test -f done' });
      work((await races.turns())['acp-a'] as never, 'done');
      return race.id;
    },
    { before: options, after: options },
  );
  const races = racesOn(harness, repository);
  const ended = await races.ended(id);
  expect(ended.contenders.map(({ status }) => status)).toEqual(['passed', 'failed']);
  const all = kinds(await harness.events());
  expect(all.filter((kind) => kind.startsWith('race.'))).toEqual([
    'race.started',
    'race.contender_started',
    'race.contender_started',
    'race.judged',
    'race.judged',
    'race.ended',
  ]);
  expect(all.filter((kind) => kind === 'turn.accepted')).toHaveLength(2);
  expect((await harness.get<Worktree[]>('/v1/worktrees')).body).toHaveLength(2);
});

it('A server that is killed after a contender was kept removes the other worktree after its start.', async () => {
  const repository = makeRepository(testDirectory('race'));
  const options = outside();
  const [harness, left] = await afterCrash(
    async (before) => {
      const races = racesOn(before, repository);
      const { body: race } = await races.start();
      const turns = await races.turns();
      for (const [name, turn] of Object.entries(turns)) {
        work(turn, `${name}.txt`);
        turn.end(completed);
      }
      await races.ended(race.id);
      await races.keep(race.id, 'acp-b');
      return { id: race.id, cwd: turns['acp-a']?.session.cwd ?? '' };
    },
    {
      before: {
        ...options,
        failpoint: (name) => {
          if (name === 'race.kept') throw new Error('the cleanup does not begin');
        },
      },
      after: options,
    },
  );
  await harness.until(({ kind }) => kind === 'worktree.cleaned');
  expect(fs.existsSync(left.cwd)).toBe(false);
  const { body } = await racesOn(harness, repository).keep(left.id, 'acp-b');
  expect(body.cleanups).toMatchObject([
    { status: 'cleaned', archive_ref: expect.stringContaining('refs/cadre/archive/') },
  ]);
  expect(kinds(await harness.events()).filter((kind) => kind === 'race.kept')).toHaveLength(1);
});
