import { systemClock } from './lib/clock.ts';
import { refuseDebugger } from './lib/self.ts';

refuseDebugger();
void main(process.argv.slice(2)).then((code) => {
  process.exitCode = code;
});

async function main(argv: readonly string[]): Promise<number> {
  // A completion is waited for at each key: it loads none of the commands.
  if (argv[argv.indexOf('__complete') + 1] === '--' && argv.includes('__complete')) {
    const { complete } = await import('./cli/complete/complete.ts');
    await complete(argv, { env: process.env, stdout: process.stdout, clock: systemClock });
    return 0;
  }
  const { runCli } = await import('./cli/program.ts');
  return runCli(argv);
}
