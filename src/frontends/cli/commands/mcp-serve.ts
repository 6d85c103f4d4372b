import { AppError } from '../../../api/errors.ts';
import { commandGroup, localCommand, type Register } from '../command.ts';
import type { ToolAccess } from '../../sidecar/sidecar.ts';
import { type GlobalOptions, serverDirectory } from '../context.ts';
import type { CommandIo } from '../command-io.ts';

export const serveCommand = localCommand({
  name: 'serve',
  description:
    "Run an MCP server with cadre's tools on stdin and stdout (agents start this command)",
  parameters: ['--caller <name>  Name of an agent that was set up with cadre mcp install'],
  help: '\nWithout --caller, the environment variables CADRE_GATEWAY_URL, CADRE_GATEWAY_TOKEN and\nCADRE_SESSION_ID set the server and the session.',
  async run({ io, global }, { caller }: { caller?: string }) {
    const { runSidecar, accessOfSession } = await import('../../sidecar/sidecar.ts');
    const access =
      caller === undefined ? () => accessOfSession(io.env) : await callerAccess(caller, global, io);
    await runSidecar({ access, stdin: process.stdin, stdout: process.stdout });
  },
});

/** `cadre mcp` with `serve` alone: what an agent starts and waits for. */
export const sidecarCommands = mcpGroup([serveCommand]);

/** `cadre mcp` with these commands. */
export function mcpGroup(commands: readonly Register[]): Register {
  return commandGroup('mcp', "Give cadre's tools to agents (Model Context Protocol)", commands);
}

/**
 * The access of an installed agent, read again for each connection, because the token may be replaced and the server may
 * start on another address. Throws `unauthorized` if the agent is not installed any more.
 */
async function callerAccess(
  name: string,
  global: GlobalOptions,
  { env }: CommandIo,
): Promise<() => ToolAccess> {
  const { readCaller } = await import('../../../core/config/caller-file.ts');
  const { findRegistration } = await import('../../../core/config/registration.ts');
  const directory = global.dataDir ?? (await serverDirectory(global, env));
  return () => {
    const caller = readCaller(directory, name);
    if (!caller)
      throw new AppError(
        'unauthorized',
        `agent "${name}" is not set up in ${directory}: run cadre mcp install ${name}`,
      );
    const { token, token_id, session_id } = caller;
    const found = caller.url === null ? findRegistration(directory) : null;
    const url = caller.url ?? (found?.runs ? found.server.url : null);
    const isExternal = session_id === null;
    return { url, token, callerId: session_id ?? token_id, isExternal, reattachMs: 0 };
  };
}
