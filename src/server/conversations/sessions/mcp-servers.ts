import type { McpServer } from '../../../api/mcp-servers.ts';
import { providerKinds } from '../../../api/provider-kinds.ts';
import type { Session } from '../../../api/sessions.ts';
import { AppError } from '../../../api/errors.ts';

/** Throws `invalid` for MCP servers that no agent of the provider could use. */
export function assertTaken(provider: Session['provider'], servers: readonly McpServer[]): void {
  const taken: readonly McpServer['type'][] = providerKinds[provider].mcpServers;
  const refused = servers.find(({ type }) => !taken.includes(type));
  if (!refused) return;
  const { type, name } = refused;
  throw new AppError(
    'invalid',
    `body.mcp_servers: provider ${provider} does not support MCP servers over ${type}: leave out server "${name}"`,
  );
}
