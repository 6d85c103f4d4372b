import { PassThrough, Readable } from 'node:stream';
import { describe, expect, test, vi } from 'vitest';
import { PermissionPromptMonitor } from '../../src/agents/acp/permission-prompt-monitor.ts';
import {
  approvalRequest as acpRequest,
  readPermission as readAcp,
} from '../../src/agents/acp/permission.ts';
import { elicitationRequest, readElicitation } from '../../src/agents/acp/elicitation.ts';
import { UpdateForwarder } from '../../src/agents/acp/update-forwarder.ts';
import { UsageMeter } from '../../src/agents/acp/usage.ts';
import { DERIVED_LIMITS } from '../../src/agents/budget.ts';
import { Connection as ClaudeConnection } from '../../src/agents/claude/connection.ts';
import {
  approvalRequest as claudeRequest,
  readPermission as readClaude,
} from '../../src/agents/claude/permission.ts';
import { Reader as ClaudeReader } from '../../src/agents/claude/updates.ts';
import { Reader as CodexReader } from '../../src/agents/codex/items.ts';
import { readRequest } from '../../src/agents/codex/requests.ts';
import { OutputLines } from '../../src/agents/output-lines.ts';
import {
  type AgentRequest,
  type AgentUpdate,
  defaultSettings,
  failed,
  ProviderError,
  silentSink,
} from '../../src/agents/provider.ts';

const TIMES = 100;
const MUCH = TIMES * DERIVED_LIMITS.entries;
/** Maximum number of values that are read from a message, including its envelope. */
const MAX_READS = 2 * DERIVED_LIMITS.values;
/** Maximum number of characters of the result, in which two fields may show the same text. */
const MAX_MADE = 4 * DERIVED_LIMITS.text;

const words = 'word '.repeat((TIMES * DERIVED_LIMITS.text) / 5);
const many = <T>(one: T): T[] => Array.from({ length: MUCH }, () => one);
const fields = Object.fromEntries(many(0).map((_, at) => [`field ${at}`, at]));
const lines = 'a line\n'.repeat(TIMES * DERIVED_LIMITS.entries);
const diff = { type: 'diff', path: '/w/a', oldText: lines, newText: `${lines}more\n` };
const block = { type: 'content', content: { type: 'text', text: 'said' } };

/** Wraps a value so that it counts how many of its values are read. */
function counted(value: object): { value: object; reads: () => number } {
  let reads = 0;
  const wrapped = (one: object): object =>
    new Proxy(one, {
      get(target, name, receiver) {
        const found: unknown = Reflect.get(target, name, receiver);
        if (typeof name === 'symbol' || !Object.hasOwn(target, name) || name === 'length')
          return found;
        reads++;
        return typeof found === 'object' && found !== null ? wrapped(found) : found;
      },
    });
  return { value: wrapped(value), reads: () => reads };
}

/** Converts an update of an agent, for each adapter. */
const adapters: Record<string, (message: never) => AgentUpdate[]> = {
  acp(update: object) {
    const made: AgentUpdate[] = [];
    const reports = new UpdateForwarder({
      saveFile: () => Promise.resolve(null),
      meter: new UsageMeter({
        isCumulative: () => false,
        isCostOfProcess: () => false,
        before: null,
      }),
      promptMonitor: new PermissionPromptMonitor(() => null),
      onUnknown: () => undefined,
      onWork: () => undefined,
    });
    reports.beginTurn();
    const line = { update: (one: AgentUpdate) => void made.push(one) };
    void reports.forward(update, null, { settings: defaultSettings(), line });
    return made;
  },
  codex({ method, params }: { method: string; params: Record<string, unknown> }) {
    const made = new CodexReader().read(method, params);
    return made === 'unknown' ? [] : made;
  },
  claude(message: { type: string }) {
    const made = new ClaudeReader().read(message);
    return made === 'unknown' ? [] : made;
  },
};

const acpCall = (more: object) => ({
  sessionUpdate: 'tool_call',
  toolCallId: 'c',
  title: 't',
  ...more,
});
const codexItem = (more: object) => ({
  method: 'item/completed',
  params: { threadId: 't', item: { id: 'i', status: 'completed', ...more } },
});
const claudeBlock = (...content: object[]) => ({
  type: 'assistant',
  message: { id: 'm', content },
});
const claudeResult = (content: unknown) => ({
  type: 'user',
  message: { content: [{ type: 'tool_result', tool_use_id: 'c', content }] },
});

const messages: Record<string, Record<string, object>> = {
  acp: {
    'a text': { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: words } },
    'a thought': { sessionUpdate: 'agent_thought_chunk', content: { type: 'text', text: words } },
    'the text of a resource': {
      sessionUpdate: 'agent_message_chunk',
      content: { type: 'resource', resource: { uri: 'a:b', text: '` '.repeat(1e6) } },
    },
    'the name of a link': {
      sessionUpdate: 'agent_message_chunk',
      content: { type: 'resource_link', uri: words, name: words },
    },
    'the id of a call': acpCall({ toolCallId: words }),
    'the title of a call': acpCall({ title: words }),
    'the kind of a call': acpCall({ kind: words }),
    'the fields of an input': acpCall({ rawInput: fields }),
    'a text of an input': acpCall({ rawInput: { text: words } }),
    'a list of an input': acpCall({ rawInput: { list: many({ a: [1] }) } }),
    'an output': acpCall({ rawOutput: words }),
    'a list in an output': acpCall({ rawOutput: many({ a: 1 }) }),
    'the parts of a content': acpCall({ content: many(block) }),
    'a text of a content': acpCall({
      content: [{ type: 'content', content: { type: 'text', text: words } }],
    }),
    'the lines of a diff': acpCall({ content: [diff] }),
    'many diffs': acpCall({ content: many({ ...diff, oldText: 'a', newText: 'b' }) }),
    'the path of a diff': acpCall({ content: [{ ...diff, path: words, oldText: 'a' }] }),
    'the images of a content': acpCall({
      content: many({ type: 'content', content: { type: 'image', data: 'aaaa' } }),
    }),
    'the locations of a call': acpCall({ locations: many({ path: '/w/a' }) }),
    'the output of a terminal': acpCall({ _meta: { terminal_output: { data: words } } }),
    'the entries of a plan': {
      sessionUpdate: 'plan',
      entries: many({ content: 'c', status: 'pending' }),
    },
    'an entry of a plan': { sessionUpdate: 'plan', entries: [{ content: words }] },
    commands: {
      sessionUpdate: 'available_commands_update',
      availableCommands: many({ name: 'c' }),
    },
    'the title of the session': { sessionUpdate: 'session_info_update', title: words },
    'a notice': { sessionUpdate: 'notice', title: words, description: words },
    'a summary': {
      sessionUpdate: 'compaction_update',
      compactionId: 'c',
      status: 'completed',
      summary: many({ type: 'text', text: 't' }),
    },
  },
  codex: {
    'a delta of a message': {
      method: 'item/agentMessage/delta',
      params: { itemId: 'i', delta: words },
    },
    'a delta of a reasoning': {
      method: 'item/reasoning/textDelta',
      params: { itemId: 'i', delta: words },
    },
    'a delta of an output': {
      method: 'item/commandExecution/outputDelta',
      params: { itemId: 'i', delta: words },
    },
    'a message': codexItem({ type: 'agentMessage', text: words }),
    'the parts of a reasoning': codexItem({
      type: 'reasoning',
      summary: many('s'),
      content: many('c'),
    }),
    'a command': codexItem({ type: 'commandExecution', command: words }),
    'the output of a command': codexItem({
      type: 'commandExecution',
      command: 'c',
      aggregatedOutput: words,
    }),
    'the arguments of a tool': codexItem({
      type: 'mcpToolCall',
      server: 's',
      tool: 't',
      arguments: fields,
    }),
    'the result of a tool': codexItem({
      type: 'mcpToolCall',
      server: 's',
      tool: 't',
      result: { content: many({ type: 'text', text: 'x' }) },
    }),
    'the parts of a tool': codexItem({
      type: 'dynamicToolCall',
      tool: 't',
      contentItems: many({ type: 'text', text: 'x' }),
    }),
    'a search': codexItem({ type: 'webSearch', query: words, action: fields }),
    'the steps of a plan': {
      method: 'turn/plan/updated',
      params: { plan: many({ step: 's', status: 'pending' }) },
    },
  },
  claude: {
    'a delta of a text': {
      type: 'stream_event',
      event: {
        type: 'content_block_delta',
        index: 0,
        delta: { type: 'text_delta', text: words },
      },
    },
    'a delta of a thought': {
      type: 'stream_event',
      event: {
        type: 'content_block_delta',
        index: 0,
        delta: { type: 'thinking_delta', thinking: words },
      },
    },
    'the name of a tool': {
      type: 'stream_event',
      event: {
        type: 'content_block_start',
        content_block: { type: 'tool_use', id: 'c', name: words },
      },
    },
    'a text': claudeBlock({ type: 'text', text: words }),
    'the blocks of a message': {
      ...claudeBlock(),
      message: { id: 'm', content: many({ type: 'text', text: 't' }) },
    },
    'the fields of an input': claudeBlock({
      type: 'tool_use',
      id: 'c',
      name: 'Bash',
      input: fields,
    }),
    'a command': claudeBlock({
      type: 'tool_use',
      id: 'c',
      name: 'Bash',
      input: { command: words },
    }),
    'a plan': claudeBlock({
      type: 'tool_use',
      id: 'c',
      name: 'TodoWrite',
      input: { todos: many({ content: 'c', status: 'pending' }) },
    }),
    'a result': claudeResult(words),
    'the parts of a result': claudeResult(many({ type: 'text', text: 't' })),
  },
};

describe.each(Object.keys(adapters))(
  'a message of %s with a field of a hundred times its limit',
  (adapter) => {
    test.each(Object.entries(messages[adapter] ?? {}))(
      'The message is not read beyond the limit: %s.',
      (_field, message) => {
        const { value, reads } = counted(message);
        const made = adapters[adapter]?.(value as never) ?? [];
        expect(reads()).toBeLessThan(MAX_READS);
        expect(JSON.stringify(made).length).toBeLessThan(MAX_MADE);
        expect(made[0]).toMatchObject({ type: 'notice', code: 'message_cut' });
        expect(made.length).toBeLessThanOrEqual(2 * DERIVED_LIMITS.entries + 1);
      },
    );
  },
);

test('The message of a failure has a start and an end if it is too long.', () => {
  const why = `the agent failed: ${'<p>'.repeat(1e6)}: run cadre providers login`;
  const { error } = failed('provider_error', why);
  const { message } = new ProviderError('provider_unavailable', why);
  expect(message.length).toBeLessThan(10_000);
  expect(message).toMatch(/^the agent failed: <p>.* … .*: run cadre providers login$/);
  expect(error?.message).toBe(message);
});

test('A message of claude that is nested too deeply is reported as too large.', async () => {
  const input = `${'{"a":'.repeat(300)}1${'}'.repeat(300)}`;
  const line = `{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"c","name":"t","input":${input}}]}}\n`;
  const reader = new ClaudeReader();
  const made: unknown[] = [];
  const child = {
    stdin: new PassThrough(),
    stdout: Readable.from([Buffer.from(line)]),
    writeInput: () => Promise.resolve(),
  };
  const connection = new ClaudeConnection(child, {
    lines: new OutputLines({ sink: silentSink, child: null, save: () => null }),
    onMessage: (message) => void made.push(reader.read(message)),
    onRequest: () => Promise.resolve(null),
    onUnknown: () => undefined,
  });
  expect(await connection.readProgress.ended).toBeNull();
  expect(made.flat()).toMatchObject([{ type: 'notice', code: 'message_cut' }, { type: 'tool' }]);
});

/** Converts a request of an agent, for each adapter. */
const asking: Record<
  string,
  (message: object) => AgentRequest | undefined | Promise<AgentRequest | undefined>
> = {
  acp: (params) => acpRequest(readAcp(params), undefined, '/w'),
  'acp, in a form': (params) => {
    const asked = readElicitation(params);
    return asked ? elicitationRequest(asked, params, undefined) : undefined;
  },
  codex: (message) => {
    const { method, params } = message as { method: string; params: Record<string, unknown> };
    return readRequest(method, params, {
      changesOf: () => [],
      commandOf: () => undefined,
      isForgotten: () => false,
    })?.request;
  },
  claude: (request) => {
    const permission = readClaude(request);
    return permission ? claudeRequest(permission, '/w') : undefined;
  },
};
const acpAsks = (toolCall: object, options: object[] = []) => ({
  options,
  toolCall: { toolCallId: 'c', title: 't', ...toolCall },
});
const claudeAsks = (tool_name: string, input: object) => ({ tool_name, input });
const text = 'word '.repeat(1.6e6);
const some = Object.fromEntries(Object.entries(fields).slice(0, 40_000));
const elsewhere = '/nowhere/a';

const requests: [agent: string, field: string, message: object][] = [
  ['acp', 'the fields of an input', acpAsks({ rawInput: some })],
  ['acp', 'a text of an input', acpAsks({ rawInput: { text } })],
  ['acp', 'a command', acpAsks({ kind: 'execute', rawInput: { command: text } })],
  ['acp', 'a title', acpAsks({ title: text })],
  ['acp', 'the lines of a diff', acpAsks({ content: [{ ...diff, newText: '\n'.repeat(4e6) }] })],
  [
    'acp',
    'one line of a diff',
    acpAsks({ content: [{ ...diff, oldText: text, newText: `${text}.` }] }),
  ],
  [
    'acp',
    'many diffs',
    acpAsks({ content: many({ ...diff, oldText: 'a', newText: 'b' }).slice(0, 12_000) }),
  ],
  [
    'acp',
    'diffs of many lines',
    acpAsks({
      content: many({ ...diff, oldText: 'a\n'.repeat(4000), newText: 'b\n'.repeat(4000) }).slice(
        0,
        300,
      ),
    }),
  ],
  ['acp', 'the parts of a content', acpAsks({ content: many(block).slice(0, 12_000) })],
  [
    'acp',
    'its options',
    acpAsks({}, many({ optionId: 'o', kind: 'allow_once', name: 'n' }).slice(0, 12_000)),
  ],
  [
    'acp, in a form',
    'the choices of a field',
    {
      mode: 'form',
      message: 'm',
      requestedSchema: {
        properties: { a: { oneOf: many({ const: 'c', title: 't' }).slice(0, 12_000) } },
      },
    },
  ],
  [
    'codex',
    'a command',
    { method: 'item/commandExecution/requestApproval', params: { command: text } },
  ],
  [
    'codex',
    'its permissions',
    { method: 'item/permissions/requestApproval', params: { permissions: some } },
  ],
  [
    'codex',
    'the files of a patch',
    {
      method: 'applyPatchApproval',
      params: {
        fileChanges: Object.fromEntries(
          Object.keys(some)
            .slice(0, 12_000)
            .map((path) => [path, { add: { content: 'a\nb' } }]),
        ),
      },
    },
  ],
  [
    'codex',
    'the lines of a patch',
    {
      method: 'applyPatchApproval',
      params: { fileChanges: { a: { add: { content: '\n'.repeat(8e6) } } } },
    },
  ],
  [
    'codex',
    'the input of a tool',
    {
      method: 'mcpServer/elicitation/request',
      params: {
        _meta: { codex_approval_kind: 'mcp_tool_call', tool_name: 't', tool_params: some },
      },
    },
  ],
  ['claude', 'the fields of an input', claudeAsks('Other', some)],
  ['claude', 'a command', claudeAsks('Bash', { command: text })],
  [
    'claude',
    'the lines of a file',
    claudeAsks('Write', { file_path: elsewhere, content: '\n'.repeat(8e6) }),
  ],
];

test.each(requests)(
  'A request of %s with the largest %s has a short title and few details, none of which is cut.',
  async (agent, field, message) => {
    const { value, reads } = counted(message);
    const request = await asking[agent]?.(value);
    expect([field, request !== undefined]).toEqual([field, true]);
    // The details and the subject each read the whole request once.
    expect(reads()).toBeLessThan(12 * 50_000);
    expect(request?.title.length).toBeLessThan(300);
    expect(request?.details.length).toBeLessThanOrEqual(DERIVED_LIMITS.entries + 10);
    expect(request?.details.filter(({ type }) => type === 'omitted')).toEqual([]);
    expect(JSON.stringify(request?.details)).not.toContain('[omitted');
  },
);

test('An approval formats each text of earlier messages at most once, and shows all of them.', () => {
  const earlier = Array.from({ length: 16 }, (_, message) => ({
    rawInput: Object.fromEntries(
      Array.from({ length: 100 }, (_field, at) => [
        `field ${at}`,
        `${message} ${at} ${'word '.repeat(800)}`,
      ]),
    ),
  }));
  const lines = vi.spyOn(String.prototype, 'replaceAll');
  const { details } = acpRequest(readAcp(acpAsks({ rawInput: { a: 1 } })), {}, '/w', earlier);
  const written = lines.mock.calls.length;
  lines.mockRestore();
  expect(written).toBeLessThan(2000);
  const values = new Set(details.map((one) => one.type === 'input' && one.value));
  expect(
    earlier.flatMap(({ rawInput }) => Object.values(rawInput)).filter((one) => !values.has(one)),
  ).toEqual([]);
});

test('Open items of codex beyond the limit of a turn are forgotten, the oldest first.', () => {
  const reader = new CodexReader();
  const changes = [{ path: 'a', diff: 'x'.repeat(8 * 1024 * 1024) }];
  const ids = ['1', '2', '3', '4', '5'];
  for (const id of ids) reader.read('item/started', { item: { id, type: 'fileChange', changes } });
  expect(ids.filter((id) => reader.isForgotten(id))).toEqual(['1', '2']);
  expect(ids.filter((id) => reader.changesOf(id).length > 0)).toEqual(['3', '4', '5']);
});
