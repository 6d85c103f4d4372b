import type { ToolEnvelope } from '../api/gateway.ts';
import { selfCommand } from '../lib/self.ts';
import type { AgentTools, ToolChannel } from '../providers/provider.ts';
import { failureOf } from './envelope.ts';
import type { ToolGateway } from './service.ts';
import type { SessionTokens } from './session-tokens.ts';

/** The ways in which the agents of sessions reach the tools. `url` is where a sidecar finds this server. */
export function agentTools(given: {
  gateway: () => ToolGateway;
  tokens: SessionTokens;
  url: () => string;
}): (sessionId: string) => AgentTools {
  return (sessionId) => {
    const { file: command, args } = selfCommand();
    return {
      sidecar: {
        command,
        args: [...args, 'mcp', 'serve'],
        env: {
          CADRE_GATEWAY_URL: given.url(),
          CADRE_GATEWAY_TOKEN: given.tokens.of(sessionId),
          CADRE_SESSION_ID: sessionId,
        },
      },
      connect: (send) => connectDirectly(given.gateway(), sessionId, send),
    };
  };
}

/** An MCP server in this process. What implements it is loaded with the first of them. */
function connectDirectly(
  gateway: ToolGateway,
  sessionId: string,
  send: (message: object) => void,
): ToolChannel {
  const serving = import('../sidecar/tool-server.ts').then(({ DirectTransport, serveTools }) => {
    const transport = new DirectTransport(send);
    void serveTools(transport, {
      list: () => Promise.resolve(gateway.capabilities().namespaces.flatMap(({ tools }) => tools)),
      call: (tool, args, gone) => callAs(gateway, sessionId, { tool, args }, gone),
    });
    return transport;
  });
  return {
    take: (message) => void serving.then((transport) => transport.take(message)),
    close: () => void serving.then((transport) => transport.close()),
  };
}

async function callAs(
  gateway: ToolGateway,
  sessionId: string,
  { tool, args }: { tool: string; args: Record<string, unknown> },
  gone: AbortSignal,
): Promise<ToolEnvelope> {
  try {
    const call = { tool_name: tool, caller_agent_id: sessionId, args };
    return await gateway.invoke(call, sessionId, gone);
  } catch (error) {
    const refused = failureOf(error);
    if (refused) return refused;
    throw error;
  }
}
