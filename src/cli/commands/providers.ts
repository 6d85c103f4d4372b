import { Argument, type Command } from 'commander';
import { endpoints } from '../../api/index.ts';
import type { ProviderId } from '../../api/sessions.ts';
import { details, table } from '../output.ts';
import { clientAction, type World } from '../world.ts';

/** `cadre providers …`. */
export function providerCommands(program: Command, world: World): void {
  const providers = program.command('providers').description('whose agents this server can run');

  providers
    .command('list')
    .description('list the providers, what they can do and whether they are healthy')
    .action(
      clientAction(world, async ({ client, show }) => {
        const found = await client.call(endpoints.listProviders, {});
        const rows = found.map(({ id, display_name, healthy, detail }) => [
          id,
          display_name,
          healthy ? 'yes' : 'no',
          detail,
        ]);
        show(found, () => table(['ID', 'NAME', 'HEALTHY', 'DETAIL'], rows));
      }),
    );

  providers
    .command('models')
    .description('list the models of a provider')
    .addArgument(new Argument('<provider>').choices(['codex', 'claude', 'acp']))
    .action(
      clientAction(world, async ({ client, show }, provider: ProviderId) => {
        const found = await client.call(endpoints.listModels, { params: { provider } });
        const rows = found.map(({ id, display_name, reasoning_levels }) => [
          id,
          display_name,
          reasoning_levels.join(' '),
        ]);
        show(found, () => table(['ID', 'NAME', 'REASONING'], rows));
      }),
    );

  providers
    .command('auth')
    .description('whether the agent is logged in, as far as can be told')
    .addArgument(new Argument('[provider]').choices(['codex', 'claude', 'acp']).default('acp'))
    .action(
      clientAction(world, async ({ client, show }, provider: keyof typeof authStatus) => {
        const found = await client.call(authStatus[provider], {});
        show(found, () => details(found));
      }),
    );
}

const authStatus = {
  codex: endpoints.getCodexAuthStatus,
  claude: endpoints.getClaudeAuthStatus,
  acp: endpoints.getAcpAuthStatus,
};
