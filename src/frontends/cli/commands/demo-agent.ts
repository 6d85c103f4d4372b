import type { Command } from 'commander';

/** `cadre demo-agent`: the agent that `serve --demo` starts for each session. */
export function demoAgentCommand(program: Command): void {
  program
    .command('demo-agent', { hidden: true })
    .description('Run the demo agent on stdin and stdout')
    .action(async () => {
      const { runDemoAgent } = await import('../../../agents/demo/index.ts');
      await runDemoAgent({ stdin: process.stdin, stdout: process.stdout });
    });
}
