import fs from 'node:fs';
import { Argument, type Command } from 'commander';
import { endpoints } from '../../api/index.ts';
import type { AuthStatus } from '../../api/providers.ts';
import { providerId, type ProviderId } from '../../api/sessions.ts';
import type { Client } from '../../client/client.ts';
import { AppError } from '../../errors.ts';
import { details, table } from '../output.ts';
import { readSecret } from '../prompt.ts';
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
    .addArgument(new Argument('<provider>').choices(providerId.options))
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
    .addArgument(new Argument('[provider]').choices(providerId.options).default('acp'))
    .action(
      clientAction(world, async ({ client, show }, provider: keyof typeof authStatus) => {
        const found = await client.call(authStatus[provider], {});
        show(found, () => details(found));
      }),
    );

  providers
    .command('login')
    .description(
      'give an agent a login, kept in its private home: an API key from stdin, or a file',
    )
    .addArgument(ownLogin())
    .option('--auth-json <file>', "codex's own auth.json, made elsewhere, instead of a key")
    .action(
      clientAction(
        world,
        async ({ client, show }, provider: OwnLogin, { authJson }: { authJson?: string }) => {
          const found =
            authJson === undefined
              ? await client.call(logins[provider].setKey, {
                  body: { api_key: await readSecret('API key', world) },
                })
              : await importLogin(client, provider, authJson);
          show(found, () => details(found));
        },
      ),
    );

  providers
    .command('logout')
    .description('end the login in the private home of an agent')
    .addArgument(ownLogin())
    .action(
      clientAction(world, async ({ client, show }, provider: OwnLogin) => {
        const found = await client.call(logins[provider].end, {});
        show(found, () => details(found));
      }),
    );
}

type OwnLogin = keyof typeof logins;

const ownLogin = () => new Argument('<provider>').choices(['codex', 'claude']);

function importLogin(client: Client, provider: OwnLogin, file: string): Promise<AuthStatus> {
  if (provider !== 'codex')
    throw new AppError('usage', `${provider} takes an API key on stdin, and no --auth-json`);
  let auth_json: Record<string, unknown>;
  try {
    auth_json = JSON.parse(fs.readFileSync(file, 'utf8')) as Record<string, unknown>;
  } catch (error) {
    throw new AppError('usage', `--auth-json ${file}: ${(error as Error).message}`);
  }
  return client.call(endpoints.importCodexLogin, { body: { auth_json } });
}

const logins = {
  codex: { setKey: endpoints.setCodexApiKey, end: endpoints.endCodexLogin },
  claude: { setKey: endpoints.setClaudeApiKey, end: endpoints.endClaudeLogin },
};

const authStatus = {
  codex: endpoints.getCodexAuthStatus,
  claude: endpoints.getClaudeAuthStatus,
  acp: endpoints.getAcpAuthStatus,
};
