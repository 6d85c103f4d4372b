import { runCli } from './cli/program.ts';
import { refuseDebugger } from './lib/self.ts';

refuseDebugger();
void runCli(process.argv.slice(2)).then((code) => {
  process.exitCode = code;
});
