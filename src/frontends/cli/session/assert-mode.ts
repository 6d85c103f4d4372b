import { endpoints } from '../../../api/index.ts';
import {
  lettersOfMode,
  ownPermissionModes,
  permissionModes,
} from '../../../api/permission-modes.ts';
import { agentProvider, type ProviderId } from '../../../api/provider-kinds.ts';
import { usageError } from '../../../api/errors.ts';
import type { CommandContext } from '../command-io.ts';

/**
 * Throws `usage` for a permission mode that neither cadre nor the agent has, before a session or turn is stored. The
 * server accepts any text, because only the agent knows its modes. An ACP agent is started once if its modes are
 * unknown. A mode passes if the agent offers its modes late.
 */
export async function assertPermissionMode(
  { client }: Pick<CommandContext, 'client'>,
  { provider, agent = null }: { provider: ProviderId; agent?: string | null | undefined },
  mode: string | null | undefined,
): Promise<void> {
  if (mode === null || mode === undefined) return;
  if (permissionModes.some((one) => one === mode)) return;
  const offered =
    provider === agentProvider ? await offeredModes(client, agent) : ownPermissionModes[provider];
  if (offered.length === 0 || offered.some((one) => lettersOfMode(one) === lettersOfMode(mode)))
    return;
  const ofAgent =
    provider === agentProvider
      ? `a mode of the agent with --agent-mode (${offered.join(', ')})`
      : `a mode of ${provider} (${offered.join(', ')})`;
  throw usageError(
    `unknown permission mode "${mode}": choose from ${permissionModes.join(', ')}, or pass ${ofAgent}`,
  );
}

/** The modes that an ACP agent offered last. */
async function offeredModes(
  client: CommandContext['client'],
  agent: string | null,
): Promise<readonly string[]> {
  const seen = async () => {
    const providers = await client.call(endpoints.listProviders, {});
    const agents = providers.find(({ id }) => id === agentProvider)?.agents ?? [];
    return agents.find((one) => (agent === null ? one.default : one.name === agent))?.modes ?? [];
  };
  const offered = await seen();
  if (offered.length > 0) return offered;
  const query = agent === null ? {} : { agent };
  const params = { provider: agentProvider as ProviderId };
  // The start of the session reports the problems of the agent.
  await client.call(endpoints.listModels, { params, query }).catch(() => undefined);
  return seen();
}
