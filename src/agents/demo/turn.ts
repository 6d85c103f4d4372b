import { setImmediate as nextLoop } from 'node:timers/promises';
import {
  methods,
  type AgentContext,
  type SessionUpdate,
  type ContentBlock,
  type ToolCall,
} from '@agentclientprotocol/sdk/unstable';
import { addChunk, type Message } from './history.ts';
import type { Session, Stoppable } from './sessions.ts';
import type { AgentHost } from './host.ts';

// While the reader keeps up, sending never yields to the event loop, and a cancel would not be read. So a turn yields
// after this many updates.
const updatesPerLoop = 64;

/** One turn: what the commands of its script use, and the state that they leave. */
export class Turn implements Stoppable {
  readonly session: Session;
  readonly prompt: Prompt;
  readonly client: AgentContext;
  readonly host: AgentHost;
  /** Aborts when the turn has to end, whatever the cause. */
  readonly signal: AbortSignal;
  /** Set by the script's `usage` command; replaces the agent's own count. */
  usage: { used: number; size: number } | undefined;
  /** Runs after the turn has ended. */
  afterwards: (() => Promise<void>) | undefined;

  /** The messages so far, cut to what the history keeps. */
  messages: Message[] = [];
  /** The number of chunks sent so far. */
  chunks = 0;
  readonly #stop = new AbortController();
  #ignoresCancel = false;
  #updates = 0;
  #ids = 0;

  constructor(deps: {
    session: Session;
    prompt: Prompt;
    client: AgentContext;
    host: AgentHost;
    /** Aborts when the client cancels its request or disconnects. */
    requestSignal: AbortSignal;
  }) {
    this.session = deps.session;
    this.prompt = deps.prompt;
    this.client = deps.client;
    this.host = deps.host;
    this.signal = AbortSignal.any([this.#stop.signal, deps.requestSignal]);
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

  /** An id that is unique in the session, across restarts too, because it contains the number of the turn. */
  newId(kind: 'message' | 'tool'): string {
    const { sessionId, turnCount } = this.session.history;
    this.#ids += 1;
    return `${sessionId}-${turnCount}-${kind}-${this.#ids}`;
  }

  /** Sends a text as a new message, one chunk for each word. Throws if the turn has to end. */
  async say(text: string): Promise<void> {
    const messageId = this.newId('message');
    for (const chunk of withBlanks(text)) await this.sayChunk(messageId, chunk);
  }

  /** Sends one chunk of a message. Throws if the turn has to end. */
  async sayChunk(messageId: string, text: string): Promise<void> {
    this.signal.throwIfAborted();
    this.chunks += 1;
    this.messages = addChunk(this.messages, messageId, text);
    const content = { type: 'text' as const, text };
    await this.update({ sessionUpdate: 'agent_message_chunk', messageId, content });
  }

  /** Sends an update; resolves when the stream accepts more. */
  async update(update: SessionUpdate): Promise<void> {
    const { sessionId } = this.session.history;
    await this.client.notify(methods.client.session.update, { sessionId, update });
    this.#updates += 1;
    if (this.#updates % updatesPerLoop === 0) await nextLoop();
  }
}

/** Splits a text into words with the blanks around them; joined, they are the text again. */
export function withBlanks(text: string): string[] {
  return text.match(/\s*\S+\s*/gu) ?? [text];
}

interface Prompt {
  /** The text blocks, joined by line breaks. */
  readonly text: string;
  readonly images: readonly { readonly mimeType: string; readonly bytes: number }[];
}

/** Extracts text and images from the blocks of a prompt; the agent ignores blocks of other kinds. */
export function readPrompt(blocks: readonly ContentBlock[]): Prompt {
  const texts = blocks.flatMap((block) => (block.type === 'text' ? [block.text] : []));
  const images = blocks.flatMap((block) =>
    block.type === 'image'
      ? [{ mimeType: block.mimeType, bytes: Buffer.from(block.data, 'base64').byteLength }]
      : [],
  );
  return { text: texts.join('\n'), images };
}

/** Counts the words of a text. The agent counts each word of a prompt as one token. */
export function countWords(text: string): number {
  return text.split(/\s+/u).filter(Boolean).length;
}

/** A tool call that was announced to the client. No tool is ever run. */
export interface AnnouncedToolCall {
  readonly announced: ToolCall;
  start(): Promise<void>;
  complete(output: string): Promise<void>;
  fail(reason: string): Promise<void>;
}

/** Announces a pending tool call to the client. The caller then starts it and completes it, or lets it fail. */
export async function announceToolCall(
  turn: Turn,
  title: string,
  more: Partial<ToolCall> = {},
): Promise<AnnouncedToolCall> {
  const toolCallId = turn.newId('tool');
  const kind = title.startsWith('run:') ? 'execute' : 'other';
  const usual = { toolCallId, title, kind, status: 'pending', rawInput: { title } } as const;
  const announced: ToolCall = { ...usual, ...more };

  async function end(status: 'completed' | 'failed', output: string) {
    await turn.update({
      sessionUpdate: 'tool_call_update',
      toolCallId,
      status,
      content: [{ type: 'content', content: { type: 'text', text: output } }],
      rawOutput: { output },
    });
  }

  await turn.update({ sessionUpdate: 'tool_call', ...announced });
  return {
    announced,
    start: () =>
      turn.update({ sessionUpdate: 'tool_call_update', toolCallId, status: 'in_progress' }),
    complete: (output) => end('completed', output),
    fail: (reason) => end('failed', reason),
  };
}
