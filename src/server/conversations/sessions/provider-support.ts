import type { InputItem } from '../../../api/input.ts';
import type { McpServer } from '../../../api/mcp-servers.ts';
import { providerKinds } from '../../../api/provider-kinds.ts';
import type { Session } from '../../../api/sessions.ts';
import { invalidError } from '../../../api/errors.ts';

/** Throws `invalid` for MCP servers that no agent of the provider could use. */
export function assertMcpServers(
  provider: Session['provider'],
  servers: readonly McpServer[],
): void {
  const taken: readonly McpServer['type'][] = providerKinds[provider].mcpServers;
  const refused = servers.find(({ type }) => !taken.includes(type));
  if (!refused) return;
  const { type, name } = refused;
  throw invalidError(
    `body.mcp_servers: provider ${provider} does not support MCP servers over ${type}: leave out server "${name}"`,
  );
}

/** Throws `invalid` for input with images, unless the provider supports images. Text asks no agent kind for support. */
export function assertImages(
  provider: Session['provider'],
  input: InputItem | readonly InputItem[],
  isSupported: () => boolean,
): void {
  if ([input].flat().some(({ type }) => type === 'image') && !isSupported())
    throw invalidError(`provider ${provider} does not support images`);
}
