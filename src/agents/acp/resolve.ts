import path from 'node:path';
import { DEFAULT_AGENT } from '../../api/provider-kinds.ts';
import type { Config } from '../../core/config/schema.ts';
import { pickVariables } from '../../core/children/environment.ts';
import { homeDirectory } from '../../core/lib/home-directory.ts';
import type { AgentSandboxKeys } from '../agent-sandbox.ts';
import { catalogue } from './catalogue.ts';
import {
  type AgentModes,
  type CatalogueEntry,
  type Quirks,
  unknownAgent,
} from './catalogue-entry.ts';

/** The section `[providers.acp]`. Its command is the agent named `default`. */
export type AcpSettings = NonNullable<Config['providers']['acp']>;

const REQUEST_TIMEOUT_MS = 120_000;

/** An agent as it is used: what the catalogue knows of it, overridden by the configuration. */
export interface ResolvedAgent {
  readonly name: string;
  readonly displayName: string;
  readonly isConfigured: boolean;
  readonly isEnabled: boolean;
  /** Null: nobody says how it is started. */
  readonly command: string | null;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** The variables of the server's environment that it gets besides the usual ones. */
  readonly passEnv: readonly string[];
  /** The absolute path of a home that is cadre's alone; null: it has the user's own. */
  readonly home: string | null;
  /** The variables that name that home, each with the path below it. */
  readonly homeVariables: Readonly<Record<string, string>>;
  /** The directories of its state and settings; with a home that is cadre's alone, that home. */
  readonly state: readonly string[];
  /** The hosts that it needs. */
  readonly hosts: readonly string[];
  readonly sandbox: AgentSandboxKeys;
  /** How long it may take to answer anything but a prompt. */
  readonly requestTimeoutMs: number;
  /** The method that cadre may call by itself; empty: none; null: none is named. */
  readonly authMethod: string | null;
  /** Whether the catalogue has it; else it may be recognised once it has been started. */
  isKnown: boolean;
  modes: AgentModes;
  /** Whether it can ask for permission; false: never; null: unknown. */
  asks: boolean | null;
  quirks: Quirks;
  /** The command that continues a conversation in its own program, without the id; empty if it is not known. */
  continues: readonly string[];
  /** How a person installs it; null: unknown. */
  readonly install: string | null;
}

/** In a sandbox, the home directory is always the home directory of the user. */
function inUserHome(name: string): string {
  return path.join(homeDirectory(process.env), name);
}

/** Every agent that the catalogue knows or the configuration names, and the one named `default`. */
export function resolveAgents(
  settings: AcpSettings | null,
  from: NodeJS.ProcessEnv,
): ResolvedAgent[] {
  const configured = Object.keys(settings?.agents ?? {});
  const known = catalogue.map(({ name }) => name);
  const names = new Set([DEFAULT_AGENT, ...configured, ...known]);
  return [...names].map((name) => resolveAgent(name, settings, from));
}

/**
 * Returns the section of an agent over its entry of the catalogue, key by key. `from` is the environment of the server.
 * An agent with its own name uses the entry of its command, so that one agent of the catalogue can be configured twice,
 * with two homes.
 */
function resolveAgent(
  name: string,
  settings: AcpSettings | null,
  from: NodeJS.ProcessEnv,
): ResolvedAgent {
  const own = settings?.agents[name];
  const base = name === DEFAULT_AGENT ? defaultAgent(settings) : null;
  const named = catalogue.find((entry) => entry.name === name);
  const command = own?.command ?? base?.command ?? named?.command ?? null;
  const entry = named ?? entryOfCommand(command);
  const known = entry ?? unknownAgent;
  const home = own?.home ?? null;
  const env = { ...(base ? base.env : known.env), ...own?.env };
  const passEnv = own?.pass_env ?? (base ? [] : known.pass_env);
  return {
    name,
    displayName: named?.display_name ?? name,
    isConfigured: own !== undefined || base !== null,
    isEnabled: own?.enabled ?? true,
    command,
    args: own?.args ?? base?.args ?? known.args,
    env,
    passEnv,
    home: home === null ? null : path.resolve(home),
    homeVariables: known.home,
    state: home === null ? known.state.map(inUserHome) : [path.resolve(home)],
    hosts: known.hosts,
    sandbox: own?.sandbox ?? base?.sandbox ?? null,
    requestTimeoutMs: own?.request_timeout_ms ?? settings?.request_timeout_ms ?? REQUEST_TIMEOUT_MS,
    authMethod:
      own?.auth_method ?? methodIn(known.auth, { ...pickVariables(passEnv, from), ...env }),
    isKnown: entry !== undefined,
    modes: { ...known.modes, ...own?.modes },
    asks: own?.asks ?? known.asks,
    quirks: known.quirks,
    continues: known.continues,
    install: entry?.install ?? null,
  };
}

/**
 * Adds the facts of the catalogue to an agent with a custom command, by the name that the agent reports. Configured
 * values stay.
 */
export function recognise(agent: ResolvedAgent, reported: string): void {
  const entry = catalogue.find(({ reports }) => reports.includes(reported));
  if (agent.isKnown || !entry) return;
  agent.isKnown = true;
  agent.modes = { ...entry.modes, ...agent.modes };
  agent.asks ??= entry.asks;
  agent.quirks = entry.quirks;
  agent.continues = entry.continues;
}

/** The agent of `[providers.acp]` itself, which has exactly what stands there; null where no command does. */
function defaultAgent(settings: AcpSettings | null) {
  return settings && settings.command !== null ? settings : null;
}

function entryOfCommand(command: string | null): CatalogueEntry | undefined {
  return catalogue.find((entry) => command !== null && entry.command === path.basename(command));
}

/** The first method whose variable the agent has; null: there is none. */
function methodIn(
  auth: CatalogueEntry['auth'],
  environment: Readonly<Record<string, string>>,
): string | null {
  return auth.find(({ variable }) => environment[variable] !== undefined)?.method ?? null;
}
