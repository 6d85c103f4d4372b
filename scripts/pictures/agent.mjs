// An ACP agent without a model, for the pictures of the docs: it answers the prompts of scenes.mjs as they say there.
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { scenes } from './scenes.mjs';

let requests = 0;
let calls = 0;
let sessions = 0;
const waiting = new Map();

for await (const line of createInterface({ input: process.stdin })) void take(JSON.parse(line));

async function take({ id, method, params, result }) {
  if (method === undefined) return waiting.get(id)?.(result);
  if (method === 'initialize') return answer(id, { protocolVersion: 1, agentCapabilities: {} });
  if (method === 'session/new') return answer(id, { sessionId: `session-${++sessions}` });
  if (method === 'session/prompt') {
    const text = params.prompt.map((part) => part.text ?? '').join('');
    for (const step of scenes[text.trim()] ?? [{ say: 'Done.' }]) await act(params.sessionId, step);
    return answer(id, { stopReason: 'end_turn' });
  }
  if (id !== undefined) answer(id, {});
}

async function act(sessionId, { say, think, tool, output, ask, wait = 0 }) {
  const update = (one) => send({ method: 'session/update', params: { sessionId, update: one } });
  const chunk = (sessionUpdate, text) => update({ sessionUpdate, content: { type: 'text', text } });
  await pause(wait);
  if (think !== undefined) chunk('agent_thought_chunk', think);
  for (const word of say?.match(/\S+\s*/g) ?? []) {
    chunk('agent_message_chunk', word);
    await pause(25);
  }
  const title = tool ?? ask;
  if (title === undefined) return;
  const toolCallId = `call-${++calls}`;
  const rawInput = { command: title };
  const call = {
    toolCallId,
    title,
    kind: ask === undefined ? 'read' : 'execute',
    status: 'pending',
    rawInput,
  };
  update({ sessionUpdate: 'tool_call', ...call });
  if (ask !== undefined) {
    const options = [
      { optionId: 'once', name: 'Allow', kind: 'allow_once' },
      { optionId: 'no', name: 'Reject', kind: 'reject_once' },
    ];
    const outcome = await request('session/request_permission', {
      sessionId,
      toolCall: call,
      options,
    });
    if (outcome?.outcome?.optionId !== 'once')
      return update({ sessionUpdate: 'tool_call_update', toolCallId, status: 'failed' });
  }
  await pause(300);
  const content = [{ type: 'content', content: { type: 'text', text: output ?? 'ok' } }];
  update({ sessionUpdate: 'tool_call_update', toolCallId, status: 'completed', content });
}

function request(method, params) {
  const id = ++requests;
  send({ id, method, params });
  return new Promise((resolve) => waiting.set(id, resolve));
}

function answer(id, result) {
  send({ id, result });
}

function send(message) {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
}
