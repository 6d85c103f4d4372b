import { bundleFor } from './bundles/choose.ts';
import { startBundle } from './bundles/load.ts';
import { refuseDebugger, version } from './core/lib/self.ts';

refuseDebugger();
main(process.argv.slice(2));

function main(argv: readonly string[]): void {
  const [only, ...more] = argv;
  const asksVersion = (only === '--version' || only === '-V') && more.length === 0;
  if (asksVersion) process.stdout.write(`${version}\n`);
  else startBundle(bundleFor(argv, hasTerminal));
}

function hasTerminal(): boolean {
  // Loaded here: all of Node's network code comes with it.
  const { isatty } = process.getBuiltinModule('node:tty');
  return isatty(0) && isatty(1);
}
