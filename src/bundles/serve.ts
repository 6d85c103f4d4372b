import { runCli } from '../cli/program.ts';

void runCli({
  named: {
    serve: async () => (await import('../cli/commands/serve.ts')).serveCommand,
  },
});
