import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';

const AGENT = path.join(import.meta.dirname, 'agent.ts');

interface Message {
  id?: number;
  params?: { update?: { content?: { text?: string } } };
}

/** The agent of the bench on two pipes, with nothing between: what any server adds its time to. */
export class PipedAgent {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #waiting = new Map<number, () => void>();
  #onWord: (text: string) => void = () => undefined;
  #id = 0;

  private constructor() {
    this.#child = spawn(process.execPath, [AGENT], { stdio: ['pipe', 'pipe', 'inherit'] });
    createInterface({ input: this.#child.stdout }).on('line', (line) => this.#take(line));
  }

  static async start(): Promise<PipedAgent> {
    const agent = new PipedAgent();
    await agent.#request('initialize', { protocolVersion: 1 });
    await agent.createSession();
    return agent;
  }

  createSession(): Promise<void> {
    return this.#request('session/new', { cwd: '/', mcpServers: [] });
  }

  /** Sends a prompt, and hands each word to `onWord`. Resolves with the turn's end. */
  prompt(text: string, onWord: (text: string) => void = () => undefined): Promise<void> {
    this.#onWord = onWord;
    return this.#request('session/prompt', {
      sessionId: 'bench',
      prompt: [{ type: 'text', text }],
    });
  }

  async end(): Promise<void> {
    this.#child.kill();
    await once(this.#child, 'exit');
  }

  #request(method: string, params: object): Promise<void> {
    const id = ++this.#id;
    this.#child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    return new Promise((resolve) => this.#waiting.set(id, resolve));
  }

  #take(line: string): void {
    const { id, params } = JSON.parse(line) as Message;
    const text = params?.update?.content?.text;
    if (text !== undefined) this.#onWord(text);
    if (id === undefined) return;
    this.#waiting.get(id)?.();
    this.#waiting.delete(id);
  }
}
