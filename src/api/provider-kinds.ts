import { z } from 'zod';

/** What is known of a provider before any of its code runs. The rest of it is its folder in `src/agents`. */
interface ProviderKind {
  /** Its name for people. */
  displayName: string;
  capabilities: Capabilities;
  /** How its agents reach the MCP servers that a client gives to a session. */
  mcpServers: readonly ('stdio' | 'http' | 'sse')[];
  /** Whether it has several agents, each with a name: its sessions then have an `agent`. */
  hasNamedAgents: boolean;
  /** How its login is changed; null: its agent keeps its own login, and no route changes that one. */
  login: ProviderLogin | null;
}

/** What a provider can do; callers ask this instead of asking which provider it is. */
export interface Capabilities {
  images: boolean;
  approvals: boolean;
  interrupt: boolean;
  resume: boolean;
  usage: boolean;
  models: boolean;
}

/** A login that cadre may change where the agent has a home of cadre's own. */
interface ProviderLogin {
  /** What a user installs to have the agent. */
  product: string;
  /** The commands by which users change the login in their own home. */
  commands: { login: string; logout: string };
  /** The file in which the agent keeps a login, where cadre takes such a file; null: cadre takes an API key alone. */
  file: string | null;
}

const everything: Capabilities = {
  images: true,
  approvals: true,
  interrupt: true,
  resume: true,
  usage: true,
  models: true,
};

/**
 * Every provider of the interface. Its routes, the choices of the command line and openapi.yaml are made from this
 * table. A provider that is added here needs its section in `config/schema.ts` and its line in
 * `providers/configured.ts` as well: the compiler asks for both.
 */
export const providerKinds = {
  codex: {
    displayName: 'OpenAI Codex',
    capabilities: everything,
    mcpServers: ['stdio', 'http'],
    hasNamedAgents: false,
    login: {
      product: 'codex',
      commands: { login: 'codex login', logout: 'codex logout' },
      file: 'auth.json',
    },
  },
  claude: {
    displayName: 'Claude Code',
    capabilities: everything,
    mcpServers: ['stdio', 'http', 'sse'],
    hasNamedAgents: false,
    login: {
      product: 'Claude Code',
      commands: { login: 'claude auth login', logout: 'claude auth logout' },
      file: null,
    },
  },
  acp: {
    displayName: 'Agent Client Protocol',
    capabilities: everything,
    // Each agent says which it takes.
    mcpServers: ['stdio', 'http', 'sse'],
    hasNamedAgents: true,
    login: null,
  },
} as const satisfies Record<string, ProviderKind>;

export type ProviderId = keyof typeof providerKinds;

/** The providers whose login cadre may change. */
export type LoginProviderId = {
  [Id in ProviderId]: (typeof providerKinds)[Id]['login'] extends null ? never : Id;
}[ProviderId];

export const providerIds = Object.keys(providerKinds) as ProviderId[];

export const loginProviderIds = providerIds.filter(
  (id): id is LoginProviderId => providerKinds[id].login !== null,
);

/** The provider whose agents have names: a request that names an agent means this one. */
export const agentProvider = 'acp' satisfies NamedAgentProviderId;

type NamedAgentProviderId = {
  [Id in ProviderId]: (typeof providerKinds)[Id]['hasNamedAgents'] extends true ? Id : never;
}[ProviderId];

/** The name of an agent. It stands in paths and variables, so it is short and plain. */
export const agentName = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9._-]{0,63}$/i,
    'has to be letters, digits, dots, hyphens and underscores, and at most 64 of them',
  );

/** The name of the agent whose command stands in the section of its provider itself. */
export const DEFAULT_AGENT = 'default';

export const providerId = z
  .enum(providerIds)
  .meta({ id: 'ProviderId', description: 'A provider that the interface names.' });
