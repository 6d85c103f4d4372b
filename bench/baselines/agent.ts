import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';

/**
 * An ACP agent without a model. A prompt says what it does:
 *
 *   words N    says N words, each in an update of its own
 *   late MS    says a word, waits, and says another
 *   tools N    calls N tools, each with a small output
 *   rest MS    waits, and says a word
 *
 * Each word says when the prompt was received and when the word was written, on the clock that all processes share.
 */
const now = () => Number(process.hrtime.bigint()) / 1e6;

const results: Record<string, object> = {
  initialize: { protocolVersion: 1, agentCapabilities: { loadSession: true } },
  'session/new': { sessionId: 'bench' },
};

interface Request {
  id?: number;
  method: string;
  params?: { sessionId?: string; prompt?: { text?: string }[] };
}

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line) as Request;
  if (request.id === undefined) continue;
  if (request.method === 'session/prompt') await obey(request, now());
  else write({ id: request.id, result: results[request.method] ?? {} });
}

async function obey({ id, params }: Request, received: number): Promise<void> {
  const { sessionId = '', prompt = [] } = params ?? {};
  const said = prompt.map(({ text = '' }) => text).join(' ');
  const [, command = 'words', count = '1'] = /(words|late|tools|rest) (\d+)/.exec(said) ?? [];
  const update = (one: object) =>
    write({ method: 'session/update', params: { sessionId, update: one } });
  const word = () => {
    const text = `word r=${received} a=${now()}; `;
    update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } });
  };
  if (command === 'words') for (let n = 0; n < Number(count); n++) word();
  if (command === 'tools')
    for (let n = 0; n < Number(count); n++) useTool(update, `${received}-${n}`);
  if (command === 'late') word();
  if (command === 'late' || command === 'rest') {
    await pause(Number(count));
    word();
  }
  write({ id, result: { stopReason: 'end_turn' } });
}

function useTool(update: (one: object) => void, toolCallId: string): void {
  const rawInput = { command: 'npm test -- --reporter=dot' };
  const tool = { toolCallId, title: 'npm test', kind: 'execute', rawInput };
  update({ sessionUpdate: 'tool_call', status: 'in_progress', ...tool });
  const content = [
    { type: 'content', content: { type: 'text', text: 'ok 1 - it works\n'.repeat(8) } },
  ];
  update({ sessionUpdate: 'tool_call_update', toolCallId, status: 'completed', content });
}

function write(message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
}
