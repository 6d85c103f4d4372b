import { endpoints } from '../../../api/index.ts';
import { permissionModes } from '../../../api/permission-modes.ts';
import { agentProvider, type ProviderId } from '../../../api/provider-kinds.ts';
import { AppError } from '../../../api/errors.ts';
import type { CommandContext } from '../world.ts';

/**
 * Throws `usage` for a permission mode that is neither one of cadre's nor one of the agent's, before a session is stored
 * that could never begin a turn. The server takes any text, because only the agent knows its modes: they are those that it
 * offered last, and it is started once where none were seen. Agents that offer their modes late are not judged.
 */
export async function assertPermissionMode(
  { client }: Pick<CommandContext, 'client'>,
  provider: ProviderId,
  agent: string | null,
  mode: string | null | undefined,
): Promise<void> {
  if (mode === null || mode === undefined || provider !== agentProvider) return;
  if (permissionModes.some((one) => one === mode)) return;
  const seen = async () => {
    const providers = await client.call(endpoints.listProviders, {});
    const agents = providers.find(({ id }) => id === provider)?.agents ?? [];
    return agents.find((one) => (agent === null ? one.default : one.name === agent))?.modes ?? [];
  };
  let offered = await seen();
  if (offered.length === 0) {
    const query = agent === null ? {} : { agent };
    // What is wrong with the agent is said when the session is opened.
    await client.call(endpoints.listModels, { params: { provider }, query }).catch(() => undefined);
    offered = await seen();
  }
  if (offered.length === 0 || offered.some((one) => lettersOf(one) === lettersOf(mode))) return;
  throw new AppError(
    'usage',
    `unknown permission mode "${mode}": choose from ${permissionModes.join(', ')}, or pass one of the agent's own modes (${offered.join(', ')}) with --agent-mode`,
  );
}

/** Agents write the same name as `read_only`, `read-only` or `readOnly`. */
function lettersOf(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
}
