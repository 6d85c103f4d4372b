import { complete } from '../frontends/cli/complete/complete.ts';
import { systemClock } from '../core/lib/clock.ts';

// Shells ask for completions at each key: this loads none of the commands.
void complete(process.argv.slice(2), {
  env: process.env,
  stdout: process.stdout,
  clock: systemClock,
  cwd: () => process.cwd(),
});
