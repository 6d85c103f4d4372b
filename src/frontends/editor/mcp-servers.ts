import type { McpServer as AcpMcpServer } from '@agentclientprotocol/sdk/unstable';
import type { McpServer } from '../../api/mcp-servers.ts';
import { AppError } from '../../api/errors.ts';

/**
 * The MCP servers of an editor, as a session takes them. That of cadre is left out, because every agent has it. Throws
 * `invalid` for one that lives in the editor.
 */
export function serversOf(servers: readonly AcpMcpServer[]): McpServer[] {
  const others = servers.filter(({ name }) => name !== 'cadre');
  return others.map((server) => {
    if (!('type' in server)) {
      const { name, command, args, env } = server;
      return { type: 'stdio', name, command, args, env: byName(env) };
    }
    if (server.type === 'acp')
      throw new AppError(
        'invalid',
        `cadre cannot reach MCP server "${server.name}", because it runs in the editor: remove the server`,
      );
    const { type, name, url, headers } = server;
    return { type, name, url, headers: byName(headers) };
  });
}

function byName(pairs: readonly { name: string; value: string }[]): Record<string, string> {
  return Object.fromEntries(pairs.map(({ name, value }) => [name, value]));
}
