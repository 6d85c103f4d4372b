import { expect, test } from 'vitest';
import { cadreOn } from '../../support/cli/cadre.ts';
import { sharedDemo } from '../../support/demo-server.ts';
import { tempDirectory } from '../../support/temp.ts';

const server = sharedDemo();

test('A handoff prints the new session, and lists and conversations show both sessions.', async () => {
  await using directory = tempDirectory('handoff');
  const cadre = cadreOn(server());
  const cwd = directory.path;
  await cadre(['run', '--title', 'parser', 'say begun'], { cwd });
  const options = ['--provider', 'acp', '--note', 'say continued', '--title', 'second'];
  const handed = await cadre(['sessions', 'handoff', 'parser', ...options], { cwd });
  expect([handed.code, handed.stderr]).toEqual([0, '']);
  expect(handed.stdout).toMatch(
    /^Handed session \w{8} over to acp( demo)?: session "second" \(sess_\w+\)\n/,
  );
  const next = /sess_\w+/.exec(handed.stdout)?.[0] ?? '';
  await cadre(['sessions', 'wait', next], { cwd });
  const listed = await cadre(['sessions', 'list'], { cwd });
  expect(listed.stdout).toContain('ready, handed over');
  const old = await cadre(['sessions', 'show', 'parser'], { cwd });
  expect(old.stdout).toContain(`continued by session ${next}`);
  const shown = await cadre(['sessions', 'show', next], { cwd });
  expect(shown.stdout).toContain('continues session sess_');
  expect(shown.stdout).toContain('(record of the earlier conversation)');
  expect(shown.stdout).not.toContain('handoff_record');
  const got = await cadre(['sessions', 'get', next], { cwd });
  expect(got.stdout).toMatch(/^continues +sess_/m);
});

test('A handoff without a provider or an agent is an error of usage.', async () => {
  const { code, stderr } = await cadreOn(server())(['sessions', 'handoff', 'any']);
  expect(code).toBe(2);
  expect(stderr).toContain('name the new agent with --provider or --agent');
});
