/**
 * The agents that speak ACP and that many people have: how each is started, recognised and used. It is data alone, and
 * the only list of them: to add an agent, add an entry. `[providers.acp.agents.NAME]` overrides an entry key by key.
 */
export interface CatalogueEntry {
  /** What it is called in requests, commands and the configuration. */
  readonly name: string;
  readonly display_name: string;
  /** Found on PATH, it says that the agent is installed. */
  readonly command: string;
  /** Those that make it speak ACP on stdin and stdout. */
  readonly args: readonly string[];
  /** Variables that it needs. */
  readonly env: Readonly<Record<string, string>>;
  /** The variables that name a home of it, each with the path below that home; `HOME` where it has none of its own. */
  readonly home: Readonly<Record<string, string>>;
  /** Variables of the server's environment that it gets besides the usual ones, such as its key. */
  readonly pass_env: readonly string[];
  /** The method by which it may be logged in without a person; null: its only one, if any. */
  readonly auth_method: string | null;
  readonly modes: AgentModes;
  /** Whether it can ask for permission; false: never, in no mode; null: it is not known. */
  readonly asks: boolean | null;
  readonly quirks: readonly Quirk[];
  /** How a person installs it. */
  readonly install: string;
}

/** For each permission mode of ours the name of the agent's own mode; absent: it has none, or it is not known. */
export type AgentModes = {
  readonly [Mode in (typeof mappedModes)[number]]?: string | undefined;
};

/** The permission modes of ours for which an agent may have a mode of its own. */
export const mappedModes = [
  'require_approval',
  'read_only',
  'workspace_write',
  'accept_edits',
  'full_access',
] as const;

/** What an agent does differently from others. */
export interface Quirk {
  /** By which code asks for it. */
  readonly id: string;
  /** The version in which it was seen. */
  readonly seen_in: string;
  readonly what: string;
}

/** What most agents have in common. */
const usual = {
  args: [],
  env: {},
  home: {
    HOME: '.',
    XDG_CONFIG_HOME: '.config',
    XDG_DATA_HOME: '.local/share',
    XDG_STATE_HOME: '.local/state',
    XDG_CACHE_HOME: '.cache',
  },
  pass_env: [],
  auth_method: null,
  modes: {},
  asks: null,
  quirks: [],
} satisfies Partial<CatalogueEntry>;

export const catalogue: readonly CatalogueEntry[] = [
  {
    ...usual,
    name: 'opencode',
    display_name: 'opencode',
    command: 'opencode',
    args: ['acp'],
    quirks: [
      {
        id: 'title-is-tool',
        seen_in: '1.18.33',
        what: 'the title of a permission request without input is the name of the tool',
      },
    ],
    install: 'npm install -g opencode-ai',
  },
  {
    ...usual,
    name: 'gemini',
    display_name: 'Gemini CLI',
    command: 'gemini',
    args: ['--acp', '--skip-trust'],
    pass_env: ['GEMINI_API_KEY'],
    modes: { require_approval: 'default', read_only: 'plan', full_access: 'yolo' },
    asks: true,
    install: 'npm install -g @google/gemini-cli',
  },
];

/** What holds of an agent that is not in the catalogue. */
export const unknownAgent: Omit<CatalogueEntry, 'name' | 'display_name' | 'command' | 'install'> =
  usual;
