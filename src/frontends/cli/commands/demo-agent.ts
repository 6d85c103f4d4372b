import { command } from '../command.ts';

/** `cadre demo-agent`: the agent that `serve --demo` starts for each session. */
export const demoAgentCommand = command({
  name: 'demo-agent',
  hidden: true,
  description: 'Run the demo agent on stdin and stdout',
  action: () => async () => {
    const { runDemoAgent } = await import('../../../agents/demo/index.ts');
    await runDemoAgent({ stdin: process.stdin, stdout: process.stdout });
  },
});
