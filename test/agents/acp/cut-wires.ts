import type { Step } from '../cut-anywhere.ts';
import { type AcpWire, PROMPT, SESSION } from './cut-protocol.ts';

const update = (one: object, more: object = {}, sessionId = SESSION): Step => ({
  say: { method: 'session/update', params: { sessionId, update: one, ...more } },
});

const chunk = (text: string, more: object = {}, sessionId = SESSION): Step =>
  update(
    { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text }, ...more },
    {},
    sessionId,
  );

const thought = (text: string): Step =>
  update({ sessionUpdate: 'agent_thought_chunk', content: { type: 'text', text } });

const call = (toolCallId: string, more: object = {}, sessionId = SESSION): Step =>
  update({ sessionUpdate: 'tool_call', toolCallId, ...more }, {}, sessionId);

const change = (toolCallId: string, more: object = {}, sessionId = SESSION): Step =>
  update({ sessionUpdate: 'tool_call_update', toolCallId, ...more }, {}, sessionId);

const request = (id: string | number, method: string, params: object): Step => ({
  say: { id, method, params: { sessionId: SESSION, ...params } },
});

const answer = (result: object): Step => ({ say: { id: PROMPT, result } });

const said = (text: string) => [{ type: 'content', content: { type: 'text', text } }];

const options = [
  { optionId: 'a1', kind: 'allow_once', name: 'Allow once' },
  { optionId: 'r1', kind: 'reject_once', name: 'Reject' },
];

const asking = { mode: 'require_approval' };
const long = 'a line of the terminal\n'.repeat(40);

/** Turns of agents that show each kind of message. */
export const wires: Record<string, AcpWire> = {
  'texts with and without ids, and half characters': {
    steps: [
      thought('first I'),
      thought(' think'),
      chunk('one ', { messageId: 'm1' }),
      chunk('and \u{1f600}'.slice(0, -1), { messageId: 'm1' }),
      chunk('\u{1f600}'.slice(-1), { messageId: 'm1' }),
      chunk('two', { messageId: 'm2' }),
      chunk(' more'),
      update({ sessionUpdate: 'user_message_chunk', content: { type: 'text', text: 'no' } }),
      update({ sessionUpdate: 'no_such_update' }),
      chunk('\ud83d'),
      thought('and again'),
      chunk('the end', { messageId: 'm3' }),
      answer({ stopReason: 'end_turn' }),
    ],
  },
  'tools with content and terminals': {
    steps: [
      call('t1', {
        title: 'make',
        kind: 'execute',
        status: 'pending',
        rawInput: { command: 'make' },
      }),
      change('t1', {
        status: 'in_progress',
        _meta: { terminal_output_delta: { data: 'cc a.c\n' } },
      }),
      change('t1', { _meta: { terminal_output_delta: { data: long } } }),
      change('t1', { content: said('a text') }),
      change('t1', { _meta: { terminal_output_delta: { data: 'ld\n' } } }),
      call('t2', { title: 'Edit', kind: 'edit', content: [diff('a.txt', 'old\n', 'new\n')] }),
      change('t1', { status: 'completed', _meta: { terminal_exit: { exit_code: 2 } } }),
      change('t2', { status: 'failed', rawOutput: { error: 'no' } }),
      call('t3', { title: 'left open', status: 'in_progress' }),
      change('t1', { content: said('late') }),
      answer({ stopReason: 'end_turn' }),
    ],
  },
  'subagents, plans and images': {
    steps: [
      chunk('I ask somebody', {}, 'sub'),
      chunk(' and go on', { messageId: 'x' }, 'sub'),
      chunk('next', { messageId: 'y' }, 'sub'),
      call('t1', { title: 'ls', kind: 'execute', status: 'completed' }, 'sub'),
      update({ sessionUpdate: 'session_info_update', title: 'looks' }, {}, 'sub'),
      chunk(' step', { messageId: 'y' }, 'sub'),
      update({ sessionUpdate: 'plan', entries: [{ content: 'do it', status: 'pending' }] }),
      update({
        sessionUpdate: 'agent_message_chunk',
        content: { type: 'image', mimeType: 'image/png', data: 'aGk=' },
      }),
      answer({ stopReason: 'end_turn' }),
    ],
  },
  'usage, titles, commands, modes and notices': {
    agent: { quirks: { cumulative_usage: 'counts sums', cost_of_process: 'counts anew' } },
    opened: {
      modes: {
        currentModeId: 'ask',
        availableModes: [
          { id: 'ask', name: 'Ask' },
          { id: 'go', name: 'Go' },
        ],
      },
    },
    steps: [
      update({
        sessionUpdate: 'usage_update',
        used: 10,
        size: 100,
        cost: { amount: 2, currency: 'USD' },
      }),
      chunk('hello', { _meta: { usage: { inputTokens: 3, outputTokens: 1, totalTokens: 4 } } }),
      chunk(' you', { _meta: { usage: { inputTokens: 5, outputTokens: 2, totalTokens: 7 } } }),
      chunk(' all', { _meta: { usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 } } }),
      update({
        sessionUpdate: 'usage_update',
        used: 20,
        size: 100,
        cost: { amount: 1, currency: 'USD' },
      }),
      update({ sessionUpdate: 'usage_update', used: 25, cost: { amount: 1.5, currency: 'USD' } }),
      update({ sessionUpdate: 'usage_update', used: -1, size: 100 }),
      update({ sessionUpdate: 'usage_update', used: -2, size: 101 }),
      update({ sessionUpdate: 'session_info_update', title: 'A title' }),
      update({ sessionUpdate: 'available_commands_update', availableCommands: [{ name: 'go' }] }),
      update({ sessionUpdate: 'current_mode_update', currentModeId: 'go' }),
      update({ sessionUpdate: 'notice', severity: 'warning', title: 'careful' }),
      update({ sessionUpdate: 'compaction_update', compactionId: 'c', status: 'completed' }),
      update({
        sessionUpdate: 'plan',
        entries: Array.from({ length: 1100 }, (_, n) => ({ content: `${n}` })),
      }),
      update({
        sessionUpdate: 'plan',
        entries: Array.from({ length: 1100 }, (_, n) => ({ content: `${n}` })),
      }),
      answer({
        stopReason: 'end_turn',
        usage: { inputTokens: 50, outputTokens: 20, totalTokens: 70 },
      }),
    ],
  },
  'requests that a person decides': {
    ...asking,
    steps: [
      call('t1', { title: 'touch it', kind: 'execute', rawInput: { command: 'touch it' } }),
      chunk('may I?'),
      request('p1', 'session/request_permission', {
        toolCall: { toolCallId: 't1', content: said('really') },
        options,
      }),
      chunk(' I wait'),
      { decide: 'accept' },
      change('t1', { status: 'completed' }),
      request(7, 'session/request_permission', {
        toolCall: { toolCallId: 't2', title: 'rm' },
        options,
      }),
      change('t2', { rawInput: { command: 'rm -rf /' }, kind: 'execute' }),
      { decide: 'decline' },
      change('t2', { status: 'completed' }),
      request(8, 'session/request_permission', {
        toolCall: { toolCallId: 't3', title: 'what' },
        options,
      }),
      chunk('no arguments'),
      { advance: 300 },
      { decide: 'accept' },
      answer({ stopReason: 'end_turn' }),
    ],
  },
  'requests that the agent withdraws, and questions': {
    ...asking,
    steps: [
      request(9, 'session/request_permission', {
        toolCall: { toolCallId: 't4', title: 'x', rawInput: { a: 1 } },
        options: [],
      }),
      { say: { method: '$/cancel_request', params: { requestId: 9 } } },
      request('q', 'elicitation/create', {
        mode: 'form',
        message: 'which?',
        requestedSchema: { properties: { sure: { type: 'boolean' } }, required: ['sure'] },
      }),
      { decide: 'accept' },
      request('u', 'elicitation/create', {
        mode: 'url',
        message: 'go',
        url: 'http://x',
        elicitationId: 'e',
      }),
      { say: { method: 'elicitation/complete', params: { elicitationId: 'e' } } },
      chunk('done'),
      answer({ stopReason: 'end_turn' }),
    ],
  },
  'a request that nobody is asked': {
    steps: [
      chunk('I try'),
      request('q', 'elicitation/create', {
        message: 'which?',
        requestedSchema: { properties: {} },
      }),
      request('p1', 'session/request_permission', {
        toolCall: { toolCallId: 't1', title: 'touch it', rawInput: { command: 'touch it' } },
        options,
      }),
      chunk('so not'),
      answer({ stopReason: 'end_turn' }),
    ],
  },
  'an agent that never asks': {
    ...asking,
    agent: { asks: null },
    steps: [
      call('t1', { title: 'rm', kind: 'delete', status: 'in_progress' }),
      change('t1', { status: 'completed' }),
      call('t2', { title: 'rm', kind: 'delete', status: 'completed' }),
      answer({ stopReason: 'max_tokens' }),
    ],
  },
  'an interrupt while a request waits': {
    ...asking,
    steps: [
      chunk('may I?'),
      request('p1', 'session/request_permission', {
        toolCall: { toolCallId: 't1', title: 'touch it', rawInput: { command: 'touch it' } },
        options,
      }),
      { interrupt: true },
      change('t1', { status: 'failed' }),
      answer({ stopReason: 'cancelled' }),
    ],
  },
  'a limit of the account': {
    steps: [
      update({
        sessionUpdate: 'usage_update',
        used: 1,
        size: 2,
        _meta: {
          '_claude/rateLimit': {
            status: 'rejected',
            resetsAt: 1750009000,
            rateLimitType: 'five_hour',
          },
        },
      }),
      chunk('hm'),
      {
        say: {
          id: PROMPT,
          error: { code: -32603, message: 'no more', data: { errorKind: 'rate_limit' } },
        },
      },
    ],
  },
};

function diff(path: string, oldText: string, newText: string): object {
  return { type: 'diff', path, oldText, newText };
}
