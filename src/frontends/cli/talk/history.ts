import { PromptHistory } from '../../../core/lib/prompt-history.ts';
import { configuration, serverDirectory } from '../context.ts';
import type { CommandContext } from '../world.ts';

/** The prompts that were sent on this data directory; null where `client.history` is off. */
export async function promptHistory({
  world: { env },
  global,
}: Pick<CommandContext, 'world' | 'global'>): Promise<PromptHistory | null> {
  const config = await configuration(global, env);
  if (config?.client.history === false) return null;
  return new PromptHistory(await serverDirectory(global, env));
}
