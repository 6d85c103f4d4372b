import { systemClock } from '../../lib/clock.ts';
import { complete } from './complete.ts';

// A bundle of its own: the one with all commands takes longer to load than the rest of a completion.
void complete(process.argv.slice(2), {
  env: process.env,
  stdout: process.stdout,
  clock: systemClock,
});
