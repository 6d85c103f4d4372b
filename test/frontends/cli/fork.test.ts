import { expect, test } from 'vitest';
import { cadreOn } from '../../support/cli/cadre.ts';
import { sharedDemo } from '../../support/demo-server.ts';
import { tempDirectory } from '../../support/temp.ts';

const server = sharedDemo();

test('A fork prints the new session, whose agent has the history and whose conversation shows the past turns.', async () => {
  await using directory = tempDirectory('fork');
  const cadre = cadreOn(server());
  const cwd = directory.path;
  await cadre(['run', '--title', 'origin', 'say begun'], { cwd });
  const forked = await cadre(['sessions', 'fork', 'origin', '--title', 'branch'], { cwd });
  expect([forked.code, forked.stderr]).toEqual([0, '']);
  expect(forked.stdout).toMatch(
    /^Forked session \w{8}: session "branch" \(sess_\w+\) has 1 past turn\nContinue with cadre sessions send \w{8}\n$/,
  );
  await cadre(['sessions', 'send', 'branch', 'say more'], { cwd });
  const shown = await cadre(['sessions', 'show', 'branch'], { cwd });
  expect(shown.stdout).toContain('forked from session sess_');
  expect(shown.stdout).toContain('the turn above ran before the fork of this session');
  expect(shown.stdout.indexOf('begun')).toBeLessThan(shown.stdout.indexOf('more'));
  const got = await cadre(['sessions', 'get', 'branch', '--json'], { cwd });
  // The demo agent forks whole sessions.
  expect(JSON.parse(got.stdout)).toMatchObject({ forked_from: { way: 'agent', past_turns: 1 } });
});

test('A rewind continues from an earlier turn, named by the end of its id, and the list shows the closed session.', async () => {
  await using directory = tempDirectory('rewind');
  const cadre = cadreOn(server());
  const cwd = directory.path;
  await cadre(['run', '--title', 'long', 'say one'], { cwd });
  await cadre(['sessions', 'send', 'long', 'say two'], { cwd });
  const turns = await cadre(['sessions', 'turns', 'long', '--json'], { cwd });
  const [, first] = JSON.parse(turns.stdout) as { turn_id: string }[];
  const end = first?.turn_id.slice(-8) ?? '';
  const rewound = await cadre(['sessions', 'rewind', 'long', '--to', end], { cwd });
  expect(rewound.stdout).toMatch(/^Rewound session \w{8}: session "long" \(sess_\w+\) has 1 past/);
  const next = /sess_\w+/.exec(rewound.stdout)?.[0] ?? '';
  const listed = await cadre(['sessions', 'list', '--status', 'closed'], { cwd });
  expect(listed.stdout).toContain('closed, continued');
  await cadre(['sessions', 'send', next, 'say three'], { cwd });
  const shown = await cadre(['sessions', 'show', next], { cwd });
  expect(shown.stdout).toContain('one');
  expect(shown.stdout).not.toContain('two');
});

test('A rewind without a turn is an error of usage.', async () => {
  const { code, stderr } = await cadreOn(server())(['sessions', 'rewind', 'any']);
  expect(code).toBe(2);
  expect(stderr).toContain('--to');
});
