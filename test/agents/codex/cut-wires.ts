import type { Step, Wire } from '../cut-anywhere.ts';
import { SLOW_MS } from '../cut-server.ts';
import { interruptOf, promptOf, THREAD } from './cut-protocol.ts';

/** A turn of a thread, as codex reports it. */
function turnOf(threadId: string, turnId: string) {
  const scope = { threadId, turnId };
  const turn = (status: string, more: object = {}) => ({
    threadId,
    turn: { id: turnId, status, ...more },
  });
  const note = (method: string, params: object = {}): Step => ({
    say: { method, params: { ...scope, ...params } },
  });
  return {
    note,
    accepted: { say: { id: promptOf(threadId), result: { turn: { id: turnId } } } } as Step,
    started: { say: { method: 'turn/started', params: turn('inProgress') } } as Step,
    begin: (item: object) => note('item/started', { item: { status: 'inProgress', ...item } }),
    done: (item: object) => note('item/completed', { item: { status: 'completed', ...item } }),
    text: (itemId: string, delta: string) => note('item/agentMessage/delta', { itemId, delta }),
    output: (itemId: string, delta: string) =>
      note('item/commandExecution/outputDelta', { itemId, delta }),
    asks: (id: string | number, method: string, params: object = {}): Step => ({
      say: { id, method, params: { ...scope, ...params } },
    }),
    uses: (total: number, last: number) =>
      note('thread/tokenUsage/updated', {
        tokenUsage: { total: tokens(total), last: tokens(last), modelContextWindow: 1000 },
      }),
    ended: (status = 'completed', more: object = {}): Step => ({
      say: { method: 'turn/completed', params: turn(status, more) },
    }),
  };
}

function tokens(totalTokens: number): object {
  return { totalTokens, inputTokens: totalTokens, cachedInputTokens: 1, outputTokens: 2 };
}

const turn = turnOf(THREAD, 'u1');
const { note, accepted, started, begin, done, text, output, asks, uses, ended } = turn;
const earlier = turnOf(THREAD, 'u0');

const begun = [accepted, started];
const asking = { mode: 'require_approval' };
const onCommand = 'item/commandExecution/requestApproval';
const onChange = 'item/fileChange/requestApproval';
const make = { type: 'commandExecution', command: 'make', cwd: '/w' };
const adding = (path: string) => [{ path, kind: { type: 'add' }, diff: `+${path}` }];
const line = 'a line of the command\n';
const question = { id: 'q', question: 'sure?', isOther: true, options: [{ label: 'yes' }] };
const form = {
  serverName: 'files',
  mode: 'form',
  message: 'which?',
  requestedSchema: { properties: { sure: { type: 'boolean' } }, required: ['sure'] },
};
const manySteps = Array.from({ length: 1100 }, (_, n) => ({ step: `${n}`, status: 'pending' }));
const limits = (usedPercent: number): Step => ({
  say: {
    method: 'account/rateLimits/updated',
    params: {
      rateLimits: { limitId: 'codex', primary: { usedPercent, resetsAt: 1_760_000_000 } },
    },
  },
});
const subagent = (id: string, parentThreadId: string): Step => ({
  say: { method: 'thread/started', params: { thread: { id, parentThreadId } } },
});
const noTurn = { code: -32_600, message: 'no active turn to interrupt' };

/** Turns of codex that show each kind of message. */
export const wires: Record<string, Wire> = {
  'texts, reasoning and plans': {
    steps: [
      ...begun,
      note('item/reasoning/summaryTextDelta', { itemId: 'r', delta: 'I think', summaryIndex: 0 }),
      note('item/reasoning/textDelta', { itemId: 'r', delta: 'more', contentIndex: 0 }),
      done({ type: 'reasoning', id: 'r', summary: ['I think', 'again'], content: ['more'] }),
      begin({ type: 'agentMessage', id: 'm1' }),
      text('m1', 'one '),
      text('m1', 'and a half'),
      earlier.text('m0', 'too late'),
      done({ type: 'agentMessage', id: 'm1', text: 'one and a half' }),
      done({ type: 'agentMessage', id: 'm2', text: 'at once' }),
      note('turn/plan/updated', { plan: [{ step: 'do it', status: 'inProgress' }] }),
      note('turn/plan/updated', { plan: manySteps }),
      note('turn/plan/updated', { plan: manySteps }),
      note('no/such/method'),
      { say: { method: 'warning', params: { message: 'for nobody' } } },
      text('m3', 'left open'),
      ended(),
    ],
  },
  'commands and calls': {
    steps: [
      ...begun,
      begin({ ...make, id: 'c1' }),
      begin({ ...make, id: 'c2', command: 'make test' }),
      output('c1', line),
      output('c2', line.repeat(30)),
      output('c1', line.repeat(40)),
      output('c2', 'ok\n'),
      done({ ...make, id: 'c1', aggregatedOutput: 'all of it' }),
      output('c2', 'ok again\n'),
      begin({ type: 'mcpToolCall', id: 'c3', server: 's', tool: 't', arguments: { a: 1 } }),
      done({ type: 'mcpToolCall', id: 'c3', server: 's', tool: 't', error: { message: 'no' } }),
      begin({ type: 'webSearch', id: 'c4', query: 'how' }),
      output('c2', 'the end\n'),
      ended(),
    ],
  },
  'requests that a person decides': {
    ...asking,
    steps: [
      ...begun,
      begin({ type: 'fileChange', id: 'f1', changes: adding('/w/a') }),
      text('m1', 'may I?'),
      asks(1, onChange, { itemId: 'f1', reason: null }),
      text('m1', ' I wait'),
      { decide: 'accept' },
      { say: { method: 'serverRequest/resolved', params: { threadId: THREAD, requestId: 1 } } },
      done({ type: 'fileChange', id: 'f1', changes: adding('/w/a') }),
      begin({ type: 'fileChange', id: 'f2', changes: [] }),
      note('item/fileChange/patchUpdated', { itemId: 'f2', changes: adding('/w/b') }),
      begin({ ...make, id: 'c1' }),
      asks('two', onChange, { itemId: 'f2', reason: 'b is missing' }),
      asks(3, onCommand, { itemId: 'c1' }),
      { decide: 'decline' },
      { decide: 'accept' },
      output('c1', line),
      done({ type: 'fileChange', id: 'f2', status: 'declined', changes: adding('/w/b') }),
      output('c1', line),
      done({ ...make, id: 'c1', aggregatedOutput: line }),
      ended(),
    ],
  },
  'a request that is stored before an earlier one': {
    ...asking,
    steps: [
      ...begun,
      asks(0, onCommand, { itemId: 'c1', command: 'slow', cwd: '/w' }),
      text('m1', 'one'),
      asks(1, onCommand, { itemId: 'c2', command: 'quick', cwd: '/w' }),
      text('m1', ' two'),
      { decide: 'accept' },
      text('m1', ' three'),
      { advance: SLOW_MS },
      { decide: 'decline' },
      ended(),
    ],
  },
  'questions, permissions and requests that codex withdraws': {
    ...asking,
    steps: [
      ...begun,
      asks(0, 'item/tool/requestUserInput', { itemId: 'x', questions: [question] }),
      { decide: 'accept' },
      asks(1, 'mcpServer/elicitation/request', form),
      text('m1', 'a form'),
      { decide: 'accept' },
      asks(2, 'item/permissions/requestApproval', { permissions: { network: true } }),
      { decide: 'decline' },
      asks(3, 'execCommandApproval', { conversationId: THREAD, callId: 'c', command: ['ls'] }),
      text('m1', 'never mind'),
      { say: { method: 'serverRequest/resolved', params: { threadId: THREAD, requestId: 3 } } },
      asks(4, 'item/tool/call', { tool: 'unknown' }),
      asks(5, 'currentTime/read'),
      text('m1', ' at all'),
      ended(),
    ],
  },
  'requests that nobody is asked': {
    steps: [
      ...begun,
      begin({ ...make, id: 'c1' }),
      asks(0, onCommand, { itemId: 'c1' }),
      text('m1', 'so not'),
      done({ ...make, id: 'c1', status: 'declined' }),
      asks(1, 'item/tool/requestUserInput', { itemId: 'x', questions: [question] }),
      ended(),
    ],
  },
  subagents: {
    ...asking,
    steps: [
      ...begun,
      begin({ type: 'collabAgentToolCall', id: 'a', tool: 'spawn', prompt: 'help' }),
      subagent('sub', THREAD),
      subagent('deep', 'sub'),
      turnOf('sub', 'v1').text('m', 'for the caller'),
      text('m1', 'it works'),
      turnOf('sub', 'v1').asks(0, onCommand, { itemId: 'c', command: 'ls', cwd: '/w' }),
      { decide: 'accept' },
      turnOf('deep', 'w1').asks(1, onCommand, { itemId: 'd', command: 'rm', cwd: '/w' }),
      text('m1', ' hard'),
      { decide: 'decline' },
      { say: { method: 'thread/closed', params: { threadId: 'deep' } } },
      turnOf('sub', 'v1').asks(2, onCommand, { itemId: 'e', command: 'cat', cwd: '/w' }),
      { decide: 'accept' },
      ended(),
    ],
  },
  usage: {
    steps: [
      ...begun,
      earlier.uses(100, 0),
      uses(130, 30),
      text('m1', 'hm'),
      uses(150, 20),
      uses(175, 25),
      note('thread/tokenUsage/updated', { tokenUsage: {} }),
      ended(),
    ],
  },
  'usage out of range': {
    steps: [...begun, uses(-1, 30), text('m1', 'hm'), uses(-2, 20), ended()],
  },
  'an error after retries': {
    steps: [
      ...begun,
      note('error', { error: { message: 'stream 1/5' }, willRetry: true }),
      note('error', { error: { message: 'it broke', codexErrorInfo: 'other' }, willRetry: false }),
      earlier.note('error', { error: { message: 'too late' }, willRetry: false }),
      text('m1', 'hm'),
      ended('failed', { error: null }),
    ],
  },
  'a limit of the account': {
    steps: [
      ...begun,
      limits(50),
      text('m1', 'hm'),
      limits(100),
      text('m1', ' hm'),
      ended('failed', {
        error: { message: 'no more', codexErrorInfo: 'usageLimitExceeded' },
      }),
    ],
  },
  'a turn that begins before it is accepted': {
    steps: [started, text('m1', 'quick'), accepted, text('m1', ' end'), ended()],
  },
  'a turn that ends before it is accepted': {
    steps: [text('m1', 'quick'), earlier.ended('interrupted'), ended(), accepted],
  },
  'a turn that codex refuses': {
    steps: [
      limits(1),
      { say: { id: promptOf(THREAD), error: { code: -1, message: 'bad model' } } },
    ],
  },
  'an interrupt while requests wait': {
    ...asking,
    steps: [
      ...begun,
      begin({ ...make, id: 'c1' }),
      asks(0, onCommand, { itemId: 'c1' }),
      asks(1, 'item/tool/requestUserInput', { itemId: 'x', questions: [question] }),
      { interrupt: true },
      { say: { id: interruptOf(THREAD), result: {} } },
      done({ ...make, id: 'c1', status: 'interrupted' }),
      ended('interrupted'),
    ],
  },
  'an interrupt before the turn begins': {
    steps: [
      { interrupt: true },
      accepted,
      started,
      { say: { id: interruptOf(THREAD), result: {} } },
      text('m1', 'hm'),
      ended('interrupted'),
    ],
  },
  'an interrupt of a turn whose end was missed': {
    steps: [
      ...begun,
      text('m1', 'hm'),
      { interrupt: true },
      { say: { id: interruptOf(THREAD), error: noTurn } },
      limits(1),
    ],
  },
};

const other = turnOf('t2', 'u2');

/** A turn of each of two sessions that share one app-server. */
export const sharedWires: Record<string, Wire> = {
  'texts and outputs in turns': {
    steps: [
      accepted,
      other.accepted,
      other.started,
      started,
      text('m1', 'I am one'),
      other.text('m1', 'I am two'),
      begin({ ...make, id: 'c1' }),
      other.begin({ ...make, id: 'c1' }),
      output('c1', line),
      other.output('c1', 'two\n'),
      output('c1', line),
      output('c1', line),
      text('m2', 'still one'),
      output('c1', line),
      uses(30, 30),
      other.uses(20, 20),
      output('c1', line),
      limits(100),
      ended('failed', { error: { message: 'no more', codexErrorInfo: 'usageLimitExceeded' } }),
      limits(50),
      other.output('c1', 'more\n'),
      other.uses(50, 30),
      other.ended('failed', {
        error: { message: 'no more', codexErrorInfo: 'usageLimitExceeded' },
      }),
    ],
  },
  'requests of two sessions': {
    ...asking,
    steps: [
      other.accepted,
      accepted,
      started,
      other.started,
      subagent('sub', 't2'),
      asks(0, onCommand, { itemId: 'c1', command: 'ls', cwd: '/w' }),
      turnOf('sub', 'v').asks(1, onCommand, { itemId: 'c1', command: 'rm', cwd: '/w' }),
      text('m1', 'I wait'),
      other.text('m1', 'so do I'),
      { decide: 'decline', of: 1 },
      done({ ...make, id: 'c1' }),
      { decide: 'accept' },
      other.done({ ...make, id: 'c1', status: 'declined' }),
      { interrupt: true, of: 1 },
      text('m1', ' no more'),
      { say: { id: interruptOf('t2'), result: {} } },
      other.ended('interrupted'),
      ended(),
    ],
  },
};
