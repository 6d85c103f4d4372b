import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  CallToolRequestSchema,
  type JSONRPCMessage,
  JSONRPCMessageSchema,
  ListToolsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import type { ToolEnvelope, ToolInfo } from '../api/gateway.ts';
import { version } from '../lib/self.ts';

/** What an MCP server of the tools does for one session. */
export interface ToolBackend {
  list(): Promise<readonly ToolInfo[]>;
  call(tool: string, args: Record<string, unknown>, gone: AbortSignal): Promise<ToolEnvelope>;
}

/** Serves the tools over a transport, until it is closed. The envelope is the text of each result. */
export async function serveTools(transport: Transport, backend: ToolBackend): Promise<void> {
  const server = new Server({ name: 'cadre', version }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, async () => ({
    tools: (await backend.list()).map(({ name, description, input_schema }) => ({
      name,
      description,
      inputSchema: { ...input_schema, type: 'object' as const },
    })),
  }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal }) => {
    const envelope = await backend.call(params.name, params.arguments ?? {}, signal);
    const text = JSON.stringify(envelope);
    return { content: [{ type: 'text' as const, text }], isError: !envelope.ok };
  });
  const closed = Promise.withResolvers<void>();
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- it has no other way
  server.onclose = closed.resolve;
  await server.connect(transport);
  await closed.promise;
}

/** A transport within this process: what the server says goes to `send`, what it is told comes by `take`. */
export class DirectTransport implements Transport {
  onclose?: () => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #send: (message: object) => void;

  constructor(send: (message: object) => void) {
    this.#send = send;
  }

  take(message: unknown): void {
    const { data } = JSONRPCMessageSchema.safeParse(message);
    if (data) this.onmessage?.(data);
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
