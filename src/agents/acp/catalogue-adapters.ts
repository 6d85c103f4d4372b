import { type CatalogueEntry, modelKeys, unknownAgent, userHome } from './catalogue-entry.ts';

/** The entries of programs that speak ACP for an agent that does not. */

export const codexAcp: CatalogueEntry = {
  ...unknownAgent,
  name: 'codex-acp',
  display_name: 'OpenAI Codex (codex-acp)',
  command: 'codex-acp',
  state: ['.codex'],
  hosts: ['api.openai.com', 'auth.openai.com', 'chatgpt.com'],
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
  quirks: [
    {
      id: 'starts_in_auto_mode',
      seen_in: '2.6.0',
      what: 'It starts in the mode agent, in which a model, not the user, answers its requests.',
    },
    {
      id: 'decline_ends_turn',
      seen_in: '2.6.0',
      what: 'Its only option to decline a command also ends the turn.',
    },
    {
      id: 'output_in_meta',
      seen_in: '2.6.0',
      what: 'It reports the output of commands in _meta.terminal_output_delta.',
    },
    {
      id: 'other_mode_names',
      seen_in: 'Zed package 0.16',
      what: 'The program of the same name by Zed has the modes read-only, auto and full-access.',
    },
  ],
  install: 'npm install -g @agentclientprotocol/codex-acp',
};

export const claudeAgentAcp: CatalogueEntry = {
  ...unknownAgent,
  name: 'claude-agent-acp',
  display_name: 'Claude Code (claude-agent-acp)',
  command: 'claude-agent-acp',
  state: ['.claude'],
  hosts: ['api.anthropic.com', 'claude.ai', 'platform.claude.com'],
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
  quirks: [
    {
      id: 'hides_tools',
      seen_in: '0.100.0',
      what: 'The model has to search for the tools of MCP servers, unless ENABLE_TOOL_SEARCH is false.',
    },
    {
      id: 'cost_of_process',
      seen_in: '0.101.0',
      what: 'It reports the cost of its process: the cost starts at zero when a session is resumed.',
    },
    {
      id: 'starts_in_auto_mode',
      seen_in: '0.101.0',
      what: 'It starts in the mode auto, in which a model, not the user, answers its requests.',
    },
  ],
  install: 'npm install -g @agentclientprotocol/claude-agent-acp (needs Node 22)',
};

export const piAcp: CatalogueEntry = {
  ...unknownAgent,
  name: 'pi',
  display_name: 'pi (pi-acp)',
  command: 'pi-acp',
  files: ['.pi'],
  reports: ['pi-acp'],
  home: { ...userHome, PI_CODING_AGENT_DIR: '.pi/agent' },
  pass_env: modelKeys,
  asks: false,
  quirks: [
    {
      id: 'never_asks',
      seen_in: '0.0.34',
      what: 'It requests no permission in any mode.',
    },
    {
      id: 'modes_are_efforts',
      seen_in: '0.0.34',
      what: 'Its modes are thinking efforts, and it does not use MCP servers.',
    },
  ],
  install: 'npm install -g pi-acp',
};
