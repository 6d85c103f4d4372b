import { runCli } from '../frontends/cli/program.ts';

// With `serve --demo`, each session starts one of these and waits for it.
void runCli({
  named: {
    'demo-agent': async () =>
      (await import('../frontends/cli/commands/demo-agent.ts')).demoAgentCommand,
  },
});
