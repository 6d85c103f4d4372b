import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { cadreOn } from '../support/cli/cadre.ts';
import { sharedDemo } from '../support/demo-server.ts';
import { openSession } from '../support/turns.ts';

const server = sharedDemo();

it('What rules decide is not asked: an agent runs and edits what they allow, and is told what they deny.', async () => {
  const { client, directory } = server();
  const cadre = cadreOn(server());
  const add = async (...words: string[]) => {
    const { stdout, code } = await cadre(['approvals', 'rules', 'add', ...words]);
    expect(code).toBe(0);
    return /^(rule_\w+): /.exec(stdout)?.[1] ?? '';
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

  const test = async (...words: string[]) =>
    (await cadre(['approvals', 'rules', 'test', ...words])).stdout;
  expect(await test('rm x')).toMatch(/^deny: rule_\w+, deny command rm \*\*\n$/);
  expect(await test('echo x > y')).toMatch(/^ask: .*">"\n$/);
  expect(await test('--path', 'notes/a.txt', '--cwd', directory)).toMatch(/^allow: /);

  const { stdout } = await cadre(['approvals', 'rules', 'list']);
  expect(stdout).toMatch(/allow .* command: echo \*\*, directory: /);
  expect((await cadre(['approvals', 'rules', 'remove', allowing])).stdout).toBe(
    `${allowing} is removed\n`,
  );
  expect(await test('echo x')).toBe('ask: no rule fits\n');
});
