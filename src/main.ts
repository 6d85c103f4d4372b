import { runCli } from './cli/program.ts';

void runCli(process.argv.slice(2)).then((code) => {
  process.exitCode = code;
});
