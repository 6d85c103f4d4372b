import { describe, expect, test, onTestFinished } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import { selfCommand } from '../../../src/core/lib/self.ts';
import { someOf } from '../../support/at-length.ts';
import { cadreOn } from '../../support/cli/cadre.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import {
  endTurn,
  type RawAgent,
  type RawAgentHarness,
  type AcpBehavior,
  testRawAgent,
} from '../../support/providers/raw-agent.ts';
import {
  hasPty,
  type TerminalProcess,
  runInTerminal,
  runProgramInTerminal,
} from '../../support/tui/pty.ts';

const command = (id: string, line: string) => ({
  toolCallId: id,
  title: line.split('\n')[0],
  kind: 'execute',
  rawInput: { command: line },
});

/** Requests several commands at once, and repeats the answers as a message. */
async function askAll(agent: RawAgent, ...lines: string[]) {
  const asked = lines.map((line, at) => agent.ask(command(`c${at}`, line)));
  const answers = await Promise.all(asked);
  agent.say(answers.map(({ optionId, outcome }) => optionId ?? outcome).join(' '));
  return endTurn;
}

const long = Array.from({ length: 40 }, (_, at) => `echo line ${at + 1}`).join('\n');

const edited = (from: string) =>
  Array.from({ length: 150 }, (_, at) => `${from} ${at + 1}`).join('\n');

const behavior: AcpBehavior = {
  turns: {
    one: (agent) => askAll(agent, 'ls harmless'),
    undescribed: async (agent) => {
      const { optionId } = await agent.ask({ toolCallId: 'u1', title: 'Shell', kind: 'execute' });
      agent.say(`${optionId}`);
      return endTurn;
    },
    two: (agent) => askAll(agent, 'ls harmless', 'rm -rf /precious'),
    long: (agent) => askAll(agent, long),
    diff: async (agent) => {
      const content = [
        { type: 'diff', path: '/src/auth.ts', oldText: edited('old'), newText: edited('new') },
      ];
      const call = { toolCallId: 'd1', title: 'Edit src/auth.ts', kind: 'edit', content };
      const { optionId } = await agent.ask(call);
      agent.say(`${optionId}`);
      return endTurn;
    },
  },
};

const prompt = /accept\?.*\[y\] once/;

/** Runs a turn with a request in a terminal of 20 lines. */
async function openAsking(
  turn: string,
  args: string[] = [],
): Promise<[TerminalProcess, RawAgentHarness]> {
  const harness = await testRawAgent(behavior);
  const mode = ['--permission-mode', 'require_approval'];
  const terminal = runInTerminal(harness.given.directory, ['run', ...mode, ...args, turn]);
  onTestFinished(() => terminal[Symbol.asyncDispose]());
  return [terminal, harness];
}

const approvals = async (
  { client }: RawAgentHarness,
  status: 'pending' | 'accepted' | 'declined',
) => (await client.call(endpoints.listApprovals, { query: { status } })).map(({ title }) => title);

// Without Python there is no terminal to test in; on Debian: apt-get install python3.
describe.skipIf(!hasPty)('asking at the terminal', () => {
  test('Two simultaneous approvals need two answers: one y accepts one of them.', async () => {
    const [{ expectShows, type, emulator }, harness] = await openAsking('two');
    await expectShows(prompt);
    expect(emulator.text()).toContain('ls harmless');
    expect(emulator.text()).not.toContain('command: rm');
    await type('yyy').shows('command: rm -rf /precious');
    await expectShows(prompt);
    expect(await approvals(harness, 'accepted')).toEqual(['ls harmless']);
    expect(await approvals(harness, 'pending')).toEqual(['rm -rf /precious']);
    await type('n').ends(0);
    expect(emulator.text()).toContain('a1 r1');
  });

  test('Ctrl-C at a question interrupts the turn, and the terminal is as it was.', async () => {
    const [{ expectShows, type }, harness] = await openAsking('two');
    await expectShows(prompt);
    await type('\u0003').ends(130);
    expect(await approvals(harness, 'accepted')).toEqual([]);
    const [session] = await harness.client.call(endpoints.listSessions, {});
    expect(session?.status).toBe('ready');
  });

  test.for([
    ['l', 'l'],
    ['Ctrl-D', '\u0004'],
  ])(
    'The key %s leaves the request open and ends the command with 5, and later input answers nothing.',
    async ([, key = '']) => {
      const [{ expectShows, type, emulator }, harness] = await openAsking('two');
      await expectShows(prompt);
      await type(`${key}y`).ends(5);
      expect(await approvals(harness, 'accepted')).toEqual([]);
      expect((await approvals(harness, 'pending')).toSorted()).toEqual([
        'ls harmless',
        'rm -rf /precious',
      ]);
      const [, id = ''] =
        /left open: answer it with cadre approvals accept (\w+) \(or decline\), or on the screen/.exec(
          emulator.text(),
        ) ?? [];
      expect(emulator.text()).toMatch(
        /continue with cadre run --session \w+ TEXT, or cadre sessions attach \w+/,
      );
      const cadre = cadreOn(harness.given);
      expect((await cadre(['approvals', 'accept', id])).stdout).toBe('accepted: ls harmless\n');
      const shown = await cadre(['approvals', 'show', id]);
      expect(shown.stdout).toMatch(/^decided_by +you \(token api\)$/m);
    },
  );

  test('The key v shows the request again, and d declines as on the screen.', async () => {
    const [{ expectShows, type, emulator }, harness] = await openAsking('one');
    await expectShows(prompt);
    type('v');
    const shown = () => emulator.written.match(/the agent requests approval/g)?.length;
    await expectEventually(shown).toBe(2);
    await expectShows(prompt);
    const prompts = () => emulator.written.match(/accept\?/g)?.length;
    await expectEventually(prompts).toBe(2);
    await type('d').ends(0);
    expect(await approvals(harness, 'declined')).toEqual(['ls harmless']);
  });

  test('Keys that were typed before the question accept nothing.', async () => {
    const harness = await testRawAgent({
      turns: {
        async early(agent) {
          agent.say('think');
          await typed.promise;
          return askAll(agent, 'ls harmless');
        },
      },
    });
    const { directory } = harness.given;
    const args = ['run', '--permission-mode', 'require_approval', 'early'];
    await using terminal = runInTerminal(directory, args);
    const { expectShows, type, ended } = terminal;
    await expectShows('think');
    await type('y\ny').shows(/y\r?\n?y/);
    typed.resolve();
    await expectShows(prompt);
    expect(await approvals(harness, 'pending')).toEqual(['ls harmless']);
    type('n');
    expect((await ended).code).toBe(0);
    expect(await approvals(harness, 'declined')).toEqual(['ls harmless']);
  });

  test.for([
    ['long', 'a command of 40 lines', '  echo line 40'],
    ['diff', 'a diff of 300 lines', 'new 150'],
  ])(
    'A request of the turn "%s" with %s is shown to its end before it can be accepted.',
    async ([turn = '', , last = '']) => {
      const [{ expectShows, type, emulator }, harness] = await openAsking(turn);
      let pages = 0;
      const stops = () => emulator.written.match(/more lines:|accept\?/g)?.length ?? 0;
      for (; !emulator.written.includes(last); pages++) {
        await expectEventually(stops).toBeGreaterThan(pages);
        expect(emulator.written).not.toMatch(prompt);
        // Before the end, an answer and other keys do nothing; then the next page is shown.
        type(`y\u001b[Bs${pages % 2 === 0 ? ' ' : '\r'}`);
        await expectEventually(stops).toBeGreaterThan(pages + 1);
      }
      expect(pages).toBeGreaterThan(turn === 'diff' ? 15 : 1);
      await expectShows(prompt);
      expect(await approvals(harness, 'accepted')).toEqual([]);
      await type('y').ends(0);
      expect(await approvals(harness, 'accepted')).toHaveLength(1);
    },
  );

  test('A request that the agent does not describe is accepted by a typed word alone.', async () => {
    const [{ expectShows, type, emulator }, harness] = await openAsking('undescribed');
    await expectShows(prompt);
    expect(emulator.text()).toContain('does not say what this request would do');
    await type('y').shows(/type yes to accept it:/);
    expect(await approvals(harness, 'accepted')).toEqual([]);
    // A wrong letter of the word changes nothing.
    await type('yy').shows(/type yes to accept it: y/);
    expect(await approvals(harness, 'accepted')).toEqual([]);
    await type('es').ends(0);
    expect(await approvals(harness, 'accepted')).toEqual(['Shell']);
  });

  test('The terminal asks for approvals also if the prompt is piped in.', async () => {
    const harness = await testRawAgent(behavior);
    const { file, args } = selfCommand();
    const cadre = [file, ...args, '--data-dir', harness.given.directory];
    const run = [...cadre, 'run', '--permission-mode', 'require_approval'];
    const line = ['/bin/sh', '-c', 'printf one | "$@"', 'sh', ...run];
    await using terminal = runProgramInTerminal(harness.given.directory, line);
    await terminal.expectShows(prompt);
    await terminal.type('y').ends(0);
    expect(await approvals(harness, 'accepted')).toEqual(['ls harmless']);
  });

  test('A question that another client answers is withdrawn.', async () => {
    const [{ expectShows, ended, emulator }, { client }] = await openAsking('one');
    await expectShows(prompt);
    const [pending] = await client.call(endpoints.listApprovals, {});
    const params = { session_id: pending?.session_id ?? '', approval_id: pending?.id ?? '' };
    const body = { decision: 'accept' as const };
    await client.call(endpoints.decideApproval, { params, body });
    expect(await ended).toEqual({ code: 0, terminal: 'as it was' });
    expect(emulator.text()).toMatch(/^ {2}accepted elsewhere$/m);
  });

  test.for(someOf(['SIGHUP', 'SIGTERM', 'SIGQUIT'] as const, 3))(
    'The terminal is restored when %s ends the command at a question.',
    async (name) => {
      const [{ expectShows, signal, ended }] = await openAsking('one');
      await expectShows(prompt);
      signal(name);
      expect((await ended).terminal).toBe('as it was');
    },
  );
});

const typed = Promise.withResolvers<void>();
