import { runCli } from '../frontends/cli/program.ts';

// Each session's agent starts one of these and waits for it.
void runCli({
  named: {
    mcp: async () => (await import('../frontends/cli/commands/mcp-serve.ts')).sidecarCommands,
  },
});
