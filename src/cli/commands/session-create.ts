import type { Command } from 'commander';
import { endpoints } from '../../api/index.ts';
import { parseMetadata } from '../metadata.ts';
import { type OpenOptions, openBody, withOpenOptions } from '../talk/open-session.ts';
import { clientAction, type CommandContext, type World } from '../world.ts';

/** `cadre sessions create`. */
export function sessionCreate(sessions: Command, world: World): void {
  withOpenOptions(sessions.command('create'))
    .description('open a session')
    .option('--metadata <json>', 'any JSON, kept with the session')
    .action(clientAction(world, create));
}

async function create(
  context: CommandContext,
  options: OpenOptions & { metadata?: string },
): Promise<void> {
  const metadata =
    options.metadata === undefined ? {} : { metadata: parseMetadata(options.metadata) };
  const body = { ...(await openBody(context, options)), ...metadata };
  const session = await context.client.call(endpoints.createSession, { body });
  context.show(session, () => `${session.id}\n`);
  if (session.agent_asks === false && session.permission_mode === 'require_approval')
    context.note('this agent never asks for permission: what it does is not held back');
}
