import type { TurnSettings } from '../../../src/agents/provider.ts';
import type { Step, Wire } from '../cut-anywhere.ts';
import { INTERRUPT } from './cut-protocol.ts';

const say = (message: object): Step => ({ say: message });

const stream = (event: object, parent: string | null = null): Step =>
  say({ type: 'stream_event', event, parent_tool_use_id: parent });

const starts = (id: string, usage: object = {}): Step =>
  stream({ type: 'message_start', message: { id, usage } });

export const text = (words: string, index = 0): Step =>
  stream({ type: 'content_block_delta', index, delta: { type: 'text_delta', text: words } });

const thought = (words: string, index = 0): Step =>
  stream({
    type: 'content_block_delta',
    index,
    delta: { type: 'thinking_delta', thinking: words },
  });

const used = (usage: object): Step => stream({ type: 'message_delta', delta: {}, usage });

const blocks = (id: string, content: object[], more: object = {}, model = 'opus'): Step =>
  say({ type: 'assistant', message: { id, model, content }, parent_tool_use_id: null, ...more });

const calls = (ref: string, name: string, input: object, more: object = {}): Step =>
  blocks(`of_${ref}`, [{ type: 'tool_use', id: ref, name, input }], more);

const output = (ref: string, content: unknown, more: object = {}): Step =>
  say({
    type: 'user',
    message: { content: [{ type: 'tool_result', tool_use_id: ref, content, ...more }] },
  });

export const asks = (id: string, tool: string, input: object, more: object = {}): Step =>
  say({
    type: 'control_request',
    request_id: id,
    request: { subtype: 'can_use_tool', tool_name: tool, input, ...more },
  });

export const carries = (id: string, message: object): Step =>
  say({
    type: 'control_request',
    request_id: id,
    request: {
      subtype: 'mcp_message',
      server_name: 'cadre',
      message: { jsonrpc: '2.0', ...message },
    },
  });

export const result = (more: object = {}): Step =>
  say({ type: 'result', subtype: 'success', is_error: false, result: 'the end', ...more });

const init = say({ type: 'system', subtype: 'init', permissionMode: 'default' });

/** Claude proposes to edit files without asking. */
export const editing = {
  permission_suggestions: [{ type: 'setMode', mode: 'acceptEdits', destination: 'project' }],
};
const asking = { mode: 'require_approval' };

/** Returns turns of claude that show each kind of message. `next`: a prompt after the turn. */
export function wiresOf(next: (settings: Partial<TurnSettings>) => Step): Record<string, Wire> {
  return {
    'texts in pieces and as a whole': {
      steps: [
        init,
        starts('m1', { input_tokens: 3, cache_read_input_tokens: 100, output_tokens: 1 }),
        thought('I think'),
        thought(' twice'),
        text('one ', 1),
        text('and \u{1f600}'.slice(0, -1), 1),
        text('\u{1f600}'.slice(-1), 1),
        stream({ type: 'content_block_stop', index: 1 }),
        blocks('m1', [{ type: 'text', text: 'one and \u{1f600}' }], { uuid: 'u1' }),
        used({ output_tokens: 20 }),
        starts('m2', { input_tokens: 5, output_tokens: 2 }),
        text('two'),
        used({ output_tokens: 7 }),
        blocks('m2', [{ type: 'text', text: 'two' }], { uuid: 'u2' }),
        blocks('m3', [
          { type: 'thinking', thinking: 'whole' },
          { type: 'text', text: 'three' },
        ]),
        blocks('m4', [{ type: 'text', text: 'An error' }], {}, '<synthetic>'),
        starts('m5'),
        text('four'),
        text(''),
        say({ type: 'no_such_message' }),
        say({ type: 'keep_alive' }),
        say({ type: 'control_response', response: { subtype: 'success', request_id: 'cadre_1' } }),
        result({ modelUsage: { opus: { costUSD: 3, contextWindow: 1000 } }, total_cost_usd: 3 }),
        next({ permissionMode: 'read_only' }),
      ],
    },
    'an answer that is only in the result': {
      steps: [init, starts('m1'), used({ output_tokens: 3 }), result({ result: 'only here' })],
    },
    'tools with outputs': {
      steps: [
        starts('m1'),
        text('I use tools'),
        stream({
          type: 'content_block_start',
          index: 1,
          content_block: { type: 'tool_use', id: 't1', name: 'Bash' },
        }),
        calls('t1', 'Bash', { command: 'make' }),
        calls('t2', 'Edit', { file_path: 'a.txt', old_string: 'a', new_string: 'b' }),
        calls('t3', 'TodoWrite', { todos: [{ content: 'do it', status: 'in_progress' }] }),
        output('t2', [{ type: 'text', text: 'done' }]),
        output('t1', 'a line\n'.repeat(2000)),
        text(' and go on'),
        output('t3', 'no', { is_error: true }),
        calls('t4', 'Read', { file_path: 'left open' }),
        output('t1', 'late'),
        result(),
      ],
    },
    'large calls that are left open': {
      // They are closed in several writes, after the result and before the end of the turn.
      steps: [
        calls('t1', 'Bash', { command: 'x'.repeat(300_000) }),
        calls('t2', 'Bash', { command: 'ls' }),
        result(),
      ],
    },
    'a subagent': {
      ...asking,
      steps: [
        calls('t1', 'Task', { description: 'look' }),
        stream({ type: 'message_start', message: { id: 's1', usage: { output_tokens: 9 } } }, 't1'),
        blocks('s1', [{ type: 'text', text: 'not shown' }], {
          parent_tool_use_id: 't1',
          uuid: 'x',
        }),
        asks('p1', 'Bash', { command: 'ls' }, { tool_use_id: 's2' }),
        { decide: 'accept' },
        calls('s2', 'Bash', { command: 'ls' }, { parent_tool_use_id: 't1' }),
        output('s2', 'a.txt'),
        output('t1', 'I have looked'),
        text('well'),
        result(),
      ],
    },
    'requests that a person decides': {
      ...asking,
      steps: [
        init,
        starts('m1'),
        text('may I?'),
        calls('t1', 'Bash', { command: 'touch it' }),
        asks('p1', 'Bash', { command: 'touch it' }, { tool_use_id: 't1' }),
        text(' I wait'),
        { decide: 'accept' },
        output('t1', ''),
        asks('p2', 'Bash', { command: 'rm -rf /' }, { tool_use_id: 't2' }),
        asks('p3', 'Glob', { pattern: '*' }, { tool_use_id: 't3' }),
        { decide: 'decline' },
        { decide: 'accept' },
        output('t2', 'declined', { is_error: true }),
        asks('q', 'AskUserQuestion', {
          questions: [{ question: 'which?', options: [{ label: 'this' }] }],
        }),
        { decide: 'accept' },
        asks('p4', 'WebFetch', { url: 'http://x' }),
        say({ type: 'control_cancel_request', request_id: 'p4' }),
        asks('p5', 'Bash', { command: 'mv a b' }, { tool_use_id: 't5', ...editing }),
        { decide: 'accept', scope: 'session' },
        say({ type: 'system', subtype: 'status', permissionMode: 'default' }),
        text('done'),
        say({ type: 'control_request', request_id: 'x', request: { subtype: 'no_such_request' } }),
        result(),
        next({ permissionMode: 'require_approval' }),
      ],
    },
    'requests that nobody is asked': {
      steps: [
        asks('p1', 'Bash', { command: 'touch it' }, { tool_use_id: 't1' }),
        text('so not'),
        asks('p2', 'AskUserQuestion', { questions: [{ question: 'which?' }] }),
        result(),
      ],
    },
    'the tools of cadre': {
      steps: [
        carries('c1', { id: 1, method: 'initialize' }),
        carries('c2', { method: 'notifications/initialized' }),
        carries('c3', { id: 2, method: 'tools/list' }),
        text('used'),
        result(),
      ],
    },
    'requests while another one waits': {
      ...asking,
      steps: [
        carries('c1', { id: 1, method: 'tools/list', params: { name: 'slow' } }),
        asks('p1', 'Bash', { command: 'touch it' }, { tool_use_id: 't1', ...editing }),
        { decide: 'accept', scope: 'session' },
        say({ type: 'system', subtype: 'status', permissionMode: 'default' }),
        asks('p2', 'Bash', { command: 'rm it' }, { tool_use_id: 't2' }),
        text('I wait'),
        { decide: 'decline' },
        carries('c2', { method: 'notifications/done' }),
        text(' no longer'),
        result(),
        next({ permissionMode: 'require_approval' }),
      ],
    },
    'an interrupt while a request waits': {
      ...asking,
      steps: [
        init,
        starts('m1', { input_tokens: 2 }),
        text('I begin'),
        asks('p1', 'Bash', { command: 'sleep 9' }, { tool_use_id: 't1' }),
        { interrupt: true },
        say({ type: 'control_response', response: { subtype: 'success', request_id: INTERRUPT } }),
        say({ type: 'control_cancel_request', request_id: 'p1' }),
        result({ is_error: true, terminal_reason: 'aborted_tools', usage: {} }),
      ],
    },
    'an interrupt before the turn has begun': {
      steps: [
        { interrupt: true },
        init,
        starts('m1'),
        text('I beg'),
        result({ is_error: true, terminal_reason: 'aborted_streaming' }),
      ],
    },
    'a limit of the account': {
      steps: [
        say({
          type: 'rate_limit_event',
          rate_limit_info: {
            status: 'rejected',
            resetsAt: 1_750_009_000,
            rateLimitType: 'five_hour',
          },
        }),
        say({ type: 'system', subtype: 'api_retry', attempt: 1, max_retries: 2, error: 'busy' }),
        starts('m1'),
        result({ is_error: true, result: 'no more', api_error_status: 429 }),
      ],
    },
    'an error, and messages that are cut': {
      steps: [
        calls('t1', 'TodoWrite', { todos: many() }),
        calls('t2', 'TodoWrite', { todos: many() }),
        result({ subtype: 'error_during_execution', is_error: true, errors: ['it broke'] }),
      ],
    },
    'settings that the next turn keeps': {
      mode: 'full_access',
      model: 'opus',
      effort: 'high',
      steps: [
        init,
        text('I may'),
        result(),
        next({ permissionMode: 'full_access', model: 'opus', thinkingEffort: 'high' }),
        next({ permissionMode: 'read_only', model: 'haiku', thinkingEffort: 'high' }),
        next({ permissionMode: 'read_only', thinkingEffort: 'high' }),
        next({ permissionMode: 'read_only', thinkingEffort: 'unknown' }),
      ],
    },
  };
}

function many(): object[] {
  return Array.from({ length: 1100 }, (_, n) => ({ content: `${n}`, status: 'pending' }));
}
