import { type AcpWire, PROMPT } from '../../agents/acp/cut-protocol.ts';
import { wires } from '../../agents/acp/cut-wires.ts';
import type { Seed } from './mutate.ts';

/**
 * The output of agents, a message a line. A line with {@link ID} waits for the next request of cadre and gets its id; the
 * line {@link AT_PROMPT} waits for the prompt. The kind is the permission mode of the turn.
 */
export const ID = '$ID';
export const AT_PROMPT = '$PROMPT';

function wire(kind: string, messages: readonly unknown[]): Seed {
  const bytes = Buffer.from(messages.map((one) => `${JSON.stringify(one)}\n`).join(''));
  return { kind, form: 'lines', bytes };
}

const rpc = (message: object) => ({ jsonrpc: '2.0', ...message });

function acpWire({ steps, mode = 'default', initialized, opened }: AcpWire): Seed {
  const hello = {
    protocolVersion: 1,
    agentInfo: { name: 'a', version: '1.0' },
    agentCapabilities: { loadSession: true, promptCapabilities: { image: true } },
    ...initialized,
  };
  const sent = steps.flatMap((step) => ('say' in step ? [rpc(step.say)] : []));
  return wire(mode, [
    rpc({ id: ID, result: hello }),
    rpc({ id: ID, result: { sessionId: 's1', ...opened } }),
    AT_PROMPT,
    ...(JSON.parse(JSON.stringify(sent).replaceAll(`"${PROMPT}"`, `"${ID}"`)) as object[]),
  ]);
}

export const acpWires: readonly Seed[] = Object.values(wires).map(acpWire);

const stream = (event: object) => ({ type: 'stream_event', event, parent_tool_use_id: null });
const assistant = (content: object[], more: object = {}) => ({
  type: 'assistant',
  uuid: 'u1',
  message: { id: 'm2', model: 'opus', content },
  ...more,
});
const claudeAnswer = (response: object) => ({
  type: 'control_response',
  response: { subtype: 'success', request_id: ID, response },
});
const claudeAsks = (id: string, tool_name: string, input: object, more: object = {}) => ({
  type: 'control_request',
  request_id: id,
  request: { subtype: 'can_use_tool', tool_name, input, tool_use_id: `t_${id}`, ...more },
});
const claudeBegin = [
  claudeAnswer({
    claude_code_version: '9.9',
    models: [{ value: 'opus', displayName: 'Opus', supportedEffortLevels: ['low', 'high'] }],
    commands: [{ name: 'review', description: 'reviews a change', argumentHint: '[pr]' }],
  }),
  claudeAnswer({ applied: { model: 'claude-usual' } }),
  AT_PROMPT,
  { type: 'system', subtype: 'init', permissionMode: 'default' },
];
const usage = { input_tokens: 3, output_tokens: 1, cache_read_input_tokens: 2 };

export const claudeWires: readonly Seed[] = [
  wire('default', [
    ...claudeBegin,
    stream({ type: 'message_start', message: { id: 'm1', usage } }),
    stream({
      type: 'content_block_start',
      index: 1,
      content_block: { type: 'tool_use', id: 't1', name: 'Bash' },
    }),
    stream({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'hi' } }),
    stream({ type: 'content_block_delta', index: 1, delta: { type: 'thinking_delta', thinking: 'h' } }),
    stream({ type: 'message_delta', delta: {}, usage }),
    assistant([
      { type: 'text', text: 'all' },
      { type: 'thinking', thinking: 'hm' },
      { type: 'tool_use', id: 't1', name: 'Bash', input: { command: 'ls' } },
      { type: 'tool_use', id: 't2', name: 'TodoWrite', input: { todos: [{ content: 'a', status: 'pending' }] } },
    ]),
    { type: 'user', message: { content: [{ type: 'tool_result', tool_use_id: 't1', content: [{ type: 'text', text: 'x' }] }] } },
    { type: 'system', subtype: 'api_retry', attempt: 1, max_retries: 3, error: 'overloaded', error_status: 529 },
    { type: 'rate_limit_event', rate_limit_info: { status: 'rejected', resetsAt: 1_750_009_000, rateLimitType: 'five_hour' } },
    { type: 'result', subtype: 'success', is_error: false, result: 'done', usage, total_cost_usd: 1,
      modelUsage: { opus: { costUSD: 1, contextWindow: 200_000 } } },
  ]), // prettier-ignore
  wire('require_approval', [
    ...claudeBegin,
    claudeAsks('a', 'Bash', { command: 'rm x' }, { permission_suggestions: [
      { type: 'addRules', behavior: 'allow', rules: [{ toolName: 'Bash', ruleContent: 'rm:*' }] },
    ] }),
    claudeAsks('b', 'Edit', { file_path: 'a.txt', old_string: 'a', new_string: 'b', replace_all: true }),
    claudeAsks('c', 'Write', { file_path: '/w/a.txt', content: 'text' }),
    claudeAsks('d', 'NotebookEdit', { notebook_path: 'a.ipynb', cell_id: 'cell-1', new_source: 'x' }),
    claudeAsks('e', 'AskUserQuestion', { questions: [{ question: 'which?', header: 'W', multiSelect: false, options: [{ label: 'a', description: 'b' }] }] }),
    claudeAsks('f', 'ExitPlanMode', { plan: 'do it' }),
    { type: 'control_cancel_request', request_id: 'f' },
    { type: 'control_request', request_id: 'm', request: { subtype: 'mcp_message', server_name: 'cadre', message: { jsonrpc: '2.0', id: 1, method: 'tools/list' } } },
    { type: 'result', subtype: 'success', is_error: true, result: 'limit', api_error: 'usage_limit_reached', api_error_status: 429, stop_reason: 'x' },
  ]), // prettier-ignore
];

const thread = { threadId: 'th', turnId: 'tu' };
const codexAsks = (id: number | string, method: string, params: object) => ({
  id,
  method,
  params: { ...thread, itemId: `i${id}`, ...params },
});
const note = (method: string, params: object) => ({ method, params: { ...thread, ...params } });
const tokens = { totalTokens: 10, inputTokens: 7, cachedInputTokens: 2, outputTokens: 3 };
const codexBegin = [
  { id: ID, result: { userAgent: 'cadre/9.9.9 (Test 1; x86_64) dumb' } },
  { id: ID, result: { model: 'usual', approvalPolicy: 'on-request', sandbox: { type: 'readOnly' }, reasoningEffort: null, thread: { id: 'th', status: { type: 'idle' } } } },
  { id: ID, result: {} },
  AT_PROMPT,
  { id: ID, result: { turn: { id: 'tu', status: 'inProgress' } } },
  note('turn/started', { turn: { id: 'tu', status: 'inProgress' } }),
]; // prettier-ignore
const command = {
  type: 'commandExecution',
  id: 'c1',
  command: 'ls',
  cwd: '/w',
  status: 'inProgress',
};

export const codexWires: readonly Seed[] = [
  wire('default', [
    ...codexBegin,
    note('item/agentMessage/delta', { itemId: 'm', delta: 'Hello ' }),
    note('item/reasoning/summaryTextDelta', { itemId: 'r', summaryIndex: 1, delta: 'so' }),
    note('item/started', { item: command }),
    note('item/commandExecution/outputDelta', { itemId: 'c1', delta: 'x\n' }),
    note('item/completed', { item: { ...command, status: 'completed', aggregatedOutput: 'x\n', exitCode: 0 } }),
    note('item/completed', { item: { type: 'fileChange', id: 'f1', status: 'completed', changes: [{ path: 'a', diff: '@@ -1 +1 @@\n-a\n+b\n', kind: { type: 'update' } }] } }),
    note('item/completed', { item: { type: 'mcpToolCall', id: 'x1', server: 's', tool: 't', arguments: { a: 1 }, result: { content: [{ type: 'text', text: 'r' }] } } }),
    note('item/completed', { item: { type: 'webSearch', id: 'w1', query: 'q' } }),
    note('item/completed', { item: { type: 'agentMessage', id: 'm', text: 'Hello all' } }),
    note('item/completed', { item: { type: 'reasoning', id: 'r', summary: ['so'], content: ['x'] } }),
    note('turn/plan/updated', { explanation: null, plan: [{ step: 'a', status: 'inProgress' }] }),
    note('thread/tokenUsage/updated', { tokenUsage: { total: tokens, last: tokens, modelContextWindow: 1000 } }),
    { method: 'thread/started', params: { thread: { id: 'sub', parentThreadId: 'th' } } },
    { method: 'account/rateLimits/updated', params: { rateLimits: { primary: { usedPercent: 100, windowDurationMins: 300, resetsAt: 1_750_009_000 } } } },
    note('error', { error: { message: 'no', codexErrorInfo: 'usageLimitExceeded' }, willRetry: true }),
    note('turn/completed', { turn: { id: 'tu', status: 'completed', error: null } }),
  ]), // prettier-ignore
  wire('require_approval', [
    ...codexBegin,
    codexAsks(1, 'item/commandExecution/requestApproval', { command: 'rm x', cwd: '/w', reason: 'r', proposedExecpolicyAmendment: ['rm'] }),
    codexAsks(2, 'item/fileChange/requestApproval', { grantRoot: '/w', reason: null }),
    codexAsks(3, 'item/permissions/requestApproval', { permissions: { network: { enabled: true }, fileSystem: { write: ['/x'] } } }),
    codexAsks('q', 'item/tool/requestUserInput', { questions: [{ id: 'a', header: 'h', question: 'q?', options: [{ label: 'x', description: 'y' }] }] }),
    codexAsks(5, 'mcpServer/elicitation/request', { serverName: 's', mode: 'form', message: 'm', requestedSchema: { type: 'object', properties: { a: { type: 'string', enum: ['x'] }, n: { type: 'number' } }, required: ['a'] } }),
    { id: 6, method: 'execCommandApproval', params: { conversationId: 'th', callId: 'c', command: ['rm', 'x'], cwd: '/w', parsedCmd: [] } },
    { id: 7, method: 'applyPatchApproval', params: { conversationId: 'th', callId: 'p', fileChanges: { '/w/a': { type: 'update', unified_diff: '@@ -1 +1 @@\n-a\n+b\n', move_path: null }, '/w/b': { type: 'add', content: 'x' } } } },
    codexAsks(8, 'item/tool/call', { tool: 'x', arguments: {} }),
    note('serverRequest/resolved', { requestId: 1 }),
    note('turn/completed', { turn: { id: 'tu', status: 'failed', error: { message: 'x', codexErrorInfo: { httpConnectionFailed: { httpStatusCode: 500 } } } } }),
  ]), // prettier-ignore
];
