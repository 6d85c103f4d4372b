import fs from 'node:fs';
import path from 'node:path';
import { baseDirectory } from '../../../core/config/paths.ts';
import { withoutEmptyHomes } from '../../../core/lib/agent-homes.ts';
import { homeDirectory } from '../../../core/lib/home-directory.ts';
import { AppError, usageError } from '../../../api/errors.ts';
import { valueAt, withoutValue, withValue } from './jsonc.ts';
import { findProgram } from '../../../core/lib/find-program.ts';
import { makeDirectory } from '../../../core/lib/make-directory.ts';
import { replaceFile } from '../../../core/lib/replace-file.ts';
import { plain } from '../../../core/lib/plain.ts';
import { runAndRead } from '../run-program.ts';

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
  /** The program of the agent, as PATH has it. */
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
    files: (env) => [path.join(env.CLAUDE_CONFIG_DIR || homeDirectory(env), '.claude.json')],
    has: (text) => valueAt(text, ['mcpServers', SERVER]) !== undefined,
  },
  {
    name: 'codex',
    command: 'codex',
    own: {
      add: ({ command, args }) => ['mcp', 'add', SERVER, '--', command, ...args],
      remove: ['mcp', 'remove', SERVER],
    },
    files: (env) => [
      path.join(env.CODEX_HOME || path.join(homeDirectory(env), '.codex'), 'config.toml'),
    ],
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
    files: (env) => [
      path.join(env.GEMINI_CLI_HOME || homeDirectory(env), '.gemini', 'settings.json'),
    ],
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
  return naming(file, () => has(fs.readFileSync(file, 'utf8')));
}

/** Puts the name of the file before the message of an error. */
function naming<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof AppError) throw new AppError(error.code, `${file}: ${error.message}`);
    throw error;
  }
}

/** Writes the entry, in place of an earlier one. Throws where the agent is not installed or refuses it. */
export async function addEntry(
  agent: McpAgent,
  server: ServerStart,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const program = programOf(agent, env);
  const { own, edit } = agent;
  if (!own) return changeFile(fileToChange(agent, env), (text) => edit?.add(text, server) ?? text);
  // Some agents refuse a name that they have.
  if (fileWithEntry(agent, env) !== null) await run(program, own.remove, env);
  await run(program, own.add(server), env);
}

/** Removes the entry. Returns false if the agent has no entry. Throws if the agent is not installed or refuses. */
export async function removeEntry(agent: McpAgent, env: NodeJS.ProcessEnv): Promise<boolean> {
  const file = fileWithEntry(agent, env);
  if (file === null) return false;
  const { own, edit } = agent;
  if (own) await run(programOf(agent, env), own.remove, env);
  else changeFile(file, (text) => edit?.remove(text) ?? text);
  return true;
}

export function plannedChange(
  agent: McpAgent,
  server: ServerStart,
  env: NodeJS.ProcessEnv,
): { command: string[] | null; file: string; content: string | null } {
  const file = fileToChange(agent, env);
  if (agent.own) return { command: [agent.command, ...agent.own.add(server)], file, content: null };
  const text = fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : '';
  return { command: null, file, content: agent.edit?.add(text, server) ?? null };
}

/** The file of the agent's command. Throws `usage` where it is not installed. */
export function programOf({ name, command }: McpAgent, env: NodeJS.ProcessEnv): string {
  const program = findProgram(command, env.PATH);
  if (program !== null) return program;
  throw usageError(`the program of ${name} was not found on PATH: install ${name} first`);
}

async function run(
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const { code, stdout, stderr } = await runAndRead({
    command: program,
    args,
    env: withoutEmptyHomes(env),
  });
  if (code === 0) return;
  const output = plain((stderr.trim() || stdout.trim()).split('\n').slice(-3).join(' '));
  const shown = [path.basename(program), ...args.slice(0, 2)].join(' ');
  throw new AppError(
    'provider_unavailable',
    `the command ${shown} exited with code ${code}: ${output}`,
  );
}

/** Changes a file at once, with its rights, and where a link leads to. Throws `invalid`, naming the file. */
function changeFile(name: string, change: (text: string) => string): void {
  const exists = fs.existsSync(name);
  const file = exists ? fs.realpathSync(name) : name;
  const before = exists ? fs.readFileSync(file, 'utf8') : '';
  const after = naming(name, () => change(before));
  if (exists && after === before) return;
  makeDirectory(path.dirname(file), 0o777);
  const mode = exists ? fs.statSync(file).mode & 0o777 : 0o600;
  replaceFile(file, after, { mode, flush: true });
}
