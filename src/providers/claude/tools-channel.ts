import { z } from 'zod';
import type { AgentTools, ToolChannel } from '../provider.ts';

/** The name that claude knows our tools by. */
export const TOOL_SERVER = 'cadre';

const carried = z.looseObject({
  server_name: z.literal(TOOL_SERVER),
  message: z.looseObject({ id: z.union([z.string(), z.number()]).optional() }),
});

/** The MCP messages that claude sends over its control channel: each is a control request of its own. */
export class ToolsChannel {
  readonly #channel: ToolChannel;
  readonly #waiting = new Map<unknown, (answer: object) => void>();

  constructor(tools: AgentTools) {
    this.#channel = tools.connect((message) => {
      const { id } = message as { id?: unknown };
      this.#waiting.get(id)?.(message);
      this.#waiting.delete(id);
    });
  }

  /** What to answer a control request with; null where it carries no message for our tools. */
  take(request: unknown): Promise<object> | null {
    const message = carried.safeParse(request).data?.message;
    if (!message) return null;
    const answered = Promise.withResolvers<object>();
    // A notification has no answer, but the control request that carries it does.
    if (message.id === undefined) answered.resolve({ jsonrpc: '2.0', result: {} });
    else this.#waiting.set(message.id, answered.resolve);
    this.#channel.take(message);
    return answered.promise.then((mcp_response) => ({ mcp_response }));
  }

  close(): void {
    this.#channel.close();
  }
}
