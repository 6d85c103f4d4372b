import { z } from 'zod';
import type { AgentTools, ToolChannel } from '../provider.ts';

/** The name of cadre's MCP server for claude. */
export const TOOL_SERVER = 'cadre';

/**
 * The MCP servers of a session, as claude takes them over its input, so that no secret is in a file or argument; null
 * where the client gave none. They replace those that claude was started with, so that of cadre is among them.
 */
export function serversFor({ others }: AgentTools): Record<string, object> | null {
  if (others.length === 0) return null;
  const entries = others.map(({ name, ...server }): [string, object] => [name, server]);
  return { ...Object.fromEntries(entries), [TOOL_SERVER]: { type: 'sdk', name: TOOL_SERVER } };
}

const carried = z.looseObject({
  server_name: z.literal(TOOL_SERVER),
  message: z.looseObject({ id: z.union([z.string(), z.number()]).optional() }),
});

/** Carries MCP messages over the control channel: claude wraps each in a control request of its own. */
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

  /** The answer to a control request; null where the request carries no message for the tools of cadre. */
  answer(request: unknown): Promise<object> | null {
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
