import { type Command, Option } from 'commander';
import { type AfterLimit, afterLimit } from '../../../api/after-limit.ts';
import { endpoints } from '../../../api/index.ts';
import { parseMetadata } from '../metadata.ts';
import { type OpenOptions, openBody, withOpenOptions } from '../talk/open-session.ts';
import { clientAction, type CommandContext, type World } from '../world.ts';

/** `cadre sessions create`. */
export function sessionCreate(sessions: Command, world: World): void {
  withOpenOptions(sessions.command('create'))
    .description('Create a session without sending a prompt')
    .option('--metadata <json>', 'JSON value to store with the session')
    .addOption(
      new Option(
        '--after-limit <what>',
        "When the provider's usage limit resets, resume the session automatically, or wait for a command of yours",
      ).choices(afterLimit.options),
    )
    .action(clientAction(world, create));
}

async function create(
  context: CommandContext,
  options: OpenOptions & { metadata?: string; afterLimit?: AfterLimit },
): Promise<void> {
  const metadata =
    options.metadata === undefined ? {} : { metadata: parseMetadata(options.metadata) };
  const { afterLimit: after_limit } = options;
  const more = after_limit === undefined ? metadata : { ...metadata, after_limit };
  const body = { ...(await openBody(context, options)), ...more };
  const session = await context.client.call(endpoints.createSession, { body });
  context.show(session, () => `${session.id}\n`);
  const neverAsked = session.agent_asks === false && session.permission_mode === 'require_approval';
  if (neverAsked && !context.global.json)
    context.world.stderr.write(
      'cadre: this agent never requests approval: its actions are not held back\n',
    );
}
