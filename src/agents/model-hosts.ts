/** The hosts that Claude Code needs for its models and its login. */
export const CLAUDE_HOSTS = ['api.anthropic.com', 'claude.ai', 'platform.claude.com'];

/** The hosts that Codex needs for its models and its login. */
export const CODEX_HOSTS = ['api.openai.com', 'auth.openai.com', 'chatgpt.com'];
