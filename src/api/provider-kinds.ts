import { z } from 'zod';

/** The facts about a provider that are known before its code is loaded. The code is in its folder in `src/agents`. */
interface ProviderKind {
  displayName: string;
  capabilities: Capabilities;
  /** The transports by which the agents reach the MCP servers that a client sets for a session. */
  mcpServers: readonly ('stdio' | 'http' | 'sse')[];
  /** Whether the provider has several named agents. Its sessions then have an `agent`. */
  hasNamedAgents: boolean;
  /** How to change the login. Null if the agent keeps its own login, which no route changes. */
  login: ProviderLogin | null;
}

/** The capabilities of a provider. Callers check these instead of the provider id. */
export interface Capabilities {
  images: boolean;
  approvals: boolean;
  interrupt: boolean;
  resume: boolean;
  usage: boolean;
  models: boolean;
}

/** A login that cadre may change if the agent has a private home directory of cadre. */
interface ProviderLogin {
  /** The product that a user installs to get the agent. */
  product: string;
  /** The commands that change the login in the user's own home directory. */
  commands: { login: string; logout: string };
  /** Variables of the environment by which a shell gives the agent its key or address. */
  variables: readonly string[];
  /** The login file of the agent, if cadre can import it. Null if cadre accepts an API key only. */
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
 * All providers. The routes, the choices of the command line and openapi.yaml are generated from this table. A new
 * provider also needs a section in `config/schema.ts` and a line in `agents/configured.ts`; the compiler reports
 * both.
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
      variables: ['OPENAI_API_KEY', 'OPENAI_BASE_URL'],
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
      variables: [
        'ANTHROPIC_API_KEY',
        'ANTHROPIC_AUTH_TOKEN',
        'ANTHROPIC_BASE_URL',
        'CLAUDE_CODE_OAUTH_TOKEN',
      ],
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

/** A provider whose login cadre may change. */
export type LoginProviderId = {
  [Id in ProviderId]: (typeof providerKinds)[Id]['login'] extends null ? never : Id;
}[ProviderId];

export const providerIds = Object.keys(providerKinds) as ProviderId[];

export const loginProviderIds = providerIds.filter(
  (id): id is LoginProviderId => providerKinds[id].login !== null,
);

/** The provider with named agents. A request that names an agent uses this provider. */
export const agentProvider = 'acp' satisfies NamedAgentProviderId;

type NamedAgentProviderId = {
  [Id in ProviderId]: (typeof providerKinds)[Id]['hasNamedAgents'] extends true ? Id : never;
}[ProviderId];

/** The name of an agent. It is part of paths and variables, so its characters are restricted. */
export const agentName = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9._-]{0,63}$/i,
    'must have 1 to 64 letters, digits, dots, hyphens and underscores, and start with a letter or digit',
  );

/** The name of the agent whose command is in the section of the provider itself. */
export const DEFAULT_AGENT = 'default';

export const providerId = z
  .enum(providerIds)
  .meta({ id: 'ProviderId', description: 'Id of a provider.' });
