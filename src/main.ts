import { runCli } from './cli/program.ts';
import { systemClock } from './lib/clock.ts';
import { refuseDebugger } from './lib/self.ts';

refuseDebugger();
void main(process.argv.slice(2)).then((code) => {
  process.exitCode = code;
});

async function main(argv: readonly string[]): Promise<number> {
  const at = argv.indexOf('__complete');
  if (at < 0 || argv[at + 1] !== '--') return runCli(argv);
  // A completion is waited for at each key: it loads none of the commands.
  const { complete } = await import('./cli/complete/complete.ts');
  await complete(argv, { env: process.env, stdout: process.stdout, clock: systemClock });
  return 0;
}
