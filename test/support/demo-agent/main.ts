import { runDemoAgent } from '../../../src/demo-agent/index.ts';

await runDemoAgent({ stdin: process.stdin, stdout: process.stdout });
