import { setImmediate as nextLoop } from 'node:timers/promises';
import { methods, type AgentContext, type SessionUpdate } from '@agentclientprotocol/sdk/unstable';
import { addChunk, type Message } from './history.ts';
import type { Prompt } from './prompt.ts';
import type { Session, Stoppable } from './session.ts';
import type { World } from './world.ts';

// Where the reader keeps up, sending never waits for the event loop: a cancel would not be read.
const updatesPerLoop = 64;

/** One prompt on its way through the script: what a command may use, and what it leaves behind. */
export class Turn implements Stoppable {
  readonly session: Session;
  readonly prompt: Prompt;
  readonly client: AgentContext;
  readonly world: World;
  /** Aborts when the turn is to end, by whatever way. */
  readonly signal: AbortSignal;
  /** Set by the script's `usage`, in place of our own bookkeeping. */
  usage: { used: number; size: number } | undefined;
  /** Done once the turn has ended. */
  afterwards: (() => Promise<void>) | undefined;

  readonly #stop = new AbortController();
  #ignoresCancel = false;
  #updates = 0;
  #chunks = 0;
  #ids = 0;
  #messages: Message[] = [];

  constructor(given: {
    session: Session;
    prompt: Prompt;
    client: AgentContext;
    world: World;
    /** Aborts when the client takes its request back or is gone. */
    requestSignal: AbortSignal;
  }) {
    this.session = given.session;
    this.prompt = given.prompt;
    this.client = given.client;
    this.world = given.world;
    this.signal = AbortSignal.any([this.#stop.signal, given.requestSignal]);
  }

  /** What was said so far, as far as it is kept. */
  get messages(): Message[] {
    return this.#messages;
  }

  /** How many chunks were said so far. */
  get chunks(): number {
    return this.#chunks;
  }

  cancel(): void {
    if (!this.#ignoresCancel) this.#stop.abort();
  }

  ignoreCancel(): void {
    this.#ignoresCancel = true;
  }

  abandon(): void {
    this.#stop.abort();
  }

  /** An id that no other turn of this session gives, across restarts too: it has the turn's number. */
  newId(kind: 'message' | 'tool'): string {
    const { sessionId, turnCount } = this.session.history;
    this.#ids += 1;
    return `${sessionId}-${turnCount}-${kind}-${this.#ids}`;
  }

  /** Says a text, word by word, as a message of its own. */
  async say(text: string): Promise<void> {
    const messageId = this.newId('message');
    for (const chunk of wordsOf(text)) await this.sayChunk(messageId, chunk);
  }

  /** Says one chunk of a message. Throws if the turn is to end. */
  async sayChunk(messageId: string, text: string): Promise<void> {
    this.signal.throwIfAborted();
    this.#chunks += 1;
    this.#messages = addChunk(this.#messages, messageId, text);
    const content = { type: 'text' as const, text };
    await this.update({ sessionUpdate: 'agent_message_chunk', messageId, content });
  }

  /** Sends an update; resolves when the reader has room for more. */
  async update(update: SessionUpdate): Promise<void> {
    const { sessionId } = this.session.history;
    await this.client.notify(methods.client.session.update, { sessionId, update });
    this.#updates += 1;
    if (this.#updates % updatesPerLoop === 0) await nextLoop();
  }
}

/** The words with the blanks around them: joined, they are the text again. */
export function wordsOf(text: string): string[] {
  return text.match(/\s*\S+\s*/gu) ?? [text];
}
