import { expect, test } from 'vitest';
import { anError, expectError } from '../../support/an-error.ts';
import { endpoints } from '../../../src/api/index.ts';
import { someOf } from '../../support/at-length.ts';
import { ofKind } from '../../support/turns.ts';
import { decide, itemsOf, until } from '../../support/providers/calls.ts';
import {
  type ClaudeBehavior,
  type RawClaude,
  sharedRawClaude,
  testRawClaude,
} from '../../support/providers/raw-claude.ts';

const on = sharedRawClaude();
/** For root, claude only accepts full_access in a sandbox. */
const inSandbox = sharedRawClaude({ env: { IS_SANDBOX: '1' } });

const asking = { permission_mode: 'require_approval' };
const isRoot = process.getuid?.() === 0;

/** Requests a permission for a tool and repeats the answer as a message. */
function asks(id: string, tool: string, input: object): ClaudeBehavior {
  return {
    turns: {
      async go(claude) {
        claude.call(`t_${id}`, tool, input);
        const { response } = await claude.ask(id, tool, input);
        claude.say(JSON.stringify(response));
        claude.result();
      },
    },
  };
}

const tools = [
  ['Bash', { command: 'make it', description: 'makes' }, 'command', 'make it'],
  ['Write', { file_path: '/a', content: 'x' }, 'file_change', 'Write /a'],
  ['Edit', { file_path: '/a', old_string: 'x' }, 'file_change', 'Edit /a'],
  ['WebFetch', { url: 'http://x' }, 'tool', 'WebFetch http://x'],
  ['mcp__a__b', { what: 1 }, 'tool', 'mcp__a__b: {"what":1}'],
] as const;
test.for(someOf(tools, 2))(
  'An approval shows the kind and the input of %s.',
  async ([tool, input, kind, title]) => {
    const { firstApproval } = on(asks('q', tool, input));
    const { session, approval } = await firstApproval('go', asking);
    expect(approval).toMatchObject({ kind, title, request: { tool_name: tool, input } });
    const { text } = await session.decide(approval, 'accept');
    expect(JSON.parse(text ?? '')).toEqual({ behavior: 'allow', updatedInput: input });
  },
);

const rules = [
  { type: 'addRules', behavior: 'allow', rules: [{ toolName: 'Bash', ruleContent: 'make:*' }] },
  { type: 'addDirectories', directories: ['/else'] },
];
const mode = { type: 'setMode', mode: 'acceptEdits' };

/** Requests a permission with suggestions of lasting permissions, and repeats the answer as a message. */
function proposes(suggestions: unknown): ClaudeBehavior {
  return {
    turns: {
      async go(claude) {
        const permission_suggestions = suggestions;
        const { response } = await claude.ask('q', 'Edit', {}, { permission_suggestions });
        claude.say(JSON.stringify(response));
        claude.result();
      },
    },
  };
}

test.for([
  [rules, 'Bash(make:*); access to /else'],
  [
    [mode],
    'all file changes in the working directory, including those made by commands such as mv, rm and sed',
  ],
] as const)(
  'A permission that claude suggests is accepted for the session only.',
  async ([given, allows]) => {
    const suggestions = given.map((one) => ({ ...one, destination: 'localSettings' }));
    const { firstApproval } = on(proposes(suggestions));
    const { session, turnId, approval } = await firstApproval('go', asking);
    expect(approval).toMatchObject({ scopes: ['once', 'session'], session_allows: allows });
    await session.decide(approval, 'accept', 'session');
    expect(JSON.parse((await session.turn(turnId)).text ?? '')).toEqual({
      behavior: 'allow',
      updatedInput: {},
      updatedPermissions: given.map((one) => ({ ...one, destination: 'session' })),
    });
  },
);

const notForSession = [
  ['no permission', undefined],
  ['a rule that denies', [{ ...rules[0], behavior: 'deny' }]],
  ['another mode', [{ type: 'setMode', mode: 'bypassPermissions' }]],
  ['a permission of an unknown type', [...rules, { type: 'somethingNew' }]],
] as const;
test.for(someOf(notForSession, 2))(
  'A request that suggests %s can be accepted once only.',
  async ([, suggestions]) => {
    const { firstApproval, client } = on(proposes(suggestions));
    const { session, approval } = await firstApproval('go', asking);
    expect(approval).toMatchObject({ scopes: ['once'], session_allows: null });
    const refused = decide(client, approval, 'accept', 'session');
    await expectError(refused, 'invalid');
    expect((await session.decide(approval, 'accept')).text).not.toContain('updatedPermissions');
  },
);

test('Edits that were accepted for the session apply in turns with require_approval only.', async () => {
  const { firstApproval, agents } = on(proposes([mode]));
  const { session, approval } = await firstApproval('go', asking);
  await session.decide(approval, 'accept', 'session');
  await session.run('hello', { permission_mode: 'default' });
  await session.run('hello', { permission_mode: 'require_approval' });
  const modes = agents[0]?.requests('set_permission_mode').map((one) => one.mode);
  expect(modes).toEqual(['default', 'acceptEdits']);
});

test('A question is answered with the chosen options.', async () => {
  const questions = [
    { question: 'Which one?', header: 'Pick', options: [{ label: 'A' }, { label: 'B' }] },
    { question: 'And how?', header: 'How', multiSelect: true, options: [] },
  ];
  const { firstApproval, client } = on(asks('q', 'AskUserQuestion', { questions }));
  const { session, turnId, approval } = await firstApproval('go', asking);
  expect(approval).toMatchObject({ kind: 'question', title: 'Which one? And how?' });
  const params = { session_id: session.id, approval_id: approval.id };
  for (const [wrong, why] of [
    [{}, 'required answers are missing; questions: "Which one?", "And how?"'],
    [{ 'Which one?': ['A', 'B'], How: ['fast'] }, '"Which one?" accepts one answer'],
    [{ 'Which one?': ['B'], How: [] }, '"How" requires at least one answer'],
    [{ Pick: ['B'], How: ['fast'], Why: ['so'] }, 'there is no question "Why"'],
  ] as const) {
    const body = { decision: 'accept' as const, answers: wrong as Record<string, string[]> };
    const refused = client.call(endpoints.decideApproval, { params, body });
    await expectError(refused, 'invalid', why);
  }
  const answers = { 'Which one?': ['B'], How: ['fast', 'well'] };
  await client.call(endpoints.decideApproval, { params, body: { decision: 'accept', answers } });
  await session.watch.end(turnId);
  expect(JSON.parse((await session.turn(turnId)).text ?? '')).toEqual({
    behavior: 'allow',
    updatedInput: { questions, answers: { 'Which one?': 'B', 'And how?': 'fast, well' } },
  });
});

test.for(someOf([null, 'read_only', 'workspace_write', 'plan'], 2))(
  'A request in permission_mode %s is denied with the reason, and nobody is asked.',
  async (permission_mode) => {
    const { firstTurn } = on(asks('q', 'Bash', { command: 'it' }));
    const { session, turn } = await firstTurn('go', permission_mode ? { permission_mode } : {});
    expect([turn.status, turn.declined_unasked]).toEqual(['completed', 1]);
    const answer = JSON.parse(turn.text ?? '') as { behavior: string; message: string };
    expect(answer.behavior).toBe('deny');
    expect(answer.message).toContain(`"${permission_mode ?? 'default'}"`);
    expect(answer.message).toContain('require_approval');
    expect(ofKind(session.watch.events, 'approval.requested')).toEqual([]);
  },
);

test('A request that claude withdraws cancels its approval and is not answered.', async () => {
  const { firstApproval, agents, client } = on({
    turns: {
      go(claude) {
        void claude.ask('q', 'Bash', { command: 'it' }).catch(() => undefined);
        claude.send({ type: 'control_cancel_request', request_id: 'never asked' });
      },
    },
  });
  const { session, turnId, approval } = await firstApproval('go', asking);
  agents[0]?.send({ type: 'control_cancel_request', request_id: 'q' });
  const { payload } = await session.watch.kind('approval.resolved', turnId);
  expect(payload.approval).toMatchObject({ status: 'cancelled' });
  await expectError(decide(client, approval, 'accept'), 'approval_resolved');
  agents[0]?.result();
  await session.watch.end(turnId);
  expect(agents[0]?.answerTo('q')).toBeUndefined();
});

test('A request of an unknown kind is refused and counted.', async () => {
  const { open, agents, diagnostics } = await testRawClaude({
    turns: {
      async go(claude) {
        const subtypes = { h: 'hook_callback', odd: { toString: 1 } };
        for (const [request_id, subtype] of Object.entries(subtypes)) {
          claude.send({ type: 'control_request', request_id, request: { subtype } });
          await until('it is answered', () => claude.answerTo(request_id) !== undefined);
        }
        claude.result();
      },
    },
  });
  await (await open()).run('go');
  for (const id of ['h', 'odd'])
    expect(agents[0]?.answerTo(id)).toMatchObject({ subtype: 'error' });
  expect((await diagnostics()).unknown_messages).toBe(2);
});

test('A tool call of a subagent is pending until its approval and then runs.', async () => {
  const { firstApproval, client } = on({
    turns: {
      async go(claude) {
        await claude.ask('q', 'Bash', { command: 'it' });
        claude.result();
      },
    },
  });
  const { session, turnId, approval } = await firstApproval('go', asking);
  await session.decide(approval, 'accept');
  const [tool] = await itemsOf(client, await session.turn(turnId));
  expect(tool).toMatchObject({ kind: 'tool', tool: { title: 'it', kind: 'execute' } });
  const statuses = session.watch.of(turnId).flatMap(({ payload }) => payload.status ?? []);
  expect(statuses.slice(0, 2)).toEqual(['pending', 'running']);
});

test('A permission mode applies to its own turn, and the next turn has the mode of the session.', async () => {
  const { open, agents } = on({});
  const session = await open();
  for (const permission_mode of ['read_only', 'accept_edits', 'dontAsk', undefined, undefined])
    await session.run('x', permission_mode ? { permission_mode } : {});
  const modes = agents[0]?.requests('set_permission_mode').map(({ mode }) => mode);
  expect(modes).toEqual(['plan', 'acceptEdits', 'dontAsk', 'default']);
});

test('A mode that claude changed by itself is restored for the next turn.', async () => {
  const { firstTurn, agents } = on({
    turns: {
      go(claude) {
        claude.send({ type: 'system', subtype: 'status', permissionMode: 'acceptEdits' });
        claude.result();
      },
    },
  });
  const { session } = await firstTurn('go');
  await session.run('x');
  const modes = agents[0]?.requests('set_permission_mode').map(({ mode }) => mode);
  expect(modes).toEqual(['default']);
});

test('A mode that claude refuses fails the turn, and later unknown modes are refused at once.', async () => {
  const refuses = ({ mode }: Record<string, unknown>) => {
    if (!['plan', 'default', 'acceptEdits'].includes(String(mode)))
      throw new Error('Cannot set permission mode: must be one of plan, default, acceptEdits');
  };
  const behavior = { requests: { set_permission_mode: refuses } };

  const { open, firstTurn } = await testRawClaude(behavior);
  const { session, turn } = await firstTurn('x', { permission_mode: 'bogus' });
  expect(turn.error?.code).toBe('invalid_permission_mode');
  expect(turn.error?.message).toContain('must be one of plan, default');
  const refusal = anError(
    'invalid',
    /unknown permission_mode "other": choose from .*read_only.*plan/,
  );
  await expect(session.send('x', { permission_mode: 'other' })).rejects.toMatchObject(refusal);
  await expect(open({ permission_mode: 'other' })).rejects.toMatchObject(refusal);
  for (const permission_mode of ['plan', 'read_only', 'workspace_write', 'require_approval'])
    expect((await session.run('x', { permission_mode })).status).toBe('completed');
});

test('A turn with full_access continues the session in another process, which later turns use too.', async () => {
  const body = async (agents: readonly RawClaude[]) =>
    agents.map(({ args }) => args.includes('--allow-dangerously-skip-permissions'));

  const { firstTurn, agents } = inSandbox({});
  const { session } = await firstTurn('one');
  const turn = await session.run('two', { permission_mode: 'full_access' });
  expect(turn).toMatchObject({ status: 'completed', text: 'two' });
  expect(await body(agents)).toEqual([false, true]);
  const { provider_session_ref: ref } = await session.record();
  expect(agents[1]?.args).toContain(`--resume=${ref}`);
  await until('the first is gone', () => agents[0]?.gone === true);
  expect((await session.run('three')).text).toBe('three');
  const modes = agents[1]?.requests('set_permission_mode').map(({ mode }) => mode);
  expect(modes).toEqual(['bypassPermissions', 'default']);
  expect(agents).toHaveLength(2);
  expect((await firstTurn('x', { permission_mode: 'bypass' })).turn.text).toBe('x');
  expect(await body(agents)).toEqual([false, true, true]);
  expect(agents[2]?.args.some((one) => one.startsWith('--session-id='))).toBe(true);
});

test('The first turn with full_access opens the session anew, because there is nothing to resume.', async () => {
  const { open, agents } = inSandbox({});
  const session = await open();
  const turn = await session.run('two', { permission_mode: 'full_access' });
  expect(turn).toMatchObject({ status: 'completed', text: 'two' });
  const { provider_session_ref: ref } = await session.record();
  expect(agents.map(({ args }) => args.includes(`--session-id=${ref}`))).toEqual([true, true]);
});

test('A session that is closed while it starts for full_access leaves no process.', async () => {
  const never = new Promise<never>(() => undefined);
  const initialize = (_: object, { args }: RawClaude) =>
    args.includes('--allow-dangerously-skip-permissions') ? never : {};
  const { open, client, agents, noAgents } = inSandbox({ requests: { initialize } });
  const session = await open();
  await session.send('x', { permission_mode: 'full_access' });
  await until('the second starts', () => agents[1]?.requests('initialize').length === 1);
  const params = { session_id: session.id };
  const closed = await client.call(endpoints.closeSession, { params, body: {} });
  expect(closed.status).toBe('closed');
  await noAgents();
});

test.skipIf(!isRoot)(
  'A session with full_access as root is refused at once with the remedy.',
  async () => {
    const { open, agents } = on({});
    const full_access = { permission_mode: 'full_access' };
    const refused = anError('invalid', /for root: .*IS_SANDBOX/);
    await expect(open(full_access)).rejects.toMatchObject(refused);
    const session = await open();
    await expect(session.run('x', full_access)).rejects.toMatchObject(refused);
    expect(agents).toHaveLength(0);
    expect((await session.run('still here')).text).toBe('still here');
  },
);

test('A request that is too large is denied, and claude receives the limit.', async () => {
  const { firstTurn } = on(asks('q', 'Bash', { command: 'x'.repeat(9e6) }));
  const { session, turn } = await firstTurn('go', asking);
  expect(JSON.parse(turn.text ?? '')).toMatchObject({
    behavior: 'deny',
    message: expect.stringMatching(/declined a request.*\(limit 8 MiB\)/) as string,
  });
  expect(ofKind(session.watch.of(turn.turn_id), 'approval.requested')).toEqual([]);
});
