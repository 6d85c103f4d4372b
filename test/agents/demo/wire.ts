import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';

/** The protocol without a client library, which hides lines and the end of the agent. */
export interface Wire {
  /** Sends a request and waits for its answer; the updates before it are skipped. */
  request(method: string, params: object): Promise<Message>;
  /** Sends a request without waiting for its answer. */
  send(method: string, params: object): number;
  /** Resolves with the next line. */
  line(): Promise<string>;
}

interface Message {
  id?: number;
  result?: { sessionId?: string };
  error?: { code: number; message: string };
  params?: { update?: { content?: { text?: string } } };
}

export function openWire(stdin: Writable, stdout: Readable): Wire {
  const lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
  let lastId = 0;
  const wire: Wire = {
    async request(method, params) {
      const id = wire.send(method, params);
      for (;;) {
        const answer = JSON.parse(await wire.line()) as Message;
        if (answer.id === id) return answer;
      }
    },
    send(method, params) {
      lastId += 1;
      stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: lastId, method, params })}\n`);
      return lastId;
    },
    async line() {
      const { value, done } = await lines.next();
      if (done) throw new Error('the agent wrote no more lines');
      return value;
    },
  };
  return wire;
}

/** Returns the parameters of a prompt with one text. */
export function promptOf(sessionId: string, text: string): object {
  return { sessionId, prompt: [{ type: 'text', text }] };
}

/** Initializes the agent and opens a session. */
export async function newSession(wire: Wire): Promise<string> {
  await wire.request('initialize', { protocolVersion: 1 });
  const { result } = await wire.request('session/new', { cwd: '/work', mcpServers: [] });
  return result?.sessionId ?? '';
}

/** Runs a script; returns the text of the answer. */
export async function run(wire: Wire, sessionId: string, script: string): Promise<string> {
  const id = wire.send('session/prompt', promptOf(sessionId, script));
  let said = '';
  for (;;) {
    const message = JSON.parse(await wire.line()) as Message;
    if (message.id === id) return said;
    said += message.params?.update?.content?.text ?? '';
  }
}
