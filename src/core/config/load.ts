import path from 'node:path';
import type { z } from 'zod';
import { agentProvider } from '../../api/provider-kinds.ts';
import { AppError, invalidError } from '../../api/errors.ts';
import { issueInWords } from '../lib/explain.ts';
import { nearest } from '../lib/nearest.ts';
import { emptyTree, keys, namesIn, put } from './keys.ts';
import { defaultDataDirectory, expandHome } from './paths.ts';
import { type Config, configSchema } from './schema.ts';
import {
  configFile,
  type ConfigFlags,
  fromEnvironment,
  fromFile,
  fromFlags,
  type Setting,
} from './sources.ts';

export interface FoundConfig {
  /** Null where there are problems. */
  config: Config | null;
  /** Every problem, with its location and what to write instead. */
  problems: string[];
  /** The origin of a key's value, as `config show` prints it. */
  originOf: (name: string) => string;
}

/**
 * The configuration: flags override the environment, which overrides the file, which overrides the defaults. Throws
 * `invalid` with the location of the first problem and what to write instead, also if a named file is missing.
 */
export function loadConfig(flags: ConfigFlags, env: NodeJS.ProcessEnv): Config {
  return usable(findConfig(flags, env));
}

/** The sections by which clients find servers, and by which they show what servers respond. */
const CLIENT_SECTIONS: ReadonlySet<string> = new Set([
  'auth',
  'client',
  'data',
  'screen',
  'servers',
]);

/**
 * The configuration with the defaults in all sections that clients do not need, so that a problem there does not keep anyone
 * from stopping an agent or a server. Throws as `loadConfig` for a problem in the sections of clients.
 */
export function loadClientConfig(flags: ConfigFlags, env: NodeJS.ProcessEnv): Config {
  return usable(findConfig(flags, env, CLIENT_SECTIONS));
}

/** The configuration without problems. Throws `invalid` where there are any, as `loadConfig` does. */
export function usable({ config, problems }: FoundConfig): Config {
  if (config) return config;
  const [first, ...others] = problems;
  const more = others.length > 0 ? `; ${others.length} more, see cadre config check` : '';
  throw invalidError(`invalid configuration: ${first}${more}`);
}

/**
 * Reads the configuration, or some sections of it, with all problems and the origin of each value. Does not throw for
 * problems.
 */
export function findConfig(
  flags: ConfigFlags,
  env: NodeJS.ProcessEnv,
  sections?: ReadonlySet<string>,
): FoundConfig {
  const problems: string[] = [];
  const found: Setting[] = [];
  // An unreadable file is one problem. The problems of the environment and the flags are reported with it.
  try {
    found.push(...fromFile(flags, env));
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    problems.push(error.message);
  }
  found.push(...fromEnvironment(env), ...fromFlags(flags));
  const settings = sections
    ? found.filter(({ path: [section = ''] }) => sections.has(section))
    : found;
  const tree = emptyTree();
  for (const { path, value } of settings) put(tree, path, value);
  const result = configSchema.safeParse(tree, { error: issueInWords });
  for (const issue of result.error?.issues ?? []) problems.push(...explain(issue, settings));
  problems.push(...contradictionsIn(settings));
  return {
    config:
      problems.length === 0 && result.data
        ? withAbsolutePaths(result.data, settings, configFile(flags, env), env)
        : null,
    problems,
    originOf: (name) =>
      settings.findLast(({ path }) => path.join('.') === name)?.origin.text ?? 'default',
  };
}

/** The data directory: the configured one, else `$XDG_DATA_HOME/cadre`. */
export function dataDirectory(config: Config, env: NodeJS.ProcessEnv): string {
  return path.resolve(config.data.root_dir ?? defaultDataDirectory(env));
}

/** A default agent beside a default provider that has no agents with names. A variable may choose another provider. */
function contradictionsIn(settings: readonly Setting[]): string[] {
  const last = (name: string) => settings.findLast(({ path }) => path.join('.') === name);
  const [provider, agent] = [last('defaults.provider'), last('defaults.agent')];
  if (!provider || typeof agent?.value !== 'string' || provider.value === agentProvider) return [];
  const isOverridden = agent.origin.isFile && !provider.origin.isFile;
  if (isOverridden || typeof provider.value !== 'string') return [];
  return [
    `defaults.agent: "${agent.value}" is an agent of ${agentProvider}, but defaults.provider is "${provider.value}": leave one of them out (${agent.origin.locationOf(agent.path)})`,
  ];
}

function explain(issue: z.core.$ZodIssue, settings: readonly Setting[]): string[] {
  const at = (path: readonly PropertyKey[]) => {
    const location = settingOf(path, settings)?.origin.locationOf(path);
    return location ? ` (${location})` : '';
  };
  if (issue.code !== 'unrecognized_keys') {
    // The inner issue explains the problem of a name that the user chose.
    const { message } = (issue.code === 'invalid_key' && issue.issues[0]) || issue;
    return [`${issue.path.join('.')}: ${message}${at(issue.path)}`];
  }
  return issue.keys.map((name) => {
    const path = [...issue.path.map(String), name];
    return `unknown key "${path.join('.')}"; ${suggestion(path)}${at(path)}`;
  });
}

/** The last setting whose path equals `path`, lies below it, or contains it. */
function settingOf(
  path: readonly PropertyKey[],
  settings: readonly Setting[],
): Setting | undefined {
  return settings.findLast((setting) =>
    setting.path.every((part, at) => at >= path.length || part === String(path[at])),
  );
}

/** The nearest name in the same section, else a key of that name in another section, else the names of the section. */
function suggestion(path: readonly string[]): string {
  const unknown = path.at(-1) ?? '';
  const names = namesIn(path.slice(0, -1));
  const [beside] = nearest(names, unknown, (name) => name);
  const [elsewhere] = nearest(keys, unknown, (key) => key.path.at(-1) ?? '');
  const longer = names.find((name) => name.startsWith(`${unknown}_`));
  const meant = beside ?? longer ?? elsewhere?.name;
  return meant ? `did you mean "${meant}"?` : `known keys: ${names.join(', ')}`;
}

/**
 * The configuration with absolute paths. A relative path is in the directory of the file, so that it means the same for each
 * command, or in the working directory if a variable or a flag sets it. Commands are searched in PATH, so only `~` is
 * replaced in them.
 */
function withAbsolutePaths(
  config: Config,
  settings: readonly Setting[],
  file: string,
  env: NodeJS.ProcessEnv,
): Config {
  const at = (key: string, name: string | null) => {
    if (name === null) return null;
    const isInFile = settingOf(key.split('.'), settings)?.origin.isFile ?? true;
    return path.resolve(isInFile ? path.dirname(file) : '', expandHome(name, env));
  };
  const agent = <Agent extends { command: string | null; home: string | null }>(
    key: string,
    one: Agent,
  ): Agent => ({
    ...one,
    command: one.command && expandHome(one.command, env),
    home: at(key, one.home),
  });
  const { auth, data, worktrees, servers, hooks, fleet, providers } = config;
  const { credentials, person, tls } = fleet;
  const { acp, codex, claude } = providers;
  return {
    ...config,
    auth: { ...auth, token_file: at('auth.token_file', auth.token_file) },
    data: { ...data, root_dir: at('data.root_dir', data.root_dir) },
    worktrees: { ...worktrees, root_dir: at('worktrees.root_dir', worktrees.root_dir) },
    servers: servers.map((one) => ({ ...one, token_file: at('servers', one.token_file) })),
    hooks: hooks.map((one) => ({ ...one, secret_file: at('hooks', one.secret_file) })),
    fleet: {
      ...fleet,
      credentials: at('fleet.credentials', credentials),
      person: { ...person, credentials: at('fleet.person.credentials', person.credentials) },
      tls: {
        ca: at('fleet.tls.ca', tls.ca),
        cert: at('fleet.tls.cert', tls.cert),
        key: at('fleet.tls.key', tls.key),
      },
    },
    providers: {
      ...providers,
      codex: agent('providers.codex.home', codex),
      claude: agent('providers.claude.home', claude),
      acp: acp && {
        ...acp,
        command: acp.command && expandHome(acp.command, env),
        agents: Object.fromEntries(
          Object.entries(acp.agents).map(([name, one]) => [
            name,
            agent('providers.acp.agents', one),
          ]),
        ),
      },
    },
  };
}
