import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { cadreOn, testCadre } from '../../support/cli/cadre.ts';
import { sharedDemo } from '../../support/demo-server.ts';
import { storeOldRules } from '../../support/old-rules.ts';
import { testDirectory } from '../../support/temp.ts';
import { openSession } from '../../support/turns.ts';

const server = sharedDemo();

it('Approval rules answer the requests of an agent: allowed commands and edits proceed, and denied ones return a reason.', async () => {
  const { client, directory } = server();
  const cadre = cadreOn(server());
  const add = async (...words: string[]) => {
    const { stdout, code } = await cadre(['approvals', 'rules', 'add', ...words]);
    expect(code).toBe(0);
    return /^Added rule (rule_\w+): /.exec(stdout)?.[1] ?? '';
  };
  const allowing = await add('allow', '--command', 'echo **', '--directory', directory);
  await add('allow', '--path', 'notes/*.txt');
  await add('deny', '--command', 'rm **', '--reason', 'nothing is removed');
  writeFileSync(join(directory, 'notes.txt'), 'old\n');
  const { id } = await openSession(client, directory, { permission_mode: 'require_approval' });
  const turn = async (script: string) => {
    const done = await cadre(['sessions', 'send', id, script]);
    return [done.code, `${done.stdout}${done.stderr}`] as const;
  };

  expect(await turn('ask run: echo hi there')).toEqual([0, expect.stringContaining('accepted')]);
  expect(await turn('ask run: rm -rf notes')).toEqual([0, expect.stringContaining('declined')]);
  const [last] = (await cadre(['approvals', 'list', '--status', 'accepted', '--json'])).json() as {
    decided_by: string;
  }[];
  expect(last?.decided_by).toBe(allowing);

  const decisionOf = async (...words: string[]) =>
    (await cadre(['approvals', 'rules', 'test', ...words])).stdout;
  expect(await decisionOf('rm x')).toMatch(/^deny: rule_\w+, deny command rm \*\*\n$/);
  expect(await decisionOf('echo x > y')).toMatch(/^ask: .*">"\n$/);
  expect(await decisionOf('--path', 'notes/a.txt', '--cwd', directory)).toMatch(/^allow: /);

  const { stdout } = await cadre(['approvals', 'rules', 'list']);
  expect(stdout).toMatch(/\tallow\t.*command: echo \*\*, directory: /);
  expect((await cadre(['approvals', 'rules', 'remove', allowing])).stdout).toBe(
    `Removed rule ${allowing}\n`,
  );
  expect(await decisionOf('echo x')).toBe('ask: no rule matches\n');
});

it('A * behind a program that is not known to be safe needs --i-know.', async () => {
  const cadre = cadreOn(server());
  const words = ['approvals', 'rules', 'add', 'allow', '--command', 'something-new **'];
  const refused = await cadre(words);
  expect(refused.code).toBe(2);
  expect(refused.stderr).toContain('is not on the list of programs');
  expect(refused.stderr).toContain('pass --i-know');
  const added = await cadre([...words, '--i-know']);
  expect([added.code, added.stdout]).toEqual([0, expect.stringContaining('something-new **')]);
});

it('The list of rules and the doctor name each rule of an earlier version that could not be added now.', async () => {
  const own = testDirectory('old-rules');
  const directory = join(own, 'data');
  await storeOldRules(directory, [
    { id: 'rule_00000000000000000000000a', effect: 'allow', command: 'git push **' },
    { id: 'rule_00000000000000000000000b', effect: 'allow', command: 'ls docs' },
  ]);
  const { cadre } = await testCadre({ directory });
  expect((await cadre(['approvals', 'rules', 'list'])).stdout).toMatch(
    /0000000a\task\t.*git push \*\* \(the rule was added with effect allow, but now asks instead: .*remove it with cadre approvals rules remove 0000000a\)\n/,
  );
  const { checks } = (await cadre(['doctor', '--json'])).json() as {
    checks: { check: string; status: string; detail: string }[];
  };
  expect(checks.find(({ check }) => check === 'rules')).toEqual({
    check: 'rules',
    status: 'warn',
    detail: expect.stringMatching(
      /^remove these rules with .*: rule_0+a \(git push \*\*\): the rule was added with effect allow/,
    ) as unknown,
  });
  expect((await cadre(['approvals', 'rules', 'remove', '0000000a'])).code).toBe(0);
});

it('A search in a directory that is not an absolute path is refused.', async () => {
  const { client } = server();
  const query = { cwd: 'relative' };
  await expect(client.call(endpoints.search, { query })).rejects.toMatchObject({
    code: 'invalid',
    message: expect.stringContaining('must be an absolute path') as unknown,
  });
});
