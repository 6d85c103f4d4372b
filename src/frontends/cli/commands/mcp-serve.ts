import type { Command } from 'commander';
import { type GlobalOptions, serverDirectory } from '../context.ts';
import type { World } from '../world.ts';

/** `cadre mcp` with `serve` alone: what an agent starts and waits for. */
export function sidecarCommands(program: Command, world: World): void {
  serveSubcommand(mcpGroup(program), world);
}

/** Adds `cadre mcp`, without commands. */
export function mcpGroup(program: Command): Command {
  return program
    .command('mcp')
    .description("Give cadre's tools to agents (Model Context Protocol)");
}

/** Adds `cadre mcp serve`. */
export function serveSubcommand(mcp: Command, world: World): void {
  mcp
    .command('serve')
    .description(
      "Run an MCP server with cadre's tools on stdin and stdout (agents start this command)",
    )
    .option('--caller <name>', 'Name of an agent that was set up with cadre mcp install')
    .addHelpText(
      'after',
      '\nWithout --caller, the environment variables CADRE_GATEWAY_URL, CADRE_GATEWAY_TOKEN and\nCADRE_SESSION_ID set the server and the session.',
    )
    .action(async ({ caller }: { caller?: string }, command: Command) => {
      const { runSidecar, accessOfSession } = await import('../../sidecar/sidecar.ts');
      const access =
        caller === undefined
          ? () => accessOfSession(world.env)
          : await callerAccess(caller, command.optsWithGlobals<GlobalOptions>(), world);
      await runSidecar({ access, stdin: process.stdin, stdout: process.stdout });
    });
}

async function callerAccess(caller: string, global: GlobalOptions, { env }: World) {
  const { accessOfCaller } = await import('../mcp/caller-access.ts');
  const directory = global.dataDir ?? (await serverDirectory(global, env));
  return () => accessOfCaller(directory, caller);
}
