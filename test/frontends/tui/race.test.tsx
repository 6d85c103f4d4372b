import path from 'node:path';
import { expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import type { RaceEntry } from '../../../src/frontends/tui/overview.ts';
import { raceDetails } from '../../../src/frontends/tui/list/row-text.ts';
import { testDemo } from '../../support/demo-server.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { testDirectory } from '../../support/temp.ts';
import { makeRepository } from '../../support/worktrees/work.ts';
import { testScreen } from './test-screen.tsx';

const start = { page: 'top' } as const;
const size = { rows: 24, columns: 200 };

test('The list marks the contenders of a race, and the pane shows the race and whether the session was kept.', async () => {
  const { client } = await testDemo();
  const before = testScreen(client, start, size);
  await before.expectShows('live');
  const cwd = makeRepository(path.join(testDirectory('race'), 'shop'));
  const { id: race_id } = await client.call(endpoints.startRace, {
    body: {
      prompt: 'say done',
      name: 'fix',
      cwd,
      contenders: [{ provider: 'acp' }, { provider: 'acp' }],
    },
  });
  const short = race_id.slice(-8);
  await before.expectShows(/fix-acp-1 .*\n.* · race fix · done/);
  await before.expectShows(/fix-acp-2 .*\n.* · race fix · done/);
  await before.expectShows(new RegExp(`race fix \\(${short}\\): acp-[12], none kept yet`));

  const status = async () => (await client.call(endpoints.getRace, { params: { race_id } })).status;
  await expectEventually(status).toBe('ended');
  await client.call(endpoints.keepContender, {
    params: { race_id },
    body: { contender: 'acp-1' },
  });
  const after = testScreen(client, start, size);
  for (const { press } of [before, after]) {
    await press('5').shows(/fix-acp-1 .*\n.* · race fix, kept · done/);
    await press('4').shows(/fix-acp-2 .*\n.* · race fix, not kept · done/);
  }
});

test.for([
  [null, 'race fix (1c0b1234): a, none kept yet'],
  ['a', 'race fix (1c0b1234): a, kept'],
  ['b', 'race fix (1c0b1234): a, not kept (kept: b)'],
] as const)('The details of a contender in a race that kept %s are one line.', ([kept, text]) => {
  const entry: RaceEntry = {
    race_id: 'race_019aa8d31c0b1234',
    race_name: 'fix\n',
    contender: 'a',
    kept,
  };
  expect(raceDetails(entry)).toBe(text);
});
