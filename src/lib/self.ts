/**
 * What this program is and how to start it again.
 *
 * It runs in three forms: as one executable, as `dist/cadre.cjs` under Node, and from its TypeScript
 * source (tests, development). Which one, and where, is read from the module itself. `argv[1]` would be
 * a test runner's worker under test, and the working directory and PATH belong to the user.
 */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { getRawAsset, isSea } from 'node:sea';
import { fileURLToPath } from 'node:url';

// Put in by scripts/build.mjs, and so absent from source.
declare const __CADRE_VERSION__: string;
declare const __CADRE_COMMIT__: string;

const isBundled = typeof __CADRE_VERSION__ !== 'undefined';
const modulePath = fileURLToPath(import.meta.url);

/** The version in package.json. */
export const version: string = isBundled ? __CADRE_VERSION__ : packageVersion();

/** The short commit this was built from; `unknown` if built without git, `source` if not built. */
export const commit: string = isBundled ? __CADRE_COMMIT__ : 'source';

/** Whether this is the single executable, which carries its own Node and assets. */
export function isPackaged(): boolean {
  return isSea();
}

/**
 * The command that starts another cadre process of the same build; append cadre's own arguments.
 *
 * @throws Error when run from source with no bundle to start.
 */
export function selfCommand(): { file: string; args: string[] } {
  if (isPackaged()) return { file: process.execPath, args: [] };
  return { file: process.execPath, args: [...withoutDebugger(), bundlePath()] };
}

/**
 * On SIGUSR1 Node opens its debugger, on a port of the loopback that asks nobody for a name: whoever reaches it runs
 * code in this process. The executable, and whatever we start ourselves, is told not to by a flag, from its first
 * instruction on. In a process that the user's own Node runs, a handler that does nothing takes the signal from Node
 * (bin/cadre.js sets it before all else), and a debugger that a signal opened before that is closed. Starting Node
 * again for the sake of the flag would double the start of each command.
 */
export function refuseDebugger(): void {
  if (process.execArgv.includes(NO_DEBUGGER)) return;
  if (process.listenerCount('SIGUSR1') === 0) process.on('SIGUSR1', () => undefined);
  const isWanted = /--inspect/.test(`${process.execArgv.join(' ')} ${process.env.NODE_OPTIONS}`);
  if (isWanted) return;
  // A signal that came before is answered by Node in the first turn of the event loop, at the latest.
  setImmediate(() => {
    const inspector = process.getBuiltinModule('node:inspector');
    if (inspector.url() !== undefined) inspector.close();
  });
}

const NO_DEBUGGER = '--disable-sigusr1';

/** The flag, where this Node knows it. */
function withoutDebugger(): string[] {
  return process.allowedNodeEnvironmentFlags.has(NO_DEBUGGER) ? [NO_DEBUGGER] : [];
}

/**
 * The bytes of a file that is shipped with the program, such as `sql-wasm.wasm`. Not to be written to:
 * in the executable they are a view of its read-only image.
 *
 * @throws Error when there is no such asset.
 */
export function readAsset(name: string): Uint8Array {
  if (isPackaged()) return new Uint8Array(getRawAsset(name));
  return readFileSync(isBundled ? join(dirname(modulePath), 'assets', name) : sourceAsset(name));
}

// A child runs under our own Node in each case: what can run TypeScript can run the bundle.
function bundlePath(): string {
  if (isBundled) return modulePath;
  const bundle = fromSourceRoot('dist/cadre.cjs');
  if (!existsSync(bundle)) throw new Error(`no ${bundle}; run \`npm run build\` first`);
  return bundle;
}

// scripts/build.mjs copies the same files.
function sourceAsset(name: string): string {
  if (name === 'sql-wasm.wasm') return fromSourceRoot('node_modules/sql.js/dist/sql-wasm.wasm');
  if (name === 'openapi.yaml') return fromSourceRoot('src/api/openapi.yaml');
  throw new Error(`no asset "${name}"; add it here and to scripts/build.mjs`);
}

function packageVersion(): string {
  const manifest = JSON.parse(readFileSync(fromSourceRoot('package.json'), 'utf8')) as {
    version: string;
  };
  return manifest.version;
}

function fromSourceRoot(path: string): string {
  return join(dirname(modulePath), '../..', path);
}
