import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { readToolCall } from '../../../src/agents/acp/tool-call.ts';
import { readUpdate } from '../../../src/agents/acp/updates.ts';
import { readPromptUsage } from '../../../src/agents/acp/usage.ts';

const changeOfA =
  '--- /a.txt\n+++ /a.txt\n@@ -1,1 +1,1 @@\n-x\n\\ No newline at end of file\n+y\n\\ No newline at end of file\n';

/** Updates of real agents, and the result of reading them. */
const messages: Record<string, [update: object, said: ReturnType<typeof readUpdate>]> = {
  'opencode, claude, codex: a chunk with the id of its message': [
    {
      sessionUpdate: 'agent_message_chunk',
      messageId: 'msg_1',
      content: { type: 'text', text: 'calling ' },
    },
    { type: 'message', text: 'calling ', ref: 'msg_1' },
  ],
  'gemini: a chunk without the id of its message': [
    { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'hi' } },
    { type: 'message', text: 'hi' },
  ],
  'gemini: a mode change, sent as a message': [
    {
      sessionUpdate: 'agent_message_chunk',
      content: { type: 'text', text: '[MODE_UPDATE] autoEdit' },
    },
    { type: 'message', text: '[MODE_UPDATE] autoEdit' },
  ],
  'a thought': [
    {
      sessionUpdate: 'agent_thought_chunk',
      messageId: null,
      content: { type: 'text', text: 'hm' },
    },
    { type: 'reasoning', text: 'hm' },
  ],
  'opencode: a tool call': [
    {
      sessionUpdate: 'tool_call',
      toolCallId: 'call_x',
      title: 'bash',
      kind: 'execute',
      status: 'pending',
      locations: [{ path: '/x' }],
      rawInput: { command: 'echo hi' },
    },
    {
      type: 'tool',
      ref: 'call_x',
      change: {
        title: 'bash',
        kind: 'execute',
        status: 'pending',
        input: { command: 'echo hi' },
        locations: [{ path: '/x', line: null }],
      },
    },
  ],
  'opencode: the end of a tool call, with content and an object as raw output': [
    {
      sessionUpdate: 'tool_call_update',
      toolCallId: 'call_x',
      status: 'completed',
      content: [{ type: 'content', content: { type: 'text', text: 'hi\n' } }],
      rawOutput: { output: 'hi\n', metadata: { exit: 0 } },
    },
    { type: 'tool', ref: 'call_x', change: { status: 'completed', output: 'hi\n' } },
  ],
  'opencode: an object as raw output alone': [
    {
      sessionUpdate: 'tool_call_update',
      toolCallId: 'call_x',
      status: 'completed',
      rawOutput: { output: 'hi', metadata: {} },
    },
    { type: 'tool', ref: 'call_x', change: { status: 'completed', output: 'hi' } },
  ],
  'claude: raw output of Bash is a string': [
    {
      sessionUpdate: 'tool_call_update',
      toolCallId: 'toolu_1',
      status: 'completed',
      rawOutput: 'done',
    },
    { type: 'tool', ref: 'toolu_1', change: { status: 'completed', output: 'done' } },
  ],
  'claude: raw output of an MCP tool is an array': [
    {
      sessionUpdate: 'tool_call_update',
      toolCallId: 'toolu_2',
      rawOutput: [{ type: 'text', text: 'a note' }],
    },
    { type: 'tool', ref: 'toolu_2', change: { output: '[{"type":"text","text":"a note"}]' } },
  ],
  'codex: a bare call before its permission': [
    {
      sessionUpdate: 'tool_call_update',
      toolCallId: 'exec-1',
      kind: 'execute',
      status: 'in_progress',
      _meta: { is_mcp_tool_approval: true },
    },
    { type: 'tool', ref: 'exec-1', change: { kind: 'execute', status: 'running' } },
  ],
  'codex: shell output for a terminal that cadre does not have': [
    {
      sessionUpdate: 'tool_call_update',
      toolCallId: 'exec-1',
      content: [{ type: 'terminal', terminalId: 't1' }],
      _meta: { terminal_output_delta: 'x' },
    },
    { type: 'tool', ref: 'exec-1', change: {} },
  ],
  'an edit, as a diff': [
    {
      sessionUpdate: 'tool_call_update',
      toolCallId: 'e',
      status: 'failed',
      content: [
        { type: 'diff', path: '/a.txt', oldText: 'x', newText: 'y' },
        { type: 'content', content: { type: 'text', text: 'and a word' } },
      ],
    },
    {
      type: 'tool',
      ref: 'e',
      change: {
        status: 'failed',
        diffs: [{ path: '/a.txt', diff: changeOfA }],
        output: `${changeOfA}\nand a word`,
      },
    },
  ],
  'a plan with unknown fields and values in an entry': [
    {
      sessionUpdate: 'plan',
      entries: [
        { content: 'one', priority: 'high', status: 'completed' },
        { content: 'two', priority: 7, status: null, owner: 'x' },
      ],
    },
    {
      type: 'plan',
      entries: [
        { content: 'one', priority: 'high', status: 'completed' },
        { content: 'two', priority: null, status: 'pending' },
      ],
    },
  ],
  'opencode: usage with a cost': [
    {
      sessionUpdate: 'usage_update',
      used: 111,
      size: 100_000,
      cost: { amount: 0.000576, currency: 'USD' },
    },
    { type: 'usage', usage: { context_tokens: 111, context_window: 100_000, cost_usd: 0.000576 } },
  ],
  'codex: usage with a cost in another currency': [
    { sessionUpdate: 'usage_update', used: 5, size: 10, cost: { amount: 1, currency: 'EUR' } },
    { type: 'usage', usage: { context_tokens: 5, context_window: 10 } },
  ],
  'a chunk that is an image whose data was kept': [
    {
      sessionUpdate: 'agent_message_chunk',
      content: { type: 'image', mimeType: 'image/png', kept: { path: '/blobs/ab', bytes: 7 } },
    },
    { type: 'message', text: '\n\n![image/png, 7 bytes](/blobs/ab)\n\n' },
  ],
  'a chunk that is a sound whose data was not kept': [
    {
      sessionUpdate: 'agent_thought_chunk',
      content: { type: 'audio', mimeType: 'audio/wav', data: 'AAAA' },
    },
    { type: 'reasoning', text: '\n\n![audio/wav, 3 bytes, not kept]\n\n' },
  ],
  'a chunk that is a link': [
    {
      sessionUpdate: 'agent_message_chunk',
      content: { type: 'resource_link', uri: 'file:///a b.txt', name: 'a [b]' },
    },
    { type: 'message', text: '\n\n[a \\[b\\]](<file:///a b.txt>)\n\n' },
  ],
  'a chunk that is an embedded text': [
    {
      sessionUpdate: 'agent_message_chunk',
      content: { type: 'resource', resource: { uri: 'file:///n', text: '```js\n```\n' } },
    },
    { type: 'message', text: '\n\n[file:///n](file:///n)\n\n````\n```js\n```\n````\n\n' },
  ],
  'a chunk of an unknown type': [
    { sessionUpdate: 'agent_message_chunk', content: { type: 'hologram' } },
    'unknown',
  ],
  commands: [
    {
      sessionUpdate: 'available_commands_update',
      availableCommands: [
        { name: 'plan', description: 'makes a plan', input: { hint: 'of what' } },
        { name: '/test', input: null },
        { description: 'without a name' },
      ],
    },
    {
      type: 'commands',
      commands: [
        { name: 'plan', description: 'makes a plan', hint: 'of what' },
        { name: 'test', description: '', hint: null },
      ],
    },
  ],
  'a title': [
    { sessionUpdate: 'session_info_update', title: 'Fix the build' },
    { type: 'title', title: 'Fix the build' },
  ],
  'a title that is cleared': [{ sessionUpdate: 'session_info_update', title: null }, 'ignored'],
  'a notice': [
    {
      sessionUpdate: 'notice',
      severity: 'warning',
      title: 'The model is slow',
      description: 'Try another.',
    },
    { type: 'notice', code: 'warning', message: 'The model is slow: Try another.' },
  ],
  'a notice of an unknown severity': [
    { sessionUpdate: 'notice', severity: 'cosmic', title: 'Hello' },
    { type: 'notice', code: 'notice', message: 'Hello' },
  ],
  'a compaction': [
    {
      sessionUpdate: 'compaction_update',
      compactionId: 'c',
      status: 'completed',
      summary: [{ type: 'text', text: 'Two files were read.' }],
    },
    {
      type: 'notice',
      code: 'compaction',
      message: 'context compacted: Two files were read.',
    },
  ],
  'an ignored kind': [
    { sessionUpdate: 'user_message_chunk', content: { type: 'text', text: 'x' } },
    'ignored',
  ],
  'an unknown kind': [{ sessionUpdate: 'something_new', x: 1 }, 'unknown'],
  'a chunk without content': [{ sessionUpdate: 'agent_message_chunk' }, 'unknown'],
  'a tool call without an id': [{ sessionUpdate: 'tool_call', title: 'x' }, 'unknown'],
  'no kind at all': [{}, 'unknown'],
};

test.for(Object.entries(messages))('The update is read: %s.', ([, [update, said]]) => {
  expect(readUpdate(update)).toEqual(said);
});

test('A tool call in a permission request is read like a tool call in an update.', () => {
  const toolCall = {
    toolCallId: 'call_x',
    title: 'echo hi…',
    kind: 'execute',
    status: 'pending',
    rawInput: { command: 'echo hi' },
  };
  expect(readToolCall(toolCall)).toEqual(readUpdate({ sessionUpdate: 'tool_call', ...toolCall }));
});

test('A status that is not in the protocol is ignored.', () => {
  for (const status of ['done', '', 'constructor', 'toString', '__proto__', 'hasOwnProperty']) {
    expect(readToolCall({ toolCallId: 'x', status })).toEqual({
      type: 'tool',
      ref: 'x',
      change: {},
    });
  }
});

test('An empty output replaces the earlier output.', () => {
  const empty = {
    toolCallId: 'x',
    content: [{ type: 'content', content: { type: 'text', text: '' } }],
  };
  expect(readToolCall(empty)).toEqual({ type: 'tool', ref: 'x', change: { output: '' } });
  expect(readToolCall({ toolCallId: 'x', rawOutput: '' })).toEqual({
    type: 'tool',
    ref: 'x',
    change: { output: '' },
  });
});

test('Any JSON is read without an error, into values of the declared types.', () => {
  const kind = fc.constantFrom(
    'agent_message_chunk',
    'agent_thought_chunk',
    'tool_call',
    'tool_call_update',
    'plan',
    'usage_update',
    'x',
  );
  const anything = fc.jsonValue({ maxDepth: 4 });
  const shaped = fc
    .tuple(
      kind,
      fc.record(
        {
          messageId: anything,
          content: fc.oneof(
            anything,
            fc.record({ type: anything, text: anything }),
            fc.array(
              fc.record({ type: anything, content: anything, path: anything, newText: anything }),
            ),
          ),
          toolCallId: fc.oneof(fc.string(), anything),
          title: anything,
          kind: anything,
          status: fc.oneof(anything, fc.constantFrom('completed', 'constructor')),
          rawInput: anything,
          rawOutput: anything,
          entries: fc.oneof(
            anything,
            fc.array(
              fc.record({
                content: fc.oneof(fc.string(), anything),
                status: anything,
                priority: anything,
              }),
            ),
          ),
          used: anything,
          size: anything,
          cost: fc.oneof(anything, fc.record({ amount: anything, currency: anything })),
        },
        { requiredKeys: [] },
      ),
    )
    .map(([sessionUpdate, rest]) => ({ sessionUpdate, ...rest }));
  fc.assert(
    fc.property(fc.oneof(anything, shaped), (raw) => {
      // JSON on the wire has no -0.
      const said = readUpdate(JSON.parse(JSON.stringify(raw)));
      if (typeof said === 'string') return;
      // The result is plain JSON, except that a number out of range is NaN.
      const isNaN = (value: unknown) => Number.isNaN(value);
      const numbers = said.type === 'usage' ? Object.values(said.usage).filter(isNaN).length : 0;
      const written = JSON.parse(JSON.stringify(said)) as object;
      if (numbers === 0) expect(written).toEqual(said);
      if (said.type === 'message' || said.type === 'reasoning')
        expect(said.text).toBeTypeOf('string');
      if (said.type === 'tool') {
        expect(said.ref).toBeTypeOf('string');
        expect(['undefined', 'string']).toContain(typeof said.change.output);
        expect([undefined, 'pending', 'running', 'completed', 'failed']).toContain(
          said.change.status,
        );
      }
    }),
    { numRuns: 500 },
  );
});

test('A missing count is null, and a missing usage is not read.', () => {
  expect(
    readPromptUsage({
      usage: { inputTokens: 100, outputTokens: 22, totalTokens: 133, cachedReadTokens: 11 },
    }),
  ).toEqual({
    input_tokens: 100,
    output_tokens: 22,
    total_tokens: 133,
    cached_input_tokens: 11,
  });
  expect(readPromptUsage({ usage: { inputTokens: 1 } })).toEqual({
    input_tokens: 1,
    output_tokens: null,
    total_tokens: null,
    cached_input_tokens: null,
  });
  for (const none of [null, undefined, 'x', 7])
    expect(readPromptUsage({ usage: none })).toBeUndefined();
  // A value that is not a count is out of range.
  expect(readPromptUsage({ usage: { inputTokens: 'many' } })?.input_tokens).toBeNaN();
});

test('The usage of gemini and qwen is read from their own fields.', () => {
  const counts = { input_tokens: 9, output_tokens: 2 };
  expect(readPromptUsage({ usage: null, _meta: { quota: { token_count: counts } } })).toEqual({
    ...counts,
    total_tokens: 11,
    cached_input_tokens: null,
  });
  expect(readPromptUsage({ _meta: { usage: { inputTokens: 5, totalTokens: 6 } } })).toMatchObject({
    input_tokens: 5,
    total_tokens: 6,
  });
});

test('Any JSON is read as usage without an error.', () => {
  fc.assert(fc.property(fc.jsonValue(), (raw) => void readPromptUsage({ usage: raw, _meta: raw })));
});
