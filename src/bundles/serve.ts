import { runCli } from '../frontends/cli/program.ts';

void runCli({
  named: {
    serve: async () => (await import('../frontends/cli/commands/serve.ts')).serveCommand,
  },
});
