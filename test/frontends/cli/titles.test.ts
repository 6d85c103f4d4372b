import { expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { cadreOn, completeHere } from '../../support/cli/cadre.ts';
import { sharedDemo } from '../../support/demo-server.ts';
import { openSession, withSession } from '../../support/turns.ts';

const server = sharedDemo();
const cadre = (...args: string[]) => cadreOn(server())(args);

test('A title is stored on one line and without control characters, and the session is found by it.', async () => {
  const { client, directory } = server();
  const { id, title } = await openSession(client, directory, {
    title: 'ctl \u001b[31mred\n two ',
  });
  expect(title).toBe('ctl red two');
  expect((await cadre('sessions', 'get', 'ctl red two', '-q')).stdout).toBe(`${id}\n`);
  const renamed = await cadre('sessions', 'rename', id, 'now\u0007 blue\t', '--json');
  expect(renamed.json()).toMatchObject({ id, title: 'now blue' });
  expect((await cadre('sessions', 'get', 'now blue', '-q')).stdout).toBe(`${id}\n`);
});

test('A blank title is refused when a session is created and when it is renamed.', async () => {
  const { id } = await withSession(server(), { title: 'stays' });
  for (const blank of ['', '  ', '\u200b\u001b[0m']) {
    const { code, stderr } = await cadre('sessions', 'rename', id, blank);
    expect([code, stderr]).toEqual([2, expect.stringMatching(/^cadre: <title>: /) as string]);
    const created = await cadre('sessions', 'create', '--title', blank);
    expect([created.code, created.stderr]).toEqual([
      2,
      expect.stringMatching(/^cadre: --title: /) as string,
    ]);
  }
  expect((await cadre('sessions', 'get', id, '--jq', '.title')).stdout).toBe('stays\n');
});

test('A title completes where a session is expected, with spaces as well.', async () => {
  const { client, directory } = await withSession(server(), { title: 'login' });
  await openSession(client, directory, { title: 'lost and found' });
  await openSession(client, directory, { title: 'lo$(reboot)' });
  const line = ['--data-dir', directory, 'sessions', 'show', 'lo'];
  const words = (await completeHere(directory, line)).stdout
    .split('\n')
    .map((one) => one.split('\t')[0]);
  expect(words).toEqual(expect.arrayContaining(['login', 'lost and found']));
  expect(words.join(' ')).not.toContain('reboot');
});

test('A member of a team is shown with the title of its session, unless it has one of its own.', async () => {
  const { client, session: lead } = await withSession(server(), { title: 'the lead' });
  await cadre('teams', 'create', 'titled', '--lead', lead.id);
  expect((await cadre('teams', 'show', 'titled')).stdout).toMatch(/ the lead\n/);
  const { members } = await client.call(endpoints.getTeamView, {
    params: {
      team_id: (await cadre('teams', 'show', 'titled', '-q')).stdout.trim(),
    },
    query: {},
  });
  expect(members).toMatchObject([{ title: null, session_title: 'the lead' }]);
});

test('An idle session ends the wait at once, even with --timeout 0s.', async () => {
  const { id } = await withSession(server());
  const { code, stdout } = await cadre('sessions', 'wait', id, '--timeout', '0s');
  expect([code, stdout]).toEqual([0, `${id.slice(-8)}\tready\t-\n`]);
});

test('On a terminal, closing, stopping and cleaning up ask first; "n" changes nothing.', async () => {
  const { id } = await withSession(server(), { title: 'asked' });
  const at = cadreOn(server());
  const no = await at(['sessions', 'close', 'asked'], { isTerminal: true, stdin: 'n\n' });
  expect([no.code, no.stdout]).toEqual([2, '']);
  expect(no.stderr).toContain('close session "asked" permanently? [y/N] ');
  expect(no.stderr).toContain('cadre: not confirmed: nothing was changed\n');
  expect((await cadre('sessions', 'get', id, '--jq', '.status')).stdout).toBe('ready\n');
  const yes = await at(['sessions', 'close', 'asked'], { isTerminal: true, stdin: 'y\n' });
  expect([yes.code, yes.stdout]).toEqual([0, `Closed session "asked" (${id})\n`]);

  await cadre('processes', 'run', 'sleep 1000');
  const [process] = (await cadre('processes', 'list', '-q')).stdout.split('\n');
  const kept = await at(['processes', 'kill', process ?? ''], { isTerminal: true, stdin: '\n' });
  expect(kept.code).toBe(2);
  expect((await cadre('processes', 'get', process ?? '', '--jq', '.ended_at')).stdout).toBe(
    'null\n',
  );
  const stopped = await at(['processes', 'stop', process ?? '', '--yes'], { isTerminal: true });
  expect(stopped.code).toBe(0);
});

test('Without a terminal nobody is asked.', async () => {
  const { id } = await withSession(server());
  expect(await cadre('sessions', 'close', id)).toMatchObject({ code: 0, stderr: '' });
});

test('The list shows the signal where an exit code would stand.', async () => {
  await cadre('processes', 'run', '--wait', 'kill -9 $$');
  expect((await cadre('processes', 'list')).stdout).toMatch(/\tfailed\tSIGKILL\t/);
});

test('After help, the commands complete, and after help and a group its commands.', async () => {
  const words = async (...line: string[]) =>
    (await completeHere(server().directory, line)).stdout
      .split('\n')
      .map((one) => one.split('\t')[0]);
  expect(await words('help', '')).toEqual(expect.arrayContaining(['run', 'sessions', 'doctor']));
  expect(await words('help', 'sessions', '')).toEqual(expect.arrayContaining(['show', 'close']));
  expect(await words('help', 'run', '')).toEqual(['']);
});

test('The option --model completes models of the provider that new sessions use.', async () => {
  const { directory } = server();
  const words = async (...line: string[]) =>
    (await completeHere(directory, ['--data-dir', directory, ...line])).stdout;
  expect(await words('run', '--model', '')).toBe(
    await words('run', '--provider', 'acp', '--model', ''),
  );
});
