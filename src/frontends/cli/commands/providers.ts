import fs from 'node:fs';
import { endpoints } from '../../../api/index.ts';
import {
  type LoginProviderId,
  loginProviderIds,
  type ProviderId,
  providerIds,
  providerKinds,
} from '../../../api/provider-kinds.ts';
import { authStatusEndpoints, loginEndpoints } from '../../../api/provider-logins.ts';
import type { AgentRecord, AuthStatus, Model, ProviderRecord } from '../../../api/providers.ts';
import type { Client } from '../../../client/client.ts';
import { usageError } from '../../../api/errors.ts';
import { clientCommand, commandGroup } from '../command.ts';
import { endpointCommand } from '../endpoint-command.ts';
import { agentOption } from '../parameters.ts';
import { providersDiscover } from './providers-discover.ts';
import { loginText } from '../login-text.ts';
import { details, listOf, table } from '../output.ts';
import { readSecret } from '../prompt.ts';
import type { CommandContext } from '../command-io.ts';

const loginArgument = { line: '<provider>  Provider', choices: [...loginProviderIds, 'acp'] };
const acpAgentOption =
  '--agent <agent>  Name of the ACP agent, such as gemini (default: the default agent of new sessions)';

export const providerCommands = commandGroup(
  'providers',
  'List agents and models, and log in to agents',
  [
    endpointCommand({
      name: 'list',
      description: 'List providers and agents, and show whether each agent is ready',
      endpoint: endpoints.listProviders,
      isList: true,
      print: (providers, { layout }) =>
        table(['ID', 'NAME', 'HEALTHY', 'LOGGED IN', 'DETAIL'], providers.flatMap(rowsOf), layout, {
          wraps: true,
        }),
    }),
    providersDiscover,
    endpointCommand({
      name: 'models',
      description: 'List the models of a provider',
      endpoint: endpoints.listModels,
      parameters: ['<provider>  Provider', agentOption],
      empty: 'no models: the agent does not publish a list of models',
      print: listOf<Model>(
        ['ID', 'NAME', 'REASONING'],
        ({ id, display_name, reasoning_levels }) => [id, display_name, reasoning_levels.join(' ')],
      ),
    }),
    clientCommand({
      name: 'auth',
      description: 'Show whether an agent is logged in, if cadre can detect the login',
      parameters: [
        { line: '[provider]  Provider', choices: providerIds, default: 'acp' },
        acpAgentOption,
      ],
      async run({ client, show, layout }, provider: ProviderId, { agent }: LoginOptions) {
        if (provider !== 'acp') assertNoAgent(provider, { agent });
        const found = await client.call(authStatusEndpoints[provider], { query: { agent } });
        show(found, () => details(found, { layout }));
      },
    }),
    clientCommand({
      name: 'login',
      description:
        'Log in to an agent (claude and codex read an API key from stdin; other agents offer login methods)',
      parameters: [
        loginArgument,
        `--auth-json <file>  Import an existing login file instead of reading an API key: ${loginFiles()}`,
        acpAgentOption,
        '--method <id>  Login method of the agent, for the provider acp (default: cadre asks if the agent has several methods)',
      ],
      async run(
        context,
        provider: LoginProviderId | 'acp',
        { authJson, agent, method }: LoginOptions,
      ) {
        if (provider === 'acp') {
          if (authJson !== undefined)
            throw usageError('--auth-json cannot be used with the provider acp: pass --method');
          const { logInToAgent } = await import('./agent-login.ts');
          return logInToAgent(context, await agentOf(context, agent), method);
        }
        assertNoAgent(provider, { agent, method });
        const { io, client, show, layout } = context;
        const found =
          authJson === undefined
            ? await client.call(loginEndpoints[provider].setKey, {
                body: { api_key: await readSecret('API key', io) },
              })
            : await importLogin(client, provider, authJson);
        show(found, () => details(found, { layout }));
      },
    }),
    clientCommand({
      name: 'logout',
      description: 'Log out of an agent (for claude and codex, cadre deletes the stored login)',
      parameters: [loginArgument, acpAgentOption],
      async run(context, provider: LoginProviderId | 'acp', { agent }: LoginOptions) {
        if (provider === 'acp') {
          const { logOutOfAgent } = await import('./agent-login.ts');
          return logOutOfAgent(context, await agentOf(context, agent));
        }
        assertNoAgent(provider, { agent });
        const { client, show, layout } = context;
        const found = await client.call(loginEndpoints[provider].end, {});
        show(found, () => details(found, { layout }));
      },
    }),
  ],
);

/** A provider, and below it its agents. */
function rowsOf({ agents, ...provider }: ProviderRecord): string[][] {
  return [
    [provider.id, ...cellsOf(provider, provider.logged_in, provider.login_is_stale)],
    ...agents.map((one) => [`  ${one.name}`, ...cellsOf(one, one.auth.authenticated)]),
  ];
}

function cellsOf(
  { display_name, healthy, detail }: Pick<AgentRecord, 'display_name' | 'healthy' | 'detail'>,
  isLoggedIn: boolean | null | undefined,
  isStale = false,
): string[] {
  const login = isStale ? `${loginText(isLoggedIn)} (old)` : loginText(isLoggedIn);
  return [display_name, healthy ? 'yes' : 'no', login, detail];
}

interface LoginOptions {
  authJson?: string | undefined;
  agent?: string | undefined;
  method?: string | undefined;
}

/** The agent that the command line names, else the one that acp prefers. Throws `usage` where it prefers none. */
async function agentOf({ client }: CommandContext, agent: string | undefined): Promise<string> {
  if (agent !== undefined) return agent;
  const agents =
    (await client.call(endpoints.listProviders, {})).find(({ id }) => id === 'acp')?.agents ?? [];
  const preferred = agents.find((one) => one.default);
  if (preferred) return preferred.name;
  const names = agents.map(({ name }) => name).join(', ');
  throw usageError(`no agent given: pass --agent${names && ` (${names})`}`);
}

function assertNoAgent(provider: string, { agent, method }: LoginOptions): void {
  if (agent === undefined && method === undefined) return;
  throw usageError(
    `--agent and --method apply only to the provider acp: the provider ${provider} has only one agent`,
  );
}

/** The files in which agents keep a login, as people call them. */
function loginFiles(): string {
  const files = loginProviderIds.map((id) => ({ id, file: providerKinds[id].login.file }));
  return files.flatMap(({ id, file }) => (file === null ? [] : `${file} of ${id}`)).join(' or ');
}

function importLogin(client: Client, provider: LoginProviderId, file: string): Promise<AuthStatus> {
  const { importLogin: endpoint } = loginEndpoints[provider];
  if (!endpoint)
    throw usageError(`--auth-json cannot be used with ${provider}: pass an API key on stdin`);
  let auth_json: Record<string, unknown>;
  try {
    auth_json = JSON.parse(fs.readFileSync(file, 'utf8')) as Record<string, unknown>;
  } catch (error) {
    throw usageError(`cannot read ${file} of --auth-json as JSON: ${(error as Error).message}`);
  }
  return client.call(endpoint, { body: { auth_json } });
}
