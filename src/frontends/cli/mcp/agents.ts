import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { baseDirectory } from '../../../core/config/paths.ts';
import { AppError } from '../../../api/errors.ts';
import { valueAt, withoutValue, withValue } from './jsonc.ts';

/** The name of the MCP server in the configuration of an agent. */
const SERVER = 'cadre';

/** How an agent starts the MCP server. It holds no secret. */
export interface ServerStart {
  command: string;
  args: readonly string[];
}

/** An agent of the user that can be given cadre's tools. */
export interface McpAgent {
  name: string;
  /** What the user installs, and what is found on PATH. */
  command: string;
  /** The arguments of its own commands that change its configuration; null: cadre changes the file. */
  own: { add: (server: ServerStart) => string[]; remove: string[] } | null;
  /** The files of the user's own configuration that may have the entry; the first that exists is changed. */
  files: (env: NodeJS.ProcessEnv) => string[];
  /** Whether the text of such a file has the entry. Throws `invalid` for a text that cannot be read. */
  has: (text: string) => boolean;
  /** The text with, and without, the entry; where cadre changes the file. */
  edit?: { add: (text: string, server: ServerStart) => string; remove: (text: string) => string };
}

export const mcpAgents: readonly McpAgent[] = [
  {
    name: 'claude',
    command: 'claude',
    own: {
      add: ({ command, args }) => ['mcp', 'add', '--scope', 'user', SERVER, '--', command, ...args],
      remove: ['mcp', 'remove', '--scope', 'user', SERVER],
    },
    files: (env) => [path.join(env.CLAUDE_CONFIG_DIR ?? homeOf(env), '.claude.json')],
    has: (text) => valueAt(text, ['mcpServers', SERVER]) !== undefined,
  },
  {
    name: 'codex',
    command: 'codex',
    own: {
      add: ({ command, args }) => ['mcp', 'add', SERVER, '--', command, ...args],
      remove: ['mcp', 'remove', SERVER],
    },
    files: (env) => [path.join(env.CODEX_HOME ?? path.join(homeOf(env), '.codex'), 'config.toml')],
    has: (text) =>
      new RegExp(`^\\s*\\[\\s*mcp_servers\\s*\\.\\s*"?${SERVER}"?\\s*\\]`, 'm').test(text),
  },
  {
    name: 'opencode',
    command: 'opencode',
    own: null,
    files: (env) => {
      const base = baseDirectory(env, 'XDG_CONFIG_HOME', '.config');
      return ['opencode.jsonc', 'opencode.json'].map((file) => path.join(base, 'opencode', file));
    },
    has: (text) => valueAt(text, ['mcp', SERVER]) !== undefined,
    edit: {
      add: (text, { command, args }) =>
        withValue(text, ['mcp', SERVER], {
          type: 'local',
          command: [command, ...args],
          enabled: true,
        }),
      remove: (text) => withoutValue(text, ['mcp', SERVER]),
    },
  },
  {
    name: 'gemini',
    command: 'gemini',
    own: {
      // Its own options end with the name of the server.
      add: ({ command, args }) => ['mcp', 'add', '--scope', 'user', SERVER, command, ...args],
      remove: ['mcp', 'remove', '--scope', 'user', SERVER],
    },
    files: (env) => [path.join(env.GEMINI_CLI_HOME ?? homeOf(env), '.gemini', 'settings.json')],
    has: (text) => valueAt(text, ['mcpServers', SERVER]) !== undefined,
  },
];

/** The file that has the entry of an agent; null where none has. Throws `invalid` for a file that cannot be read. */
export function fileWithEntry(agent: McpAgent, env: NodeJS.ProcessEnv): string | null {
  return agent.files(env).find((file) => fs.existsSync(file) && hasEntry(agent, file)) ?? null;
}

/** The file that cadre changes: one that has the entry, else one that exists, else the first. */
export function fileToChange(agent: McpAgent, env: NodeJS.ProcessEnv): string {
  const files = agent.files(env);
  const existing = files.find((file) => fs.existsSync(file));
  return fileWithEntry(agent, env) ?? existing ?? (files[0] as string);
}

function hasEntry({ has }: McpAgent, file: string): boolean {
  try {
    return has(fs.readFileSync(file, 'utf8'));
  } catch (error) {
    if (error instanceof AppError) throw new AppError(error.code, `${file}: ${error.message}`);
    throw error;
  }
}

function homeOf(env: NodeJS.ProcessEnv): string {
  return env.HOME ?? os.homedir();
}
