import type { Command } from 'commander';
import { endpoints } from '../../../api/index.ts';
import type { Client } from '../../../client/client.ts';
import { AppError, isAppError, notFoundError, usageError } from '../../../api/errors.ts';
import { shellWord } from '../../../core/lib/shell-word.ts';
import { type GlobalOptions, serverDirectory } from '../context.ts';
import { clientCommand, command, localCommand, type Register } from '../command.ts';
import { sessionId } from '../find.ts';
import { details, ago, shortId, table } from '../output.ts';
import { listOptions } from '../output-options.ts';
import {
  clientAction,
  type CommandContext,
  localAction,
  type LocalContext,
  type CommandIo,
} from '../command-io.ts';
import type { Token } from '../../../api/tokens.ts';
import { tokens } from '../record-kinds.ts';

const agentNames = ['claude', 'codex', 'opencode', 'gemini'];
const modes = ['read_only', 'default', 'full_access'] as const;

const agentArgument = {
  line: '<agent>  Agent program to configure, which you start outside of cadre',
  choices: agentNames,
};

export const installCommands: readonly Register[] = [
  command({
    name: 'install',
    description:
      "Install cadre's tools in an agent that you start outside of cadre (run the command again to replace its token)",
    parameters: [
      agentArgument,
      "--session <session>  Session for which the agent calls cadre's process and team tools (without a session: only process tools)",
      {
        line: '--permission-mode <mode>  Permissions of the agent if --session is not set; full_access lets it run commands (default: cadre asks on a terminal)',
        choices: modes,
        conflicts: 'session',
      },
      '--print  Print the change to the configuration file of the agent, but do not write the file',
    ],
    action: (io) => (name: string, options: InstallOptions, self: Command) =>
      (options.print ? localAction(io, printPlan) : clientAction(io, install))(name, options, self),
  }),
  clientCommand({
    name: 'uninstall',
    description:
      "Remove cadre's tools from an agent that runs outside of cadre, and revoke the token of the agent",
    parameters: [agentArgument],
    async run({ io, client, global, show, layout }, name: string) {
      const { readCaller, removeCaller } = await import('../../../core/config/caller-file.ts');
      const { removeEntry } = await import('../mcp/agents.ts');
      const directory = await serverDirectory(global, io.env);
      const caller = readCaller(directory, name);
      // The token first: an agent whose configuration cannot be changed has no use of the entry then.
      if (caller) await revoke(client, caller.token_id);
      removeCaller(directory, name);
      const removed = await removeEntry(await agentOf(name), io.env);
      if (!caller && !removed)
        throw notFoundError(`agent ${name} does not have the tools of cadre: see cadre mcp list`);
      const done = {
        agent: name,
        entry_removed: removed,
        revoked_token_id: caller?.token_id ?? null,
      };
      show(done, () => details(done, { layout }));
    },
  }),
  localCommand({
    name: 'list',
    description:
      "List agents outside of cadre in which cadre's tools are installed, with the token of each agent",
    parameters: listOptions,
    // Without a server it is not known when the tokens were last used.
    async run({ io, global, show, note, layout }) {
      const { readCaller } = await import('../../../core/config/caller-file.ts');
      const { fileWithEntry, mcpAgents } = await import('../mcp/agents.ts');
      const directory = await serverDirectory(global, io.env);
      const known = await knownTokens(io, global);
      const found = mcpAgents.flatMap((agent) => {
        const caller = readCaller(directory, agent.name);
        const file = fileWithEntry(agent, io.env);
        if (!caller && file === null) return [];
        const token = known?.find(({ id }) => id === caller?.token_id);
        return {
          agent: agent.name,
          file,
          token_id: caller?.token_id ?? null,
          token_valid: known && token !== undefined,
          permission_mode: token?.permission_mode ?? null,
          session_id: caller?.session_id ?? null,
          last_used_at: token?.last_used_at ?? null,
        };
      });
      const rows = found.map((one) => [
        one.agent,
        one.file ?? 'no entry: install it again',
        one.token_id === null ? 'none: install it again' : shortId(one.token_id),
        one.token_valid === false && one.token_id !== null
          ? 'revoked'
          : (one.permission_mode ?? '-'),
        one.session_id === null ? '-' : shortId(one.session_id),
        one.last_used_at === null ? '-' : ago(one.last_used_at, io.clock.now()),
      ]);
      show(
        found,
        () =>
          table(['AGENT', 'CONFIGURED IN', 'TOKEN', 'MODE', 'SESSION', 'LAST USED'], rows, layout),
        () => found.map(({ agent }) => agent),
      );
      if (found.length === 0) note('no agent has the tools: see cadre mcp install --help');
    },
  }),
];

interface InstallOptions {
  session?: string;
  permissionMode?: (typeof modes)[number];
  print?: boolean;
}

async function install(
  { io, client, global, show, note, layout }: CommandContext,
  name: string,
  { session, permissionMode }: InstallOptions,
): Promise<void> {
  const { readCaller, removeCaller, writeCaller } =
    await import('../../../core/config/caller-file.ts');
  const { addEntry, fileWithEntry, programOf } = await import('../mcp/agents.ts');
  const agent = await agentOf(name);
  // Before the person is asked anything, and before there is a token.
  programOf(agent, io.env);
  const directory = await serverDirectory(global, io.env);
  const session_id = session === undefined ? null : await sessionId(client, session);
  const permission_mode =
    session_id === null ? (permissionMode ?? (await askedMode(io, name))) : null;
  const start = await serverStart(name, directory, io.env);
  const own = await (session_id === null ? client.first() : client.clientOf(session_id));
  const url = await addressFor(own, directory);
  const before = readCaller(directory, name);
  const { id, secret } = await own.call(endpoints.createToken, {
    body: { name: `${name} on this machine`, scope: 'tools', permission_mode },
  });
  try {
    writeCaller(directory, { name, token_id: id, token: secret, session_id, url });
    await addEntry(agent, start, io.env);
  } catch (error) {
    if (before) writeCaller(directory, before);
    else removeCaller(directory, name);
    await revoke(own, id);
    throw error;
  }
  if (before) await revoke(client, before.token_id);
  const file = fileWithEntry(agent, io.env);
  const made = { agent: name, token_id: id, session_id, permission_mode, file };
  show(made, () => details(made, { layout }));
  if (session_id === null && permission_mode !== 'full_access')
    note(
      `${name} cannot run commands with cadre: pass --permission-mode full_access, or allow all agents with [gateway] free = ["cadre_process_run"]`,
    );
}

/** Prints what `install` would do; it needs no server. */
async function printPlan({ io, global, show }: LocalContext, name: string): Promise<void> {
  const { plannedChange } = await import('../mcp/agents.ts');
  const directory = await serverDirectory(global, io.env);
  const start = await serverStart(name, directory, io.env);
  const change = plannedChange(await agentOf(name), start, io.env);
  const text = () =>
    change.command
      ? `${change.command.map(shellWord).join(' ')}\n`
      : `# ${change.file}\n${change.content}`;
  show({ agent: name, ...change }, text);
}

async function agentOf(name: string) {
  const { mcpAgents } = await import('../mcp/agents.ts');
  const agent = mcpAgents.find((one) => one.name === name);
  if (agent) return agent;
  throw usageError(`agent "${name}" not found: expected ${agentNames.join(', ')}`);
}

/** Without XDG variables, which agents may keep from their MCP servers, the default directory could be another one. */
async function serverStart(name: string, directory: string, env: NodeJS.ProcessEnv) {
  const { lastingCommand } = await import('../lasting-command.ts');
  const [command, ...args] = lastingCommand(env);
  return { command, args: [...args, '--data-dir', directory, 'mcp', 'serve', '--caller', name] };
}

/**
 * The address to keep: none for the server of this data directory, which may get another address. Throws `usage` for the
 * nodes of a fleet, which agents cannot reach.
 */
async function addressFor({ url }: Client, directory: string): Promise<string | null> {
  if (!URL.canParse(url))
    throw usageError(`cannot install the tools for ${url}: choose one server with --url`);
  const { findRegistration } = await import('../../../core/config/registration.ts');
  const registered = findRegistration(directory)?.server.url;
  return registered !== undefined && new URL(registered).origin === new URL(url).origin
    ? null
    : url;
}

/** Asks on a terminal whether the agent may run commands; null where nobody can be asked. */
async function askedMode(io: CommandIo, name: string): Promise<(typeof modes)[number] | null> {
  const { choose } = await import('../choose.ts');
  const question = `may ${name} run commands with cadre? cadre does not request approval for each command.`;
  const answers = [
    { mode: 'default', text: 'no: the agent can only view and stop its own processes' },
    {
      mode: 'full_access',
      text: 'yes: commands run with your permissions, outside of the sandbox of the agent',
    },
  ] as const;
  return (await choose(io, question, answers, ({ text }) => text))?.mode ?? null;
}

/** A token that is gone already is as good as revoked. */
async function revoke(client: Client, token_id: string): Promise<void> {
  try {
    await client.call(endpoints.deleteToken, { params: { token_id } });
  } catch (error) {
    if (!isAppError(error, 'not_found')) throw error;
  }
}

/** The tokens of the server; null where no server answers, or this user may not see them. */
async function knownTokens(io: CommandIo, global: GlobalOptions): Promise<Token[] | null> {
  let client: Client | undefined;
  try {
    client = await io.connect(global);
    return await Array.fromAsync(tokens.all(client));
  } catch (error) {
    if (error instanceof AppError) return null;
    throw error;
  } finally {
    client?.close();
  }
}
