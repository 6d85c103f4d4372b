import type { Readable, Writable } from 'node:stream';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  CallToolRequestSchema,
  ErrorCode,
  InitializeRequestSchema,
  type JSONRPCMessage,
  JSONRPCMessageSchema,
  ListToolsRequestSchema,
  type RequestId,
} from '@modelcontextprotocol/sdk/types.js';
import type { z } from 'zod';
import type { Clock } from '../../../core/lib/clock.ts';
import { explain } from '../../../core/lib/explain.ts';
import { ownEntry } from '../../../core/lib/own-entry.ts';

/** The longest line in bytes: a longer one ends the connection, because no call of a tool is that large. */
const MAX_LINE_BYTES = 10 * 1024 * 1024;

const requests: Readonly<Record<string, z.ZodType>> = {
  initialize: InitializeRequestSchema,
  'tools/list': ListToolsRequestSchema,
  'tools/call': CallToolRequestSchema,
};

/**
 * Passes well-formed JSON-RPC messages to the server, and answers all others with the errors that JSON-RPC defines:
 * -32700 for invalid JSON, -32600 for an invalid message, -32602 for invalid parameters, each with a sentence.
 */
abstract class CheckingTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;

  abstract start(): Promise<void>;
  abstract send(message: JSONRPCMessage): Promise<void>;
  abstract close(): Promise<void>;

  protected takeText(text: string): void {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch (error) {
      return this.#refuse(null, ErrorCode.ParseError, `not JSON: ${(error as Error).message}`);
    }
    // A batch, which the version 2025-03-26 of MCP allows.
    const values: unknown[] = Array.isArray(value) && value.length > 0 ? value : [value];
    for (const one of values) this.takeValue(one);
  }

  protected takeValue(value: unknown): void {
    const { data: message } = JSONRPCMessageSchema.safeParse(value);
    if (!message)
      return this.#refuse(
        idOf(value),
        ErrorCode.InvalidRequest,
        'not a JSON-RPC 2.0 message: expected jsonrpc "2.0", a method, params as an object, and an id if a response is expected',
      );
    const schema =
      'method' in message && 'id' in message ? ownEntry(requests, message.method) : undefined;
    const wrong = schema?.safeParse(message).error;
    if (schema && wrong && 'id' in message)
      return this.#refuse(
        message.id ?? null,
        ErrorCode.InvalidParams,
        explain(wrong, '', schema).replace(/^\./, ''),
      );
    this.onmessage?.(message);
  }

  #refuse(id: RequestId | null, code: number, message: string): void {
    // JSON-RPC requires a null id if the id could not be read; the SDK's type does not allow it.
    const response = { jsonrpc: '2.0', id, error: { code, message } } as JSONRPCMessage;
    void this.send(response);
  }
}

function idOf(value: unknown): RequestId | null {
  if (typeof value !== 'object' || value === null || !('id' in value)) return null;
  const { id } = value;
  return typeof id === 'string' || (typeof id === 'number' && Number.isInteger(id)) ? id : null;
}

/** A transport within this process: the server's messages go to `send`; messages for the server come in by `receive`. */
export class DirectTransport extends CheckingTransport {
  readonly #send: (message: object) => void;

  constructor(send: (message: object) => void) {
    super();
    this.#send = send;
  }

  receive(message: unknown): void {
    this.takeValue(message);
  }

  start(): Promise<void> {
    return Promise.resolve();
  }

  send(message: JSONRPCMessage): Promise<void> {
    this.#send(message);
    return Promise.resolve();
  }

  close(): Promise<void> {
    this.onclose?.();
    return Promise.resolve();
  }
}

type Cancelled = { requestId?: RequestId } | undefined;

/** How long the requests that arrived before the end of the input may take, in milliseconds. */
const LAST_RESPONSES_MS = 5000;

/** A transport over two streams, one message a line. It closes when the input has ended, and its requests have responses. */
export class LineTransport extends CheckingTransport {
  readonly #input: Readable;
  readonly #output: Writable;
  readonly #clock: Clock;
  /** The ids of the requests without a response. */
  readonly #open = new Set<RequestId>();
  #hasEnded = false;
  #parts: Buffer[] = [];
  #bytes = 0;

  constructor(input: Readable, output: Writable, clock: Clock) {
    super();
    this.#input = input;
    this.#output = output;
    this.#clock = clock;
  }

  start(): Promise<void> {
    this.#input.on('data', (chunk: Buffer) => this.#read(chunk));
    this.#input.once('end', () => this.#end());
    this.#input.once('error', (error) => {
      this.onerror?.(error);
      void this.close();
    });
    // A client that no longer reads receives no responses, so the connection is over.
    this.#output.once('error', () => void this.close());
    return Promise.resolve();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const hasRoom = this.#output.write(`${JSON.stringify(message)}\n`);
    if (!('method' in message)) this.#settle(message.id);
    if (!hasRoom) await new Promise((resolve) => this.#output.once('drain', resolve));
  }

  protected override takeValue(value: unknown): void {
    const { id, method, params } = (value ?? {}) as Record<string, unknown>;
    if (typeof method === 'string' && (typeof id === 'string' || typeof id === 'number'))
      this.#open.add(id);
    super.takeValue(value);
    // A cancelled request gets no response.
    if (method === 'notifications/cancelled') this.#settle((params as Cancelled)?.requestId);
  }

  #settle(id: RequestId | null | undefined): void {
    if (id !== null && id !== undefined) this.#open.delete(id);
    if (this.#hasEnded && this.#open.size === 0) void this.close();
  }

  #end(): void {
    this.#takeLine(Buffer.alloc(0));
    this.#hasEnded = true;
    if (this.#open.size === 0) return void this.close();
    this.#clock.after(LAST_RESPONSES_MS, () => void this.close());
  }

  close(): Promise<void> {
    // A paused pipe would keep the process alive until the client closes it.
    this.#input.removeAllListeners('data').destroy();
    const { onclose } = this;
    delete this.onclose;
    onclose?.();
    return Promise.resolve();
  }

  #read(chunk: Buffer): void {
    let from = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      this.#takeLine(chunk.subarray(from, end));
      from = end + 1;
    }
    this.#parts.push(chunk.subarray(from));
    this.#bytes += chunk.length - from;
    if (this.#bytes <= MAX_LINE_BYTES) return;
    this.onerror?.(new Error(`the MCP client sent a line of more than ${MAX_LINE_BYTES} bytes`));
    void this.close();
  }

  /** Reads a line, of which `last` is the end. */
  #takeLine(last: Buffer): void {
    const line = Buffer.concat([...this.#parts, last]).toString('utf8');
    this.#parts = [];
    this.#bytes = 0;
    if (line.trim() !== '') this.takeText(line);
  }
}
