import type { Command } from 'commander';
import type { Token } from '../../../api/tokens.ts';
import type { Client } from '../../../client/client.ts';
import { AppError } from '../../../api/errors.ts';
import { type GlobalOptions, serverDirectory } from '../context.ts';
import { tokens as tokenNoun } from '../nouns.ts';
import { ago, table } from '../output.ts';
import { layoutFor } from '../output-options.ts';
import { showDocument, type World } from '../world.ts';

/** `cadre mcp list`. Without a server it is not known when the tokens were last used. */
export async function listCallers(world: World, command: Command): Promise<void> {
  const { readCaller } = await import('../../../core/config/caller-file.ts');
  const { fileWithEntry, mcpAgents } = await import('../mcp/agents.ts');
  const global = command.optsWithGlobals<GlobalOptions>();
  const directory = await serverDirectory(global, world.env);
  const tokens = await knownTokens(world, global);
  const found = mcpAgents.flatMap((agent) => {
    const caller = readCaller(directory, agent.name);
    const file = fileWithEntry(agent, world.env);
    if (!caller && file === null) return [];
    const token = tokens?.find(({ id }) => id === caller?.token_id);
    return {
      agent: agent.name,
      file,
      token_id: caller?.token_id ?? null,
      token_valid: tokens && token !== undefined,
      permission_mode: token?.permission_mode ?? null,
      session_id: caller?.session_id ?? null,
      last_used_at: token?.last_used_at ?? null,
    };
  });
  const rows = found.map((one) => [
    one.agent,
    one.file ?? 'no entry: install it again',
    one.token_id === null ? 'none: install it again' : one.token_id.slice(-8),
    one.token_valid === false && one.token_id !== null ? 'revoked' : (one.permission_mode ?? '-'),
    one.session_id?.slice(-8) ?? '-',
    one.last_used_at === null ? '-' : ago(one.last_used_at, world.clock.now()),
  ]);
  const layout = layoutFor(world, command);
  showDocument(
    world,
    global,
    found,
    () => table(['AGENT', 'CONFIGURED IN', 'TOKEN', 'MODE', 'SESSION', 'LAST USED'], rows, layout),
    () => found.map(({ agent }) => agent),
  );
  if (found.length === 0 && world.stderr.isTTY && !global.json)
    world.stderr.write(`cadre: no agent has the tools: see cadre mcp install --help\n`);
}

/** The tokens of the server; null where no server answers, or this user may not see them. */
async function knownTokens(world: World, global: GlobalOptions): Promise<Token[] | null> {
  let client: Client | undefined;
  try {
    client = await world.connect(global);
    const all: Token[] = [];
    for await (const page of tokenNoun.all(client)) all.push(...page);
    return all;
  } catch (error) {
    if (error instanceof AppError) return null;
    throw error;
  } finally {
    client?.close();
  }
}
