import {
  agentProvider,
  DEFAULT_AGENT,
  loginProviderIds,
  type ProviderId,
} from '../../../api/provider-kinds.ts';
import type { ProviderRecord } from '../../../api/providers.ts';
import type { Config } from '../../../core/config/schema.ts';
import { findProgram } from '../../../core/lib/find-program.ts';
import { localCommand } from '../command.ts';
import { configuration, type GlobalOptions } from '../context.ts';
import type { Layout } from '../layout.ts';
import { loginText, providersNow } from '../login-text.ts';
import { configOption, listOptions } from '../output-options.ts';
import { table } from '../output.ts';
import { knownAgents } from '../session/agents-on-path.ts';
import type { CommandIo } from '../command-io.ts';

/** An agent that is known or configured. */
interface Discovered {
  name: string;
  provider: ProviderId;
  display_name: string;
  command: string | null;
  /** The file of its command; null where there is none. */
  installed: string | null;
  configured: boolean;
  /** Whether it is logged in, as the server has seen it; null if that is unknown. */
  logged_in: boolean | null;
  /** The next setup step. */
  next: string;
}

/** `cadre providers discover`. It needs no server, and asks one that runs what it finds. */
export const providersDiscover = localCommand({
  name: 'discover',
  description: 'Find installed and configured agents, and show the next setup step for each agent',
  parameters: [
    ...listOptions,
    configOption,
    '--all  Also list agents that are not installed, with the command that installs each agent',
  ],
  run: async ({ io, global, show, layout }, { all }: { all?: boolean }) => {
    const config = await configuration(global, io.env);
    const isConfigured = config === null ? () => false : await settingsOf(global, io.env);
    const server = await listedBy(io, global);
    const found = discover(config, io.env, { isConfigured, server });
    show(found, () => textOf(found, all === true, layout));
  },
});

/** The providers of the server that runs; null where none answers. */
async function listedBy(io: CommandIo, options: GlobalOptions): Promise<ProviderRecord[] | null> {
  try {
    const client = await io.connect(options);
    try {
      return await providersNow(client);
    } finally {
      client.close();
    }
  } catch {
    // Whether a server answers is for `doctor` to say.
    return null;
  }
}

/** Returns whether the configuration has a section of a provider. */
async function settingsOf(
  options: GlobalOptions,
  env: NodeJS.ProcessEnv,
): Promise<(provider: ProviderId) => boolean> {
  const [{ findConfig }, { keys }] = await Promise.all([
    import('../../../core/config/load.ts'),
    import('../../../core/config/keys.ts'),
  ]);
  const { originOf } = findConfig({ config: options.config }, env);
  return (provider) =>
    [`providers.${provider}`, ...keys.map(({ name }) => name)].some(
      (name) => `${name}.`.startsWith(`providers.${provider}.`) && originOf(name) !== 'default',
    );
}

function discover(
  config: Config | null,
  env: NodeJS.ProcessEnv,
  {
    isConfigured,
    server,
  }: { isConfigured: (provider: ProviderId) => boolean; server: readonly ProviderRecord[] | null },
): Discovered[] {
  const known = new Map(knownAgents().map((agent) => [agent.name, agent]));
  const acp = config?.providers.acp ?? null;
  const names = [
    ...(acp?.command ? [DEFAULT_AGENT] : []),
    ...new Set([...known.keys(), ...Object.keys(acp?.agents ?? {})]),
  ];
  return names.map((name) => {
    const agent = known.get(name);
    const provider: ProviderId = loginProviderIds.find((id) => id === name) ?? agentProvider;
    const section = sectionOf(config, { provider, name, isConfigured });
    const command = section?.command ?? agent?.command ?? null;
    const path = section?.env.PATH ?? env.PATH;
    const installed = command === null ? null : findProgram(command, path);
    const one = {
      name,
      provider,
      display_name: agent?.display_name ?? name,
      command,
      installed,
      configured: section !== null,
      logged_in: loginOf(server, provider, name),
    };
    const next =
      offBy(config, provider, name) ??
      missing(one, agent?.install) ??
      serverProblem(one, server) ??
      useOf(one);
    return { ...one, next };
  });
}

/** The section of an agent; null where the configuration has none that says anything of it. */
function sectionOf(
  config: Config | null,
  {
    provider,
    name,
    isConfigured,
  }: { provider: ProviderId; name: string; isConfigured: (provider: ProviderId) => boolean },
): { command: string | null; env: Readonly<Record<string, string>> } | null {
  if (config === null) return null;
  if (provider !== agentProvider) return isConfigured(provider) ? config.providers[provider] : null;
  const { acp } = config.providers;
  return (name === DEFAULT_AGENT ? acp : acp?.agents[name]) ?? null;
}

/** The key that turns an agent off; null where none does. */
function offBy(config: Config | null, provider: ProviderId, name: string): string | null {
  const section = config?.providers[provider];
  if (section?.enabled === false) return `set providers.${provider}.enabled to true`;
  const isOff = config?.providers.acp?.agents[name]?.enabled === false;
  return isOff ? `set providers.acp.agents.${name}.enabled to true` : null;
}

function missing({ name, command, installed }: Omit<Discovered, 'next'>, install?: string) {
  if (installed !== null) return null;
  if (command === null) return `set providers.acp.agents.${name}.command`;
  return install ?? `"${command}" not found on PATH: install it, or correct its command`;
}

function loginOf(
  server: readonly ProviderRecord[] | null,
  provider: ProviderId,
  name: string,
): boolean | null {
  const listed = server?.find(({ id }) => id === provider);
  if (provider === name) return listed?.logged_in ?? null;
  return listed?.agents.find((one) => one.name === name)?.auth.authenticated ?? null;
}

/** The problem that the server reports for an agent; null for no problem, and if no server runs. */
function serverProblem(
  { name, provider }: Omit<Discovered, 'next'>,
  server: readonly ProviderRecord[] | null,
): string | null {
  const listed = server?.find(({ id }) => id === provider);
  if (!listed) return null;
  if (provider === name) return listed.healthy && listed.logged_in !== false ? null : listed.detail;
  const agent = listed.agents.find((one) => one.name === name);
  if (!agent) return 'restart the server: this agent is not on its PATH';
  return agent.healthy ? null : agent.detail;
}

function useOf({ name, provider }: Omit<Discovered, 'next'>): string {
  const flag = name === provider || name === DEFAULT_AGENT ? 'provider' : 'agent';
  return `cadre run --${flag} ${flag === 'provider' ? provider : name} "…"`;
}

function textOf(found: readonly Discovered[], isAll: boolean, layout: Layout): string {
  const isThere = ({ installed, configured }: Discovered) => installed !== null || configured;
  const there = found.filter(isThere);
  const shown = isAll || there.length === 0 ? found : there;
  const rows = shown.map(({ name, installed, configured, logged_in, next }) => [
    name,
    installed === null ? 'no' : 'yes',
    configured ? 'yes' : 'no',
    loginText(logged_in),
    next,
  ]);
  const heading = ['AGENT', 'INSTALLED', 'CONFIGURED', 'LOGGED IN', 'NEXT'];
  const listed = rows.length > 0 ? table(heading, rows, layout, { wraps: true }) : '';
  if (layout.hasTabs === true) return listed;
  if (there.length === 0)
    return `${listed}no agent is installed: install one of these, or try the demo agent with cadre serve --demo\n`;
  const others = found.filter((one) => !shown.includes(one)).map(({ name }) => name);
  if (others.length === 0) return listed;
  return `${listed}not installed: ${others.join(', ')} (--all shows how to install them)\n`;
}
