export interface CatalogueEntry {
  /** Name in requests, commands and the configuration. */
  readonly name: string;
  readonly display_name: string;
  /** Found on PATH, it says that the agent is installed. */
  readonly command: string;
  /** Names that the agent reports over the protocol. They identify an agent that another command starts. */
  readonly reports: readonly string[];
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Variables that get a new secret with each start of the server: they close doors that it would leave open. */
  readonly secrets: readonly string[];
  /** The variables that name its home, each with the path below that home. */
  readonly home: Readonly<Record<string, string>>;
  /** The directories in which it keeps its state and settings, below the home directory of the user. */
  readonly state: readonly string[];
  /** The hosts of its models and logins, where it has its own. */
  readonly hosts: readonly string[];
  /** Variables of the server's environment that it gets besides the usual ones, such as its key. */
  readonly pass_env: readonly string[];
  /** The methods by which it is logged in without a person; the first counts whose variable the agent has. */
  readonly auth: readonly { readonly method: string; readonly variable: string }[];
  readonly modes: AgentModes;
  /** The names of the files and directories of a project that configure it or make it run something. */
  readonly files: readonly string[];
  /** Whether it can ask for permission; false: never, in no mode; null: it is not known. */
  readonly asks: boolean | null;
  readonly quirks: Quirks;
  /**
   * The command that continues a conversation in the agent's own program, without the id of the conversation, which is its
   * last word. Empty unless the documentation or the source of the agent shows that the command takes the ids of ACP.
   */
  readonly continues: readonly string[];
  readonly install: string;
}

/** For each permission mode of ours the name of the agent's own mode; absent: it has none, or it is not known. */
export type AgentModes = { readonly [Mode in MappedMode]?: string | undefined };
type MappedMode =
  | 'require_approval'
  | 'read_only'
  | 'workspace_write'
  | 'accept_edits'
  | 'full_access';

/** The differences of one agent from the others, by the names that code asks for, with the versions that they were seen in. */
export type Quirks = Readonly<Record<string, string>>;

/** The home of a program that knows no variable for it. */
export const userHome = {
  HOME: '.',
  XDG_CONFIG_HOME: '.config',
  XDG_DATA_HOME: '.local/share',
  XDG_STATE_HOME: '.local/state',
  XDG_CACHE_HOME: '.cache',
};

export const unknownAgent = {
  reports: [],
  args: [],
  env: {},
  secrets: [],
  home: userHome,
  state: [],
  hosts: [],
  pass_env: [],
  auth: [],
  modes: {},
  asks: null,
  quirks: {},
  continues: [],
} satisfies Partial<CatalogueEntry>;

export const modelKeys = [
  'ANTHROPIC_API_KEY',
  'DEEPSEEK_API_KEY',
  'GEMINI_API_KEY',
  'GROQ_API_KEY',
  'MISTRAL_API_KEY',
  'OPENAI_API_KEY',
  'OPENROUTER_API_KEY',
  'XAI_API_KEY',
];
