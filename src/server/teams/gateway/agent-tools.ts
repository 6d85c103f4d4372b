import type { ToolEnvelope } from '../../../api/gateway.ts';
import type { McpServer } from '../../../api/mcp-servers.ts';
import type { Clock } from '../../../core/lib/clock.ts';
import { MCP_SESSION_VARIABLE } from '../../../api/tool-names.ts';
import { selfCommand } from '../../../core/lib/self.ts';
import type { AgentTools, ToolChannel } from '../../../agents/provider.ts';
import type { ToolBackend } from '../mcp/tool-server.ts';
import { failureOf } from './toolkit.ts';
import type { ToolGateway } from './service.ts';
import type { ToolOffers } from './tool-offers.ts';
import type { SessionTokens } from '../../../core/access/session-tokens.ts';

/** Returns the function that gives a session's agent the tools. `url`: address of this server for sidecars. */
export function agentTools(dependencies: {
  gateway: ToolGateway;
  tokens: SessionTokens;
  othersOf: (sessionId: string) => readonly McpServer[];
  url: (sessionId: string) => string;
  /** How long the agents of sessions may outlive this server, in ms. */
  reattachMs: number;
  clock: Clock;
  offers: ToolOffers;
}): (sessionId: string) => AgentTools {
  return (sessionId) => {
    const { file: command, args } = selfCommand();
    const { reattachMs } = dependencies;
    dependencies.offers.offered(sessionId);
    return {
      others: dependencies.othersOf(sessionId),
      sidecar: {
        command,
        args: [...args, 'mcp', 'serve'],
        env: {
          CADRE_GATEWAY_URL: dependencies.url(sessionId),
          CADRE_GATEWAY_TOKEN: dependencies.tokens.of(sessionId),
          CADRE_SESSION_ID: sessionId,
          [MCP_SESSION_VARIABLE]: sessionId,
          ...(reattachMs > 0 && { CADRE_REATTACH_MS: String(reattachMs) }),
        },
      },
      renew: () => dependencies.offers.renewed(sessionId),
      decline: () => dependencies.offers.forget(sessionId),
      connect: (send) => connectDirectly(dependencies, sessionId, send),
    };
  };
}

/** Starts an MCP server in this process; its modules are loaded with the first one. */
function connectDirectly(
  { gateway, clock, offers }: { gateway: ToolGateway; clock: Clock; offers: ToolOffers },
  sessionId: string,
  send: (message: object) => void,
): ToolChannel {
  const serving = Promise.all([
    import('../mcp/tool-server.ts'),
    import('../mcp/transports.ts'),
  ]).then(([{ serveTools }, { DirectTransport }]) => {
    const transport = new DirectTransport(send);
    const backend: ToolBackend = {
      list() {
        offers.taken(sessionId);
        return Promise.resolve(gateway.capabilities().namespaces.flatMap(({ tools }) => tools));
      },
      call: (tool, args, signal) => callAs(gateway, sessionId, { tool, args }, signal),
    };
    void serveTools(transport, backend, clock);
    return transport;
  });
  return {
    take: (message) => void serving.then((transport) => transport.receive(message)),
    close: () => void serving.then((transport) => transport.close()),
  };
}

async function callAs(
  gateway: ToolGateway,
  sessionId: string,
  { tool, args }: { tool: string; args: Record<string, unknown> },
  signal: AbortSignal,
): Promise<ToolEnvelope> {
  try {
    const call = { tool_name: tool, caller_agent_id: sessionId, args };
    return await gateway.invoke(call, { sessionId, isOperator: false, external: null }, signal);
  } catch (error) {
    const refused = failureOf(error);
    if (refused) return refused;
    throw error;
  }
}
