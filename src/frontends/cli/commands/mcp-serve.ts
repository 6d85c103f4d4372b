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
    .description("the tools of sessions' agents, and of your own agents outside of cadre");
}

/** Adds `cadre mcp serve`. */
export function serveSubcommand(mcp: Command, world: World): void {
  mcp
    .command('serve')
    .description(
      'serve the tools of one session, or of an installed caller, over MCP, on stdin and stdout: what an agent starts',
    )
    .option('--caller <name>', 'the caller that cadre mcp install has installed')
    .addHelpText(
      'after',
      '\nCADRE_GATEWAY_URL, CADRE_GATEWAY_TOKEN and CADRE_SESSION_ID say of which server and session, without --caller.',
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
