import type { McpServer } from '../../api/mcp-servers.ts';
import { type AgentTools, ProviderError } from '../provider.ts';
import type { AgentAbilities } from './process.ts';
import { TOOL_SERVER } from './cadre-tools.ts';

/**
 * The MCP servers that an agent is given with its session: that of cadre, and those of the client. Throws
 * {@link ProviderError} for one that the agent does not take.
 */
export function mcpServersOf(tools: AgentTools, takes: AgentAbilities['mcp']): object[] {
  const { sidecar, others } = tools;
  if (takes.tools) tools.renew();
  else tools.decline();
  const { env, ...start } = sidecar;
  const own = { name: TOOL_SERVER, ...start, env: pairsOf(env) };
  return [...(takes.tools ? [own] : []), ...others.map((server) => entryOf(server, takes))];
}

function entryOf(server: McpServer, takes: AgentAbilities['mcp']): object {
  const { type, name } = server;
  if (type === 'stdio') {
    const { command, args = [], env = {} } = server;
    return { name, command, args, env: pairsOf(env) };
  }
  if (!takes[type])
    throw new ProviderError(
      'provider_unavailable',
      `acp: this agent does not support MCP servers over ${type}: open the session without MCP server "${name}"`,
    );
  const { url, headers = {} } = server;
  return { type, name, url, headers: pairsOf(headers) };
}

function pairsOf(values: Readonly<Record<string, string>>): { name: string; value: string }[] {
  return Object.entries(values).map(([name, value]) => ({ name, value }));
}
