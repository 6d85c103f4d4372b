import fs from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { goalOf, WAITS } from '../../../support/goals.ts';
import { completed } from '../../../support/scripted-provider.ts';
import { afterCrash, type Harness } from '../../../support/sessions/harness.ts';
import { testDirectory } from '../../../support/temp.ts';

async function begin(harness: Harness, cwd: string, command: string) {
  const session = await harness.open({ cwd });
  const goal = goalOf(harness, session);
  await goal.set(command);
  return { session, goal, turn: await harness.startTurn(session) };
}

const touch = (directory: string, name: string) => fs.writeFileSync(path.join(directory, name), '');

it('A server that is killed during a check runs the check again, and counts it once.', async () => {
  const directory = testDirectory('goal');
  const [harness, session] = await afterCrash(async (before) => {
    const { session, goal, turn } = await begin(before, directory, WAITS);
    turn.end(completed);
    await goal.running();
    return session;
  });
  touch(directory, 'go');
  const next = await harness.provider.nextTurn();
  expect(next.text).toContain('<failed_check round="1 of 5">');
  touch(directory, 'done');
  next.end(completed);
  expect(await goalOf(harness, session).ended()).toMatchObject({ status: 'passed', round: 2 });
});

it('A server that is killed during a turn checks the work after its start.', async () => {
  const directory = testDirectory('goal');
  const [harness, session] = await afterCrash(async (before) => {
    const { session } = await begin(before, directory, 'test -f done');
    touch(directory, 'done');
    return session;
  });
  expect(await goalOf(harness, session).ended()).toMatchObject({ status: 'passed', round: 1 });
  const { body } = await harness.get<{ status: string }[]>(`/v1/sessions/${session.id}/turns`);
  expect(body.map(({ status }) => status)).toEqual(['failed']);
});

it('A server that is killed after a failed check starts the turn for it once.', async () => {
  const directory = testDirectory('goal');
  const [harness, session] = await afterCrash(async (before) => {
    const { session, goal, turn } = await begin(before, directory, 'false');
    await before.post(`/v1/sessions/${session.id}/queue/pause`, {});
    turn.end(completed);
    await goal.checked(1);
    return session;
  });
  await harness.post(`/v1/sessions/${session.id}/queue/resume`, {});
  expect((await harness.provider.nextTurn()).text).toContain('<failed_check round="1 of 5">');
  const events = await harness.events(session.id);
  expect(events.filter(({ kind }) => kind === 'goal.checked')).toHaveLength(1);
  expect(events.filter(({ kind }) => kind === 'turn.accepted')).toHaveLength(2);
  await goalOf(harness, session).cancel();
});
