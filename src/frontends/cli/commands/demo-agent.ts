import { command } from '../command.ts';

export const demoAgentCommand = command({
  name: 'demo-agent',
  hidden: true,
  description: 'Run the demo agent on stdin and stdout',
  action: () => async () => {
    const { runDemoAgent } = await import('../../../agents/demo/index.ts');
    await runDemoAgent({ stdin: process.stdin, stdout: process.stdout });
  },
});
