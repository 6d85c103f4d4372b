import { expect, test } from 'vitest';
import { approvalRequest as acpRequest, readPermission } from '../../src/agents/acp/permission.ts';
import { type ReportedCall, withMessage } from '../../src/agents/acp/reported-call.ts';
import { cutTitle } from '../../src/core/lib/cut-title.ts';
import {
  approvalRequest as claudeRequest,
  type Permission,
  readPermission as readClaude,
} from '../../src/agents/claude/permission.ts';
import { Reader } from '../../src/agents/codex/items.ts';
import { readRequest } from '../../src/agents/codex/requests.ts';
import type { AgentRequest } from '../../src/agents/provider.ts';
import { textContent } from '../support/providers/rows.ts';
import { type RequestRow, requestRows } from './requested-actions.ts';

const options = [
  { optionId: 'a1', kind: 'allow_once', name: 'Allow once' },
  { optionId: 'r1', kind: 'reject_once', name: 'Reject' },
];

const read: Record<
  RequestRow['provider'],
  (shown: object) => AgentRequest | Promise<AgentRequest>
> = {
  acp: (toolCall) =>
    acpRequest(readPermission({ sessionId: 's', toolCall, options }), undefined, '/w'),
  claude(shown) {
    const { tool: tool_name, input } = shown as { tool: string; input: unknown };
    return claudeRequest(readClaude({ tool_name, input }) as Permission, '/w');
  },
  codex(shown) {
    const { item, method, params } = shown as { item?: object; method: string; params: object };
    const reader = new Reader();
    const id = `i${Math.random()}`;
    if (item) reader.read('item/started', { item: { ...item, id } });
    const asked = readRequest(method, { itemId: id, threadId: id, ...params }, reader);
    return asked?.request as AgentRequest;
  },
};

test.for(requestRows)(
  'The subject of a request differs from the subject of another action ($provider: $name).',
  async (row) => {
    const [good, evil] = await Promise.all(
      [row.good, row.evil].map(async (shown) => read[row.provider](shown)),
    );
    if (row.isWhole) expect(good?.subject).not.toEqual(evil?.subject);
    else expect(evil?.subject).toBeNull();
  },
);

test.for(requestRows)(
  'The subject of a repeated request is the same ($provider: $name).',
  async (row) => {
    const [first, again] = await Promise.all(
      [row.good, row.good].map(async (shown) => read[row.provider](shown)),
    );
    if (row.isWhole) expect(first?.subject).not.toBeNull();
    expect(first?.subject).toEqual(again?.subject);
  },
);

test('The subject ignores call ids, the status and the description that claude writes.', async () => {
  const call = { title: 'Shell', kind: 'execute', rawInput: { command: 'touch it' } };
  const one = await read.acp({ ...call, toolCallId: 'one', status: 'pending' });
  expect((await read.acp({ ...call, toolCallId: 'two' })).subject).toEqual(one.subject);
  const onTerminal = async (terminalId: string) =>
    read.acp({ ...call, toolCallId: terminalId, content: [{ type: 'terminal', terminalId }] });
  expect((await onTerminal('one')).subject).toEqual((await onTerminal('two')).subject);
  expect((await onTerminal('one')).details).toEqual(one.details);
  const worded = async (description: string) =>
    (await read.claude({ tool: 'Bash', input: { command: 'touch it', description } })).subject;
  expect(await worded('makes a file')).toEqual(await worded('touches it'));
});

test('The subject differs if an acceptance would choose another option.', () => {
  const toolCall = { toolCallId: 't', title: 'plan', rawInput: { plan: 'both' } };
  const taking = (name: string) => {
    const offered = [{ optionId: 'x', kind: 'allow_once', name }];
    return acpRequest(readPermission({ toolCall, options: offered }), undefined, '/w').subject;
  };
  expect(taking('Plan A')).not.toEqual(taking('Plan B'));
});

test.for([
  ['a command', { rawInput: { command: 'rm -rf x' } }, 'Bash: rm -rf x'],
  ['a command in a list', { rawInput: { command: ['rm', '-rf', 'x'] } }, 'Bash: rm -rf x'],
  ['a text', { content: [textContent('Running: rm -rf x')] }, 'Bash: Running: rm -rf x'],
  [
    'changes of files',
    {
      content: [
        { type: 'diff', path: '/a', newText: 'x' },
        { type: 'diff', path: '/b', newText: 'y' },
      ],
    },
    'Bash: /a, /b',
  ],
  ['locations', { locations: [{ path: '/a' }] }, 'Bash: /a'],
  ['another input', { rawInput: { url: 'http://x' } }, 'Bash: http://x'],
  [
    'a title with the command',
    { title: 'run `rm -rf x`', rawInput: { command: 'rm -rf x' } },
    'run `rm -rf x`',
  ],
  ['nothing', {}, 'Bash'],
] as const)(
  'The title of an approval of an ACP agent shows the action: %s.',
  async ([, shown, title]) => {
    expect((await read.acp({ toolCallId: 't', title: 'Bash', ...shown })).title).toBe(title);
  },
);

test('The title shows the command of an earlier message if the request only names the call.', () => {
  const known = {
    toolCallId: 't',
    sessionUpdate: 'tool_call',
    title: 'Bash',
    rawInput: { command: 'rm -rf x' },
  };
  const asked = readPermission({
    sessionId: 's',
    toolCall: { toolCallId: 't', title: null },
    options,
  });
  const { title, request, subject } = acpRequest(asked, known, '/w');
  expect(title).toBe('Bash: rm -rf x');
  expect(request).toEqual({
    sessionId: 's',
    toolCall: { toolCallId: 't', title: 'Bash', rawInput: { command: 'rm -rf x' } },
    options,
  });
  expect(subject).toMatchObject({ input: { command: 'rm -rf x' } });
});

test.for([
  [{ tool: 'mcp__a__b', input: { what: 1 } }, 'mcp__a__b: {"what":1}'],
  [{ tool: 'Bash', input: { command: 'rm -rf x' } }, 'rm -rf x'],
  [{ tool: 'Write', input: { file_path: '/a', content: 'x' } }, 'Write /a'],
  [{ tool: 'Done', input: {} }, 'Done'],
] as const)('The title of an approval of claude shows the action: %o.', async ([shown, title]) => {
  expect((await read.claude(shown)).title).toBe(title);
});

test('An approval shows a text once that an ACP agent sends in its input and its content.', async () => {
  const rawInput = { command: 'touch it', description: 'makes a file' };
  const content = [textContent('makes a file'), textContent('in this directory')];
  const { details } = await read.acp({ toolCallId: 't', title: 'Bash', rawInput, content });
  expect(details).toMatchObject([
    { type: 'command', command: 'touch it' },
    { type: 'input', name: 'description', value: 'makes a file' },
    { type: 'input', name: 'content', value: 'in this directory' },
  ]);
});

test('The title of a long command shows its end.', () => {
  const title = cutTitle(`echo ${'x'.repeat(500)} && rm -rf /`);
  expect(title.length).toBeLessThan(220);
  expect(title).toMatch(/^echo x.* … .*&& rm -rf \/$/);
  expect(cutTitle('😀'.repeat(200)).isWellFormed()).toBe(true);
});

const onceOnly = [{ optionId: 'o', kind: 'allow_once' }];
const saying = (value: string) => [{ type: 'content', content: { type: 'text', text: value } }];
const long = `echo ${'a'.repeat(300)} && touch LONGEVIL`;

test.each(
  Object.entries<[Record<string, unknown>, Record<string, unknown>]>({
    'JSON in a text, and a cut text': [
      { content: saying(JSON.stringify({ command: long })) },
      { content: saying('Requesting approval to Running: echo aaa…') },
    ],
    'an input, and a cut input': [
      { rawInput: { command: long } },
      { rawInput: { command: 'echo aaa…' } },
    ],
    'an input, and a diff of another file': [
      { rawInput: { path: 'w.sh', text: long } },
      { content: [{ type: 'diff', path: 'a', newText: 'b' }], rawInput: {} },
    ],
    'a long title, and a short one': [{ title: long }, { title: 'echo' }],
    'an unknown field, and an input': [{ extra: long }, { rawInput: { command: 'echo' } }],
  }),
)('An approval shows all of the earlier message and the request: %s.', (_name, [before, later]) => {
  const toolCall = { toolCallId: 't', kind: 'execute', title: 'Bash', ...later };
  const messages = withMessage(withMessage([], before), { status: 'pending', title: 'Bash' });
  const merged = { ...before, title: 'Bash' };
  const asked = acpRequest(readPermission({ toolCall, options: onceOnly }), merged, '/w', messages);
  expect(JSON.stringify(asked.details)).toContain('LONGEVIL');
});

test('Streamed arguments are kept once, in their final form.', () => {
  const pieces = ['{"com', '{"command":"echo', '{"command":"echo 1"}'];
  const messages = pieces.reduce<readonly object[]>(
    (all, one) => withMessage(all as never, { content: saying(one) }),
    [],
  );
  expect(messages).toEqual([{ content: saying('{"command":"echo 1"}') }]);
});

test('Streamed arguments that are always valid JSON are kept once, in their final form.', () => {
  const pieces = Array.from({ length: 40 }, (_, at) =>
    JSON.stringify({ command: long.slice(0, at * 9) }),
  );
  const messages = pieces.reduce<readonly ReportedCall[]>(
    (all, one) => withMessage(all, { content: saying(one) }),
    [],
  );
  expect(messages).toEqual([{ content: saying(JSON.stringify({ command: long })) }]);
});

test('An approval shows the first and the newest of too many messages, and counts the others.', () => {
  const messages = Array.from({ length: 40 }, (_, at) => ({
    rawInput: { command: `say ${at};` },
  }))
    .concat({ rawInput: { command: long } })
    .reduce<readonly ReportedCall[]>((all, one) => withMessage(all, one), []);
  const toolCall = {
    toolCallId: 't',
    kind: 'execute',
    title: 'Bash',
    rawInput: { command: 'x' },
  };
  const asked = acpRequest(
    readPermission({ toolCall, options: onceOnly }),
    undefined,
    '/w',
    messages,
  );
  const shown = JSON.stringify(asked.details);
  expect(shown).toContain('say 0;');
  expect(shown).toContain('LONGEVIL');
  expect(asked.details).toContainEqual({ type: 'input', name: 'messages not shown', value: 25 });
  expect(asked.lacksArguments).toBe(true);
});

test('An approval differs from one with another earlier message.', () => {
  const lasting = [...onceOnly, { optionId: 'p', kind: 'allow_always' }];
  const toolCall = { toolCallId: 't', kind: 'execute', rawInput: { command: 'echo aaa…' } };
  const ask = (command: string) => {
    const before = { title: 'Bash', rawInput: { command } };
    const permission = readPermission({ toolCall, options: lasting });
    return acpRequest(permission, before, '/w', withMessage([], before));
  };
  const [good, evil] = [ask('echo aaaa && echo done'), ask(long)];
  expect(good.scopes).toEqual(['once', 'session']);
  expect(good.subject).toEqual(ask('echo aaaa && echo done').subject);
  expect(good.subject).not.toEqual(evil.subject);
});

test.each(
  Object.entries<[object, object]>({
    'a title of one word': [
      { title: './deploy.sh' },
      { title: 'Shell', rawInput: { description: 'x' } },
    ],
    'a title that may be a name, without other information': [
      { title: 'reboot' },
      { title: 'Shell' },
    ],
    'a command with a line break': [
      { rawInput: { command: 'echo\nreboot' } },
      { rawInput: { command: 'echo reboot' } },
    ],
  }),
)('An approval shows messages that differ only slightly: %s.', (_name, [before, later]) => {
  const toolCall = { toolCallId: 't', kind: 'execute', ...later };
  const messages = withMessage([], before as ReportedCall);
  const { details } = acpRequest(
    readPermission({ toolCall, options: onceOnly }),
    undefined,
    '/w',
    messages,
  );
  const said = JSON.stringify(Object.values(before)[0]).replaceAll(/^\{.*:|\}$/g, '');
  expect(JSON.stringify(details)).toContain(said);
});

test('An approval shows that its arguments are missing if no message has any.', () => {
  const toolCall = {
    toolCallId: 't',
    kind: 'execute',
    title: 'make it',
    content: saying('please'),
  };
  const ask = (call: object) =>
    acpRequest(readPermission({ toolCall: call, options: onceOnly }), undefined, '/w')
      .lacksArguments;
  expect(ask(toolCall)).toBe(true);
  expect(ask({ ...toolCall, rawInput: { command: 'make it' } })).toBeUndefined();
  expect(ask({ ...toolCall, content: saying('{"command":"make it"}') })).toBeUndefined();
});

const askIn = (call: object, more: object = {}, before: readonly ReportedCall[] = []) => {
  const toolCall = { toolCallId: 't', kind: 'execute', title: 'Shell', ...call };
  const merged = Object.assign({}, ...before) as ReportedCall;
  return acpRequest(readPermission({ toolCall, options: onceOnly, ...more }), merged, '/w', before);
};

test.each(
  Object.entries<() => AgentRequest>({
    'of the call': () => askIn({ _meta: { maker: { input: { command: 'reboot' } } } }),
    'in a list': () => askIn({ _meta: { calls: [{ tool_params: { command: 'reboot' } }] } }),
    'of the request': () => askIn({}, { _meta: { arguments: { command: 'reboot' } } }),
    'of an earlier message, when a later one has another': () =>
      askIn({ _meta: { terminal_info: {} } }, {}, [
        ...withMessage([], { _meta: { rawInput: { command: 'reboot' } } }),
      ]),
  }),
)('An approval shows the arguments in _meta %s.', (_name, ask) => {
  const request = ask();
  expect(JSON.stringify(request.details)).toContain('"command":"reboot"');
  expect(request.lacksArguments).toBeUndefined();
  // These may not be all arguments, so no other request is equal.
  expect(request.subject).toBeNull();
});

test('An approval shows _meta without arguments, and that the arguments are missing.', () => {
  const _meta = { maker: { toolName: 'Shell' }, terminal_output: { data: 'old' } };
  const { details, lacksArguments } = askIn({ _meta });
  expect(details).toContainEqual({
    type: 'input',
    name: '_meta',
    value: { maker: { toolName: 'Shell' } },
  });
  expect(lacksArguments).toBe(true);
});

test('An approval shows the arguments in _meta beside an input, and its subject includes them.', () => {
  const ask = (args: object) =>
    askIn({ rawInput: { command: 'make' }, _meta: { name: 'x', args } }, {}, []);
  const [good, evil] = [ask({ target: 'test' }), ask({ target: 'publish' })];
  expect(good.details).toContainEqual({
    type: 'input',
    name: '_meta',
    value: { args: { target: 'test' } },
  });
  expect(good.subject).toEqual(ask({ target: 'test' }).subject);
  expect(good.subject).not.toEqual(evil.subject);
  const named = askIn({ rawInput: { command: 'make' }, _meta: { name: 'x' } });
  expect(JSON.stringify(named.details)).not.toContain('_meta');
});
