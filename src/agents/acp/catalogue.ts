import { CLAUDE_HOSTS, CODEX_HOSTS } from '../model-hosts.ts';
import { type CatalogueEntry, modelKeys, unknownAgent, userHome } from './catalogue-entry.ts';

/** An entry without the keys that are as for an unknown agent. */
type Entry = Omit<CatalogueEntry, keyof typeof unknownAgent> & Partial<CatalogueEntry>;

const entries: readonly Entry[] = [
  {
    name: 'opencode',
    display_name: 'opencode',
    hosts: ['models.dev', 'opencode.ai'],
    command: 'opencode',
    state: [
      '.config/opencode',
      '.local/share/opencode',
      '.local/state/opencode',
      '.cache/opencode',
    ],
    files: ['.opencode', 'opencode.json', 'opencode.jsonc'],
    reports: ['OpenCode'],
    args: ['acp'],
    secrets: ['OPENCODE_SERVER_PASSWORD'],
    pass_env: [...modelKeys, 'OPENCODE_API_KEY'],
    modes: { read_only: 'plan' },
    quirks: {
      asks_by_configuration:
        'In every mode, it requests approval only if its own configuration requires it (1.18.33).',
      opens_http_server:
        'It also starts an HTTP server on loopback that can run commands and has no password (1.18.33).',
      title_is_tool:
        'The title of a permission request without input is the name of the tool (1.18.33).',
    },
    continues: ['opencode', '--session'],
    install: 'npm install -g opencode-ai',
  },
  {
    name: 'gemini',
    display_name: 'Gemini CLI',
    command: 'gemini',
    state: ['.gemini'],
    hosts: [
      'generativelanguage.googleapis.com',
      'cloudcode-pa.googleapis.com',
      'oauth2.googleapis.com',
    ],
    files: ['.gemini'],
    reports: ['gemini-cli'],
    args: ['--acp', '--skip-trust'],
    home: { GEMINI_CLI_HOME: '.' },
    pass_env: [
      'GEMINI_API_KEY',
      'GEMINI_MODEL',
      'GOOGLE_API_KEY',
      'GOOGLE_APPLICATION_CREDENTIALS',
      'GOOGLE_CLOUD_LOCATION',
      'GOOGLE_CLOUD_PROJECT',
      'GOOGLE_GEMINI_BASE_URL',
      'GOOGLE_GENAI_USE_VERTEXAI',
    ],
    auth: [{ method: 'gemini-api-key', variable: 'GEMINI_API_KEY' }],
    modes: {
      require_approval: 'default',
      read_only: 'plan',
      accept_edits: 'autoEdit',
      full_access: 'yolo',
    },
    asks: true,
    quirks: {
      ignores_tools_in_untrusted_folders:
        'Without --skip-trust, it ignores MCP servers and refuses the modes yolo and autoEdit (0.61.0).',
      permission_is_first_mention:
        'It requests permission before it reports the tool call, and without the input of the call (0.61.0).',
      loses_sessions:
        'It deletes a session after the first load, unless general.sessionRetention.enabled in its settings is false. A session that is loaded in the minute of its creation is lost (0.61.0).',
    },
    continues: ['gemini', '--resume'],
    install: 'npm install -g @google/gemini-cli',
  },
  {
    name: 'codex-acp',
    display_name: 'OpenAI Codex (codex-acp)',
    command: 'codex-acp',
    state: ['.codex'],
    hosts: CODEX_HOSTS,
    files: ['.codex'],
    reports: ['@agentclientprotocol/codex-acp', 'codex-acp'],
    home: { CODEX_HOME: '.' },
    pass_env: ['CODEX_API_KEY', 'OPENAI_API_KEY', 'OPENAI_BASE_URL', 'CODEX_PATH'],
    auth: [
      { method: 'api-key', variable: 'CODEX_API_KEY' },
      { method: 'api-key', variable: 'OPENAI_API_KEY' },
    ],
    modes: {
      require_approval: 'read-only',
      read_only: 'read-only',
      workspace_write: 'workspace-write',
      full_access: 'agent-full-access',
    },
    asks: true,
    quirks: {
      starts_in_auto_mode:
        'It starts in the mode agent, in which a model, not the user, answers its requests (2.6.0).',
      decline_ends_turn: 'Its only option to decline a command also ends the turn (2.6.0).',
      output_in_meta: 'It reports the output of commands in _meta.terminal_output_delta (2.6.0).',
      other_mode_names:
        'The program of the same name by Zed has the modes read-only, auto and full-access (Zed package 0.16).',
    },
    continues: ['codex', 'resume'],
    install: 'npm install -g @agentclientprotocol/codex-acp',
  },
  {
    name: 'claude-agent-acp',
    display_name: 'Claude Code (claude-agent-acp)',
    command: 'claude-agent-acp',
    state: ['.claude'],
    hosts: CLAUDE_HOSTS,
    files: ['.claude', '.claude.json', '.mcp.json'],
    reports: ['@agentclientprotocol/claude-agent-acp', '@zed-industries/claude-agent-acp'],
    env: { ENABLE_TOOL_SEARCH: 'false' },
    home: { CLAUDE_CONFIG_DIR: '.' },
    pass_env: ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'ANTHROPIC_BASE_URL'],
    modes: {
      require_approval: 'default',
      read_only: 'plan',
      accept_edits: 'acceptEdits',
      full_access: 'bypassPermissions',
    },
    asks: true,
    quirks: {
      hides_tools:
        'The model has to search for the tools of MCP servers, unless ENABLE_TOOL_SEARCH is false (0.100.0).',
      cost_of_process:
        'It reports the cost of its process: the cost starts at zero when a session is resumed (0.101.0).',
      starts_in_auto_mode:
        'It starts in the mode auto, in which a model, not the user, answers its requests (0.101.0).',
    },
    continues: ['claude', '--resume'],
    install: 'npm install -g @agentclientprotocol/claude-agent-acp (needs Node 22)',
  },
  {
    name: 'goose',
    display_name: 'goose',
    command: 'goose',
    state: ['.config/goose', '.local/share/goose', '.local/state/goose'],
    files: ['.goose', '.goosehints'],
    reports: ['goose'],
    args: ['acp'],
    home: { GOOSE_PATH_ROOT: '.' },
    pass_env: [...modelKeys, 'GOOSE_MODEL', 'GOOSE_PROVIDER', 'OPENAI_BASE_URL', 'OPENAI_HOST'],
    modes: { require_approval: 'approve', read_only: 'chat', full_access: 'auto' },
    asks: true,
    quirks: {
      starts_in_auto_mode:
        'Unless configured otherwise, it starts in the mode auto, which requests no approval (1.23.2).',
    },
    continues: ['goose', 'session', '--resume', '--session-id'],
    install: 'see https://block.github.io/goose',
  },
  {
    name: 'qwen',
    display_name: 'Qwen Code',
    command: 'qwen',
    state: ['.qwen'],
    hosts: ['chat.qwen.ai', 'portal.qwen.ai', 'dashscope.aliyuncs.com'],
    files: ['.qwen'],
    reports: ['qwen-code'],
    args: ['--acp'],
    home: { QWEN_HOME: '.' },
    pass_env: ['DASHSCOPE_API_KEY', 'OPENAI_API_KEY', 'OPENAI_BASE_URL', 'OPENAI_MODEL'],
    auth: [{ method: 'openai', variable: 'OPENAI_API_KEY' }],
    modes: {
      require_approval: 'default',
      read_only: 'plan',
      accept_edits: 'auto-edit',
      full_access: 'yolo',
    },
    asks: true,
    quirks: {
      starts_in_auto_mode: 'It starts in the mode auto, which requests no approval (0.24.0).',
      usage_in_meta: 'It reports usage in _meta.usage (0.24.0).',
      hides_tools:
        'The model has to search for the tools of MCP servers, unless tools.toolSearch.enabled in its settings is false (0.24.4).',
    },
    continues: ['qwen', '--resume'],
    install: 'npm install -g @qwen-code/qwen-code',
  },
  {
    name: 'kimi',
    display_name: 'Kimi Code',
    command: 'kimi',
    files: ['.kimi', '.kimi-code'],
    reports: ['Kimi Code CLI'],
    args: ['acp'],
    home: { KIMI_CODE_HOME: '.', KIMI_SHARE_DIR: '.' },
    pass_env: [
      'KIMI_API_KEY',
      'KIMI_BASE_URL',
      'KIMI_MODEL_API_KEY',
      'KIMI_MODEL_BASE_URL',
      'KIMI_MODEL_MAX_CONTEXT_SIZE',
      'KIMI_MODEL_NAME',
      'KIMI_MODEL_PROVIDER_TYPE',
      'MOONSHOT_API_KEY',
    ],
    modes: { require_approval: 'default', read_only: 'plan', full_access: 'yolo' },
    asks: true,
    quirks: {
      late_usage: 'It sends the usage of a turn after the response to the prompt (2.1.0).',
      asks_without_input: 'It requests permission without the input of the tool call (2.1.0).',
      title_is_tool:
        'The title of a permission request without input is the name of the tool (2.1.0).',
      old_program_of_this_name:
        'The unmaintained PyPI package kimi-cli installs a program of the same name that exits at once (kimi-cli, 1.52.0).',
    },
    continues: ['kimi', '--session'],
    install: 'see https://www.kimi.com/code',
  },
  {
    name: 'vibe',
    display_name: 'Mistral Vibe',
    command: 'vibe-acp',
    files: ['.vibe'],
    reports: ['@mistralai/mistral-vibe'],
    home: { VIBE_HOME: '.' },
    pass_env: ['MISTRAL_API_KEY'],
    modes: {
      require_approval: 'ask',
      accept_edits: 'accept-edits',
      full_access: 'auto-approve',
    },
    asks: true,
    quirks: {
      cumulative_usage: 'It reports the usage of the whole session so far (3.0.0).',
      hides_tools:
        'The model has to search for the tools of MCP servers; no setting changes that (3.0.2).',
    },
    install: 'uv tool install mistral-vibe',
  },
  {
    name: 'cline',
    display_name: 'Cline',
    command: 'cline',
    files: ['.cline', '.clinerules'],
    reports: ['cline'],
    args: ['--acp'],
    home: { CLINE_DIR: '.' },
    pass_env: modelKeys,
    modes: { require_approval: 'act', read_only: 'plan' },
    asks: true,
    quirks: {
      two_model_options:
        'It has two options of the category model; the first selects the model provider (3.0.0).',
    },
    install: 'npm install -g cline',
  },
  {
    name: 'copilot',
    display_name: 'GitHub Copilot CLI',
    command: 'copilot',
    files: ['.copilot', '.github', '.mcp.json'],
    reports: ['Copilot'],
    args: ['--acp', '--stdio'],
    home: { COPILOT_HOME: '.' },
    pass_env: [
      'COPILOT_GITHUB_TOKEN',
      'COPILOT_MODEL',
      'COPILOT_OFFLINE',
      'COPILOT_PROVIDER_API_KEY',
      'COPILOT_PROVIDER_BASE_URL',
      'COPILOT_PROVIDER_TYPE',
      'COPILOT_PROVIDER_WIRE_API',
      'GH_TOKEN',
      'GITHUB_TOKEN',
    ],
    modes: {
      require_approval: 'https://agentclientprotocol.com/protocol/session-modes#agent',
      read_only: 'https://agentclientprotocol.com/protocol/session-modes#plan',
      full_access: 'https://agentclientprotocol.com/protocol/session-modes#autopilot',
    },
    asks: true,
    quirks: {
      refuses_tools:
        'It refuses MCP servers that its client starts, so it cannot use the tools of cadre (1.0.102).',
    },
    install: 'npm install -g @github/copilot',
  },
  {
    name: 'cursor',
    display_name: 'Cursor CLI',
    command: 'cursor-agent',
    files: ['.cursor', '.cursorrules'],
    args: ['acp'],
    pass_env: ['CURSOR_API_KEY', 'CURSOR_AUTH_TOKEN'],
    auth: [
      { method: 'cursor_login', variable: 'CURSOR_API_KEY' },
      { method: 'cursor_login', variable: 'CURSOR_AUTH_TOKEN' },
    ],
    modes: { require_approval: 'agent', read_only: 'ask' },
    asks: true,
    install: 'see https://cursor.com/cli',
  },
  {
    name: 'droid',
    display_name: 'Factory Droid',
    command: 'droid',
    files: ['.factory'],
    reports: ['@factory/cli'],
    args: ['exec', '--output-format', 'acp'],
    env: { DROID_DISABLE_AUTO_UPDATE: 'true', FACTORY_DROID_AUTO_UPDATE_ENABLED: 'false' },
    pass_env: ['FACTORY_API_KEY'],
    auth: [{ method: 'factory-api-key', variable: 'FACTORY_API_KEY' }],
    modes: { require_approval: 'normal', full_access: 'auto-high' },
    asks: true,
    quirks: {
      ignores_flags:
        'In ACP mode, it ignores its flags for model and autonomy; it has options for both (0.164.0).',
    },
    install: 'see https://docs.factory.ai/cli',
  },
  {
    name: 'auggie',
    display_name: 'Auggie CLI',
    command: 'auggie',
    files: ['.augment'],
    reports: ['auggie'],
    args: ['--acp'],
    env: { AUGMENT_DISABLE_AUTO_UPDATE: '1' },
    pass_env: ['AUGMENT_API_TOKEN', 'AUGMENT_API_URL', 'AUGMENT_SESSION_AUTH'],
    install: 'npm install -g @augmentcode/auggie',
  },
  {
    name: 'fast-agent',
    display_name: 'fast-agent',
    command: 'fast-agent-acp',
    files: [
      '.fast-agent',
      'fast-agent.yaml',
      'fastagent.config.yaml',
      'fastagent.secrets.yaml',
      'fast-agent.config.yaml',
      'fast-agent.secrets.yaml',
    ],
    home: { FAST_AGENT_HOME: '.' },
    pass_env: modelKeys,
    asks: false,
    quirks: { never_asks: 'It requests no permission in any mode (0.10).' },
    install: 'uv tool install fast-agent-acp',
  },
  {
    name: 'pi',
    display_name: 'pi (pi-acp)',
    command: 'pi-acp',
    files: ['.pi'],
    reports: ['pi-acp'],
    home: { ...userHome, PI_CODING_AGENT_DIR: '.pi/agent' },
    pass_env: modelKeys,
    asks: false,
    quirks: {
      never_asks: 'It requests no permission in any mode (0.0.34).',
      modes_are_efforts:
        'Its modes are thinking efforts, and it does not use MCP servers (0.0.34).',
    },
    continues: ['pi', '--session'],
    install: 'npm install -g pi-acp',
  },
];

/**
 * The agents that speak ACP and that many people have: how each is started, recognised and used. It is data alone, and
 * the only list of them: to add an agent, add an entry. `[providers.acp.agents.NAME]` overrides an entry key by key.
 */
export const catalogue: readonly CatalogueEntry[] = entries.map((entry) => ({
  ...unknownAgent,
  ...entry,
}));
