import { describe, expect, test } from 'vitest';
import { sharedDemo } from '../../support/demo-server.ts';
import { endpoints } from '../../../src/api/index.ts';
import type { Client } from '../../../src/client/client.ts';
import { cadreOn } from '../../support/cli/cadre.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { testRuntime } from '../../support/runtime.ts';
import { completed, scriptedProvider } from '../../support/scripted-provider.ts';
import { openSession, runTurn, send, withSession } from '../../support/turns.ts';
import { hasPty, runInTerminal } from '../../support/tui/pty.ts';

const CTRL_C = '\u0003';
const CTRL_D = '\u0004';

/** Waits for the end of a turn, which follows shortly after its text is on the screen. */
function untilReady(client: Client, session_id: string): Promise<void> {
  const session = () => client.call(endpoints.getSession, { params: { session_id } });
  return expectEventually(session).toMatchObject({ status: 'ready' });
}

// Without Python there is no terminal to test in; on Debian: apt-get install python3.
describe.skipIf(!hasPty)('talking at the terminal', () => {
  const server = sharedDemo();

  test('The command run ends with the command that continues the session, and the session is seen.', async () => {
    const { client, directory } = server();
    await using terminal = runInTerminal(directory, ['run', 'tool look => x; say hi']);
    expect(await terminal.ended).toEqual({ code: 0, terminal: 'as it was' });
    const [session] = await client.call(endpoints.listSessions, { query: { limit: 1 } });
    const short = session?.id.slice(-8);
    expect(terminal.emulator.text().trim()).toBe(
      `[started] look\n[done] look\nhi\ncadre: continue with cadre run --session ${short} TEXT, or cadre sessions attach ${short}`,
    );
    expect(session?.seen_seq).toBeGreaterThanOrEqual(session?.news_seq ?? 0);
    await using again = runInTerminal(directory, ['run', '-c', 'say more']);
    expect((await again.ended).code).toBe(0);
    expect(again.emulator.text()).toContain(
      `cadre: continuing session "tool look => x; say hi" (${short})\nmore`,
    );
  });

  test('The command attach shows the end of a conversation, sends lines, and shows prompts of other clients.', async () => {
    const { client, directory, id } = await withSession(server(), { title: 'the job' });
    await runTurn(client, id, 'say before');
    await using terminal = runInTerminal(directory, ['sessions', 'attach', 'the job']);
    const { expectShows, type, emulator } = terminal;
    await expectShows(/> say before\n\nbefore\n.*the job: Ctrl-C interrupts.*\n>$/s);
    await type('say from here\r').shows(/> say from here\nfrom here\n>/);
    await untilReady(client, id);
    // An unsent line stays while other text appears above it.
    type('say half');
    await runTurn(client, id, 'tool look => x; say from another');
    await expectShows(
      /> tool look => x; say from another\n\[started\] look\n\[done\] look\nfrom another\n> say half$/,
    );
    await type(' and half\r').shows(/^half and half\n>/m);
    expect(emulator.text().match(/say from here/g)).toHaveLength(1);
    await type(CTRL_D).ends(0);
    await untilReady(client, id);
  });

  test('The command attach sends a pasted block and the text around it as one message.', async () => {
    const { client, directory, id } = await withSession(server());
    await using terminal = runInTerminal(directory, ['sessions', 'attach', id]);
    const { expectShows, type, emulator } = terminal;
    await expectShows(/^>$/m);
    expect(emulator.written).toContain('\u001b[?2004h');
    type('say one; ');
    type('\u001b[200~say two;\r\nsay \u001b[31mthree\n\n\u001b[20');
    await type('1~say').shows('> say one; say two;↵say threesay');
    await type(' four\r').shows(/^threesay four$/m);
    const turns = await client.call(endpoints.listTurns, { params: { session_id: id }, query: {} });
    expect(turns.map(({ input }) => input)).toEqual([
      [{ type: 'text', text: 'say one; say two;\nsay threesay four' }],
    ]);
    await type(CTRL_D).ends(0);
    expect(emulator.written.lastIndexOf('\u001b[?2004l')).toBeGreaterThan(
      emulator.written.lastIndexOf('\u001b[?2004h'),
    );
  });

  test('The command attach keeps an arrow that was typed or pasted, which it also shows for the line breaks of a paste.', async () => {
    const { client, directory, id } = await withSession(server());
    await using terminal = runInTerminal(directory, ['sessions', 'attach', id]);
    const { expectShows, type } = terminal;
    await expectShows(/^>$/m);
    await type('say a↵b; \u001b[200~say c↵d\nsay e\u001b[201~\r').shows(/^c↵d$/m);
    const turns = await client.call(endpoints.listTurns, { params: { session_id: id }, query: {} });
    const text = 'say a↵b; say c↵d\nsay e';
    expect(turns.map(({ input }) => input)).toEqual([[{ type: 'text', text }]]);
    await type(CTRL_D).ends(0);
  });

  test('The command attach ends with an error and gives the terminal back if its token is revoked.', async () => {
    const { client, directory, id } = await withSession(server());
    const body = { name: 'attached', scope: 'admin' as const };
    const token = await client.call(endpoints.createToken, { body });
    await using terminal = runInTerminal(directory, ['sessions', 'attach', id], {
      CADRE_TOKEN: token.secret,
    });
    await terminal.expectShows(/^>$/m);
    await client.call(endpoints.deleteToken, { params: { token_id: token.id } });
    expect(await terminal.ended).toEqual({ code: 4, terminal: 'as it was' });
    expect(terminal.emulator.text()).toContain('missing or invalid bearer token');
  });

  test('The command attach completes the slash commands of the agent by Tab, and shows its notices.', async () => {
    const { client, directory, id } = await withSession(server(), { title: 'slashes' });
    await runTurn(client, id, 'commands planning | testing; notice mind the gap');
    await using terminal = runInTerminal(directory, ['sessions', 'attach', id]);
    const { expectShows, type } = terminal;
    await expectShows(/^! notice: mind the gap\n.*Ctrl-D leaves\n>$/m);
    await type('/pl\t').shows(/^> \/planning$/m);
    await type('\u0015say no /pl\t').shows(/^> say no \/pl$/m);
    await type('\r').shows(/^no \/pl$/m);
    await type(CTRL_D).ends(0);
  });

  test('The command attach shows a running turn from its start; Ctrl-C interrupts the turn, and a line waits for its end.', async () => {
    const { client, directory, id } = await withSession(server());
    await send(client, id, 'say so far; silent');
    await using terminal = runInTerminal(directory, ['sessions', 'attach', id]);
    const { expectShows, type } = terminal;
    await expectShows(/> say so far; silent\nso far\n>/);
    await type('say next\r').shows('the prompt is sent when the turn ends');
    type(CTRL_C);
    await expectShows(
      /so far\n> say next\ncadre: queued[^]*the turn was interrupted\n> say next\nnext\n>/,
    );
    await type(CTRL_D).ends(0);
  });

  test('A line that was typed while a turn ran is in the queue, and is sent although attach has ended.', async () => {
    const { client, directory, id } = await withSession(server());
    await send(client, id, 'say so far; silent');
    await using terminal = runInTerminal(directory, ['sessions', 'attach', id]);
    const { expectShows, type } = terminal;
    await expectShows(/so far\n>/);
    await type('say first\r').shows('queued: the prompt is sent when the turn ends');
    await type(`say second\r${CTRL_D}`).ends(0);
    expect(terminal.emulator.text()).toMatch(
      /2 prompts stay in the queue: see cadre queue list --session \w+\n/,
    );
    const inSession = { params: { session_id: id } };
    const { active_turn_id } = await client.call(endpoints.getSession, inSession);
    const params = { session_id: id, turn_id: active_turn_id ?? '' };
    await client.call(endpoints.interruptTurn, { params, body: {} });
    await client.call(endpoints.resumeSessionQueue, { ...inSession, body: {} });
    const texts = async () =>
      (await client.call(endpoints.listTurns, inSession)).map((turn) => turn.text);
    await expectEventually(texts).toEqual(['second', 'first', 'so far']);
  });

  test('The command attach asks for approvals, and keeps the line of the user.', async () => {
    const { client, directory } = server();
    const mode = { permission_mode: 'require_approval' };
    const { id } = await openSession(client, directory, mode);
    await send(client, id, 'ask deploy');
    await using terminal = runInTerminal(directory, ['sessions', 'attach', id]);
    const { expectShows, type } = terminal;
    await expectShows(/accept\?.*\[y\] once/);
    await type('y').shows(/allowed \(allow_once\): deploy\n>/);
    await type('my li').shows('> my li');
    await untilReady(client, id);
    await send(client, id, 'ask again');
    await expectShows(/accept\?.*\[y\] once/);
    await type('n').shows(/rejected \(reject_once\): again\n> my li$/);
    type(CTRL_C);
    await expectEventually(() => terminal.emulator.text()).not.toContain('my li');
    await type(CTRL_D).ends(0);
  });

  test('The keys l and Ctrl-D leave a request open; the next attach asks again.', async () => {
    const { client, directory, id } = await withSession(server(), {
      permission_mode: 'require_approval',
    });
    await send(client, id, 'ask first');
    const leftOpen = /left open: answer it with cadre approvals accept \w+/;
    {
      await using terminal = runInTerminal(directory, ['sessions', 'attach', id]);
      await terminal.expectShows(/accept\?.*\[l\] later/);
      await terminal.type('l').shows(/left open: answer it with [^]*\n>$/);
      await terminal.type(CTRL_D).ends(0);
    }
    {
      await using terminal = runInTerminal(directory, ['sessions', 'attach', id]);
      await terminal.expectShows(/accept\?.*\[l\] later/);
      await terminal.type(CTRL_D).ends(0);
      expect(terminal.emulator.text()).toMatch(leftOpen);
    }
    await using terminal = runInTerminal(directory, ['sessions', 'attach', id]);
    await terminal.expectShows(/accept\?.*\[l\] later/);
    await terminal.type('l').shows(/left open: answer it with [^]*\n>$/);
    const [pending] = await client.call(endpoints.listApprovals, { query: { session_id: id } });
    const params = { session_id: id, approval_id: pending?.id ?? '' };
    await client.call(endpoints.decideApproval, { params, body: { decision: 'accept' } });
    await terminal.expectShows(/\[accepted elsewhere\] first/);
    await terminal.expectShows(/allowed \(allow_once\): first/);
    terminal.type(CTRL_D);
    expect((await terminal.ended).code).toBe(0);
  });

  test('The command attach does not repeat an answered request.', async () => {
    const { client, directory, id } = await withSession(server(), {
      permission_mode: 'require_approval',
    });
    await send(client, id, 'ask first; ask second');
    const pending = async () => client.call(endpoints.listSessionApprovals, inSession);
    const inSession = { params: { session_id: id }, query: { status: 'pending' as const } };
    await expectEventually(async () => (await pending()).length).toBe(1);
    const [first] = await pending();
    const params = { session_id: id, approval_id: first?.id ?? '' };
    await client.call(endpoints.decideApproval, { params, body: { decision: 'accept' } });
    await expectEventually(async () => (await pending())[0]?.title).toBe('second');
    await using terminal = runInTerminal(directory, ['sessions', 'attach', id]);
    await terminal.expectShows(/tool: second[^]*accept\?/);
    expect(terminal.emulator.written).not.toContain('tool: first');
    await terminal.type('n').shows(/rejected \(reject_once\): second/);
    await terminal.type(CTRL_D).ends(0);
  });

  test('A signal ends attach and restores the terminal; attach without a terminal is refused.', async () => {
    const { directory, id } = await withSession(server());
    await using terminal = runInTerminal(directory, ['sessions', 'attach', id]);
    await terminal.expectShows(/^>$/m);
    terminal.signal('SIGTERM');
    expect(await terminal.ended).toEqual({ code: 143, terminal: 'as it was' });
    const without = await cadreOn(server())(['sessions', 'attach', id]);
    expect([without.code, without.stderr]).toEqual([
      2,
      expect.stringMatching(/^cadre: not a terminal: use cadre sessions send/),
    ]);
  });

  test('Ctrl-C at the question for a secret ends the command.', async () => {
    const { directory } = server();
    await using terminal = runInTerminal(directory, ['providers', 'login', 'claude']);
    await terminal.expectShows('API key:');
    terminal.type('secret');
    terminal.type(CTRL_C);
    const { code, terminal: modes } = await terminal.ended;
    expect(code).not.toBe(0);
    expect(modes).toBe('as it was');
    expect(terminal.emulator.written).not.toContain('secret');
  });
});

describe.skipIf(!hasPty)('a question of an agent', () => {
  const question = {
    header: null,
    free: false,
    multiple: false,
    required: true,
    type: 'text' as const,
  };
  const questions = [
    {
      ...question,
      id: 'colour',
      question: 'Which colour?',
      options: [
        { label: 'red', description: 'as blood' },
        { label: 'blue', description: null },
      ],
    },
    { ...question, id: 'name', question: 'Which name?', options: [], free: true },
  ];

  test('The question of an agent is answered by number or by a text; /n declines.', async () => {
    const provider = scriptedProvider({ capabilities: { approvals: true } });
    const { directory } = await testRuntime({ providers: [provider] });
    for (const answers of [true, false]) {
      await using terminal = runInTerminal(directory, ['run', 'ask me']);
      const { expectShows, type, ended } = terminal;
      const turn = await provider.nextTurn();
      const answer = turn.ask({ kind: 'question', title: 'a choice', questions });
      await expectShows(/Which colour\?\n {2}1 {2}red: as blood\n {2}2 {2}blue\na number/);
      if (answers) {
        await type('7\r').shows('Enter a number from 1 to 2.');
        await type('2\r').shows(/Which name\?\na text/);
        type('Zoë\r');
        expect(await answer).toMatchObject({ answers: { colour: ['blue'], name: ['Zoë'] } });
      } else {
        type('/n\r');
        expect(await answer).toMatchObject({ decision: 'decline' });
      }
      turn.end(completed);
      expect(await ended).toEqual({ code: 0, terminal: 'as it was' });
    }
  });
});

describe.skipIf(!hasPty)('a choice of providers', () => {
  test('The terminal asks for a provider if several are ready, and names the setting that stores the choice.', async () => {
    const { client, directory } = await testRuntime({
      config: {
        providers: {
          acp: { enabled: false },
          claude: { enabled: true, command: '/bin/true' },
          codex: { enabled: true, command: '/bin/true' },
        },
      },
    });
    await using terminal = runInTerminal(directory, ['sessions', 'create']);
    const { expectShows, type } = terminal;
    await expectShows(/1 {2}claude .*\n {2}2 {2}codex .*\nWhich one\?/);
    await type('2\r').ends(0);
    expect(terminal.emulator.text()).toContain('add under [defaults] in');
    expect(terminal.emulator.text()).toContain(': provider = "codex"');
    const [session] = await client.call(endpoints.listSessions, {});
    expect(session?.provider).toBe('codex');
  });
});
