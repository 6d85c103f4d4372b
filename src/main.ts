import { bundleFor } from './bundles/choose.ts';
import { connectInside, listenInside } from './bundles/listen-inside.ts';
import { startBundle } from './bundles/load.ts';
import { homeDirectory } from './core/lib/home-directory.ts';
import { CONNECT_INSIDE, LISTEN_INSIDE, refuseDebugger, SHIM, version } from './core/lib/self.ts';

refuseDebugger();
// The rest of the program and all child processes then use the same home directory.
process.env.HOME = homeDirectory(process.env);
main(process.argv.slice(2));

function main(argv: readonly string[]): void {
  const [only, ...more] = argv;
  const asksVersion = (only === '--version' || only === '-V') && more.length === 0;
  if (asksVersion) process.stdout.write(`${version}\n`);
  else if (only === LISTEN_INSIDE) void listenInside(more.map(Number)).catch(fail);
  else if (only === CONNECT_INSIDE) connectInside();
  else if (only === SHIM) startBundle('shim');
  else startBundle(bundleFor(argv, hasTerminal));
}

function fail(error: Error): void {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
}

function hasTerminal(): boolean {
  // Loaded here: all of Node's network code comes with it.
  const { isatty } = process.getBuiltinModule('node:tty');
  return isatty(0) && isatty(1);
}
