/**
 * The program of an agent that speaks ACP and sends, for each prompt, the attack of that name. It sends each request
 * once; its turn ends after the answer.
 */
export const LOUD_AGENT = String.raw`
import { createInterface } from 'node:readline';
import { once } from 'node:events';

const send = (message) => {
  if (!process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n'))
    return once(process.stdout, 'drain');
};
const raw = (text) => process.stdout.write(text) || once(process.stdout, 'drain');
const many = (count, make) => Array.from({ length: count }, (_, n) => make(n));
const lines = (count, word) => many(count, (n) => word + n).join('\n') + '\n';
const options = [
  { optionId: 'a', kind: 'allow_once', name: 'Allow' },
  { optionId: 'r', kind: 'reject_once', name: 'Reject' },
];
const answers = new Map();
let ids = 0;

async function ask(sessionId, toolCall, more = {}) {
  const id = 'ask-' + ++ids;
  const answered = new Promise((resolve) => answers.set(id, resolve));
  await send({ id, method: 'session/request_permission', params: { sessionId, options, toolCall, ...more } });
  await answered;
}
const update = (sessionId, one) => send({ method: 'session/update', params: { sessionId, update: one } });
const call = (more) => ({ toolCallId: 'c' + ++ids, title: 'do it', kind: 'edit', ...more });
const chunk = (text) => ({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } });
const diff = (path, oldText, newText) => ({ type: 'diff', path, oldText, newText });
async function openCalls(id, count) {
  const text = 'x'.repeat(1e6);
  for (let n = 0; n < count; n++)
    await update(id, { sessionUpdate: 'tool_call', ...call({ status: 'pending', rawInput: { text } }) });
}

const attacks = {
  'nothing': () => undefined,
  'a permission with 300 diffs of 4,000 changed lines': (id) =>
    ask(id, call({ content: many(300, (n) => diff('/w/f' + n, lines(4000, 'a'), lines(4000, 'b'))) })),
  'a permission with 60 diffs of 4,000 changed lines': (id) =>
    ask(id, call({ content: many(60, (n) => diff('/w/f' + n, lines(4000, 'a'), lines(4000, 'b'))) })),
  'an input of 100,000 fields': (id) =>
    ask(id, call({ rawInput: Object.fromEntries(many(100_000, (n) => ['f' + n, n])) })),
  'an input of 20,000 fields': (id) =>
    ask(id, call({ rawInput: Object.fromEntries(many(20_000, (n) => ['f' + n, n])) })),
  'an input of 7.9 MiB': (id) => ask(id, call({ rawInput: { text: 'x'.repeat(7.9 * 2 ** 20) } })),
  'an input of 20,000 texts of 400 letters': (id) =>
    ask(id, call({ rawInput: { list: many(20_000, (n) => 'y'.repeat(400)) } })),
  'a diff of two lines of 7.5 MB': (id) =>
    ask(id, call({ content: [diff('/w/a', 'a'.repeat(7.5e6), 'b'.repeat(7.5e6))] })),
  'a diff of two lines of 3 MB': (id) =>
    ask(id, call({ content: [diff('/w/a', 'a'.repeat(3e6), 'b'.repeat(3e6))] })),
  'a diff of a million empty lines': (id) =>
    ask(id, call({ content: [diff('/w/a', '\n'.repeat(1e6), '\n'.repeat(9e5) + 'b')] })),
  'a path of 300 KB': (id) => ask(id, call({ content: [diff('/a'.repeat(150_000), 'a', 'b')] })),
  'a text of 31 MB': (id) => update(id, chunk('x'.repeat(31e6))),
  'a text of 5 million escapes': (id) => update(id, chunk('\u001b'.repeat(5e6))),
  'a title of 2.4 million escapes': (id) =>
    ask(id, call({ title: '\u001b'.repeat(1.2e6) })),
  'the title of the session, of 2.4 million escapes': (id) =>
    update(id, { sessionUpdate: 'session_info_update', title: '\u001b]'.repeat(1.2e6) }),
  '20,000 tool calls': async (id) => {
    for (let n = 0; n < 20_000; n++)
      await update(id, { sessionUpdate: 'tool_call', ...call({ status: n % 2 ? 'completed' : 'pending' }) });
  },
  '100,000 options': (id) =>
    ask(id, call({}), { options: many(100_000, (n) => ({ optionId: 'o' + n, kind: 'allow_once', name: 'n' + n })) }),
  'a plan of 200,000 entries': (id) =>
    update(id, { sessionUpdate: 'plan', entries: many(200_000, (n) => ({ content: 'c' + n, status: 'pending' })) }),
  'a call with 10,000 images': (id) =>
    update(id, { sessionUpdate: 'tool_call', ...call({ content: many(10_000, (n) => ({ type: 'content', content: { type: 'image', mimeType: 'image/png', data: Buffer.from('image ' + n).toString('base64') } })) }) }),
  '3 million lists': (id) =>
    raw('{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"' + id + '","update":{"sessionUpdate":"tool_call","toolCallId":"x","rawInput":[' + '[],'.repeat(3e6) + '[]]}}}\n'),
  'an input 5,000 levels deep': (id) =>
    raw('{"jsonrpc":"2.0","id":"deep","method":"session/request_permission","params":{"sessionId":"' + id + '","options":' + JSON.stringify(options) + ',"toolCall":{"toolCallId":"d","title":"deep","rawInput":' + '['.repeat(5000) + ']'.repeat(5000) + '}}}\n'),
  '16 messages of 300 fields about one call, then a permission': async (id) => {
    const toolCallId = 'joined-' + ++ids;
    for (let n = 0; n < 16; n++)
      await update(id, { sessionUpdate: n === 0 ? 'tool_call' : 'tool_call_update', toolCallId, title: 'do it', kind: 'edit', rawInput: Object.fromEntries(many(300, (k) => ['f' + k, String(n).repeat(1000)])) });
    await ask(id, { toolCallId });
  },
  '3,000 messages about one call, then a permission': async (id) => {
    const toolCallId = 'long-' + ++ids;
    for (let n = 0; n < 3000; n++)
      await update(id, { sessionUpdate: n === 0 ? 'tool_call' : 'tool_call_update', toolCallId, title: 'do ' + n, kind: 'execute', rawInput: { command: 'echo ' + n } });
    await ask(id, { toolCallId });
  },
  '100 open calls with an input of 1 MB each': (id) => openCalls(id, 100),
  '700 open calls with an input of 1 MB each': (id) => openCalls(id, 700),
  'a diff of 300,000 lines that look like headers': (id) =>
    ask(id, call({ content: [diff('/w/a', '', lines(300_000, '++ /w/f'))] })),
  'a form of 5,000 fields': async (sessionId) => {
    const properties = Object.fromEntries(many(5000, (n) => ['f' + n, { type: 'string', enum: ['a', 'b'] }]));
    const id = 'ask-' + ++ids;
    const answered = new Promise((resolve) => answers.set(id, resolve));
    await send({ id, method: 'elicitation/create', params: { sessionId, mode: 'form', message: 'm', requestedSchema: { type: 'object', properties } } });
    await answered;
  },
};

const methods = {
  initialize: () => ({ protocolVersion: 1, agentInfo: { name: 'loud', version: '1' }, agentCapabilities: {} }),
  'session/new': () => ({ sessionId: 'loud' }),
  async 'session/prompt'({ sessionId, prompt: [{ text }] }) {
    await attacks[text](sessionId);
    return { stopReason: 'end_turn' };
  },
};

if (process.argv[2] === 'names') console.log(JSON.stringify(Object.keys(attacks)));
else
  for await (const line of createInterface({ input: process.stdin })) {
    const { id, method, params } = JSON.parse(line);
    if (method === undefined) answers.get(id)?.();
    else if (id !== undefined)
      void Promise.resolve(methods[method]?.(params)).then((result) => send({ id, result: result ?? null }));
  }
`;
