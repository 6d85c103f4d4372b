import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import type { Session, Turn } from '../../../src/api/sessions.ts';
import { cadreOn } from '../../support/cli/cadre.ts';
import { sharedDemo } from '../../support/demo-server.ts';
import { type RawClaude, testRawClaude } from '../../support/providers/raw-claude.ts';
import { hasPty, runInTerminal } from '../../support/tui/pty.ts';

/** Requests two commands, and completes its turn whatever the answers are. */
const twice = {
  turns: {
    async go(claude: RawClaude) {
      await claude.ask('one', 'Bash', { command: 'make it' });
      await claude.ask('two', 'Bash', { command: 'make more' });
      claude.say('as far as I could');
      claude.result();
    },
  },
};
const declined =
  'cadre: 2 requests were declined because nobody was asked: to be asked, pass --permission-mode require_approval\n';

test('The end of run shows how many requests were declined and which flag asks, and exits with 5.', async () => {
  const { given } = await testRawClaude(twice);
  const cadre = cadreOn(given);
  const ran = await cadre(['run', '--provider', 'claude', 'go']);
  expect(ran).toMatchObject({ code: 5, stdout: 'as far as I could\n' });
  expect(ran.stderr.endsWith(declined)).toBe(true);
  const json = await cadre(['--json', 'run', '--provider', 'claude', 'go']);
  expect(json.code).toBe(5);
  expect(json.lines().at(-1)).toMatchObject({
    kind: 'turn.completed',
    payload: { turn: { declined_unasked: 2 } },
  });
});

test('cadre sessions send and sessions wait exit with 5 too, and sessions turns has the count.', async () => {
  const { given } = await testRawClaude(twice);
  const cadre = cadreOn(given);
  const created = await cadre(['sessions', 'create', '--provider', 'claude']);
  const id = created.stdout.trim();
  const sent = await cadre(['sessions', 'send', id, 'go']);
  expect([sent.code, sent.stderr.endsWith(declined)]).toEqual([5, true]);
  const waited = await cadre(['sessions', 'wait', id]);
  expect(waited).toMatchObject({
    code: 5,
    stdout: expect.stringContaining('completed: 2 requests were declined'),
  });
  const [turn] = (await cadre(['--json', 'sessions', 'turns', id])).json() as Turn[];
  expect(turn?.declined_unasked).toBe(2);
});

test('A run with a chosen permission mode prints the line, and exits as its turn ended.', async () => {
  const { given } = await testRawClaude(twice);
  for (const mode of ['default', 'read_only']) {
    const args = ['run', '--provider', 'claude', '--permission-mode', mode, 'go'];
    const ran = await cadreOn(given)(args);
    expect([mode, ran.code, ran.stderr.endsWith(declined)]).toEqual([mode, 0, true]);
  }
});

test('Modes of Claude Code are accepted, and an unknown mode is refused before anything is stored.', async () => {
  const { given } = await testRawClaude(twice);
  const cadre = cadreOn(given);
  const plan = await cadre(['run', '--provider', 'claude', '--permission-mode', 'plan', 'x']);
  expect(plan.code).toBe(0);
  const [{ id } = { id: '' }] = await given.client.call(endpoints.listSessions, {});
  const counts = async () => {
    const turns = await given.client.call(endpoints.listTurns, { params: { session_id: id } });
    return [(await given.client.call(endpoints.listSessions, {})).length, turns.length];
  };
  const before = await counts();
  for (const command of [
    ['run', '--provider', 'claude'],
    ['sessions', 'create', '--provider', 'claude'],
    ['run', '--session', id],
    ['sessions', 'send', id],
    ['sessions', 'send', '--queue', id],
  ]) {
    const text = command[1] === 'create' ? [] : ['x'];
    const refused = await cadre([...command, '--permission-mode', 'nope', ...text]);
    expect(refused).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /^cadre: unknown permission mode "nope": choose from default, require_approval, .*, or pass a mode of claude \(.*plan\)\n$/,
      ),
    });
  }
  expect(await counts()).toEqual(before);
});

const server = sharedDemo();
const modeOf = async (args: string[], more: Parameters<ReturnType<typeof cadreOn>>[1] = {}) => {
  const ended = await cadreOn(server())(['--json', 'sessions', 'create', ...args], more);
  return (ended.json() as Session).permission_mode;
};

test('A session asks where stdin is a terminal, and has no mode where it is not.', async () => {
  expect(await modeOf([], { isTerminal: true })).toBe('require_approval');
  expect(await modeOf([])).toBeNull();
});

test('The flag wins over [defaults], which wins over [client], which counts on a terminal only.', async () => {
  const file = path.join(server().directory, 'mine.toml');
  const env = { CADRE_CONFIG: file };
  fs.writeFileSync(file, '[client]\npermission_mode = "workspace_write"\n');
  expect(await modeOf([], { env, isTerminal: true })).toBe('workspace_write');
  expect(await modeOf([], { env })).toBeNull();
  fs.appendFileSync(file, '[defaults]\npermission_mode = "read_only"\n');
  expect(await modeOf([], { env: { ...env }, isTerminal: true })).toBe('read_only');
  expect(await modeOf([], { env: { ...env } })).toBe('read_only');
  const flag = ['--permission-mode', 'full_access'];
  expect(await modeOf(flag, { env: { ...env }, isTerminal: true })).toBe('full_access');
  const variable = { CADRE_CLIENT_PERMISSION_MODE: 'default' };
  expect(await modeOf([], { env: variable, isTerminal: true })).toBe('default');
});

test('A question that nobody was asked names the flag of the command line, and the run exits with 5.', async () => {
  const ran = await cadreOn(server())(['run', 'question Which colour | red | blue']);
  expect(ran.code).toBe(5);
  expect(ran.stderr).toBe(
    '[question_declined] cadre declined a question of the agent (Which colour): to answer questions of the agent, pass --permission-mode require_approval\n' +
      'cadre: 1 request was declined because nobody was asked: to be asked, pass --permission-mode require_approval\n',
  );
});

// Without Python there is no terminal to test in; on Debian: apt-get install python3.
test.skipIf(!hasPty)('A run at a terminal asks for approvals without a flag.', async () => {
  await using terminal = runInTerminal(server().directory, ['run', 'ask deploy']);
  await terminal.expectShows(/accept\?.*\[y\] once/);
  await terminal.type('y').ends(0);
  expect(terminal.emulator.text()).toContain('allowed (allow_once): deploy');
});

test.skipIf(!hasPty)(
  'A run with --json on a terminal prints on stderr how a request is answered.',
  async () => {
    await using terminal = runInTerminal(server().directory, ['--json', 'run', 'ask deploy']);
    await terminal.expectShows(/deploy: answer with cadre approvals accept \w+/);
    const [pending] = await server().client.call(endpoints.listApprovals, {});
    const params = { session_id: pending?.session_id ?? '', approval_id: pending?.id ?? '' };
    const body = { decision: 'accept' as const };
    await server().client.call(endpoints.decideApproval, { params, body });
    expect((await terminal.ended).code).toBe(0);
  },
);
