import { createInterface } from 'node:readline';

/** An ACP agent that replies to a prompt with two timestamps: when it received the prompt and when it replied. */
const now = () => Number(process.hrtime.bigint()) / 1e6;

const results: Record<string, object> = {
  initialize: { protocolVersion: 1, agentCapabilities: { loadSession: true } },
  'session/new': { sessionId: 'stamps' },
};

for await (const line of createInterface({ input: process.stdin })) {
  const received = now();
  const { id, method } = JSON.parse(line) as { id?: number; method: string };
  if (id === undefined) continue;
  if (method !== 'session/prompt') {
    write({ id, result: results[method] ?? {} });
    continue;
  }
  const text = JSON.stringify({ received, replied: now() });
  const update = { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } };
  const params = { sessionId: 'stamps', update };
  write({ method: 'session/update', params }, { id, result: { stopReason: 'end_turn' } });
}

function write(...messages: object[]): void {
  process.stdout.write(
    messages.map((one) => `${JSON.stringify({ jsonrpc: '2.0', ...one })}\n`).join(''),
  );
}
