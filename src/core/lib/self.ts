/**
 * Identifies this program and the command that starts it again. The program runs in three forms: as one executable, as
 * `dist/cadre.cjs` under Node, and from its TypeScript source (tests, development). The form and the path are derived
 * from this module. `argv[1]` is not usable, because a test runner sets it to its own worker; the working directory and
 * PATH belong to the user.
 */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { getRawAsset, isSea } from 'node:sea';
import { fileURLToPath } from 'node:url';

// scripts/build.mjs defines these two; they are undefined when the program runs from source.
declare const __CADRE_VERSION__: string;
declare const __CADRE_COMMIT__: string;

const isBundled = typeof __CADRE_VERSION__ !== 'undefined';
const modulePath = fileURLToPath(import.meta.url);

export const version: string = isBundled ? __CADRE_VERSION__ : packageVersion();

/** The short commit this was built from; `unknown` if built without git, `source` if not built. */
export const commit: string = isBundled ? __CADRE_COMMIT__ : 'source';

/** Whether this is the single executable, which carries its own Node and assets. */
export function isPackaged(): boolean {
  return isSea();
}

/** The file of this program: the executable, or a file of the bundle or source. */
export function programFile(): string {
  return isPackaged() ? process.execPath : modulePath;
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
 * Keeps SIGUSR1 from opening Node's debugger, which listens on a loopback port without authentication and lets every
 * local user run code in this process. The executable, and every process that we start, has a flag that disables the
 * debugger from the first instruction on. In a process that was started by the user's own Node, an empty handler takes
 * the signal (bin/cadre.js installs it before all else), and a debugger that an earlier signal opened is closed.
 * Restarting Node with the flag instead would double the start-up time of every command.
 */
export function refuseDebugger(): void {
  if (process.execArgv.includes(NO_DEBUGGER)) return;
  if (process.listenerCount('SIGUSR1') === 0) process.on('SIGUSR1', () => undefined);
  const isWanted = /--inspect/.test(`${process.execArgv.join(' ')} ${process.env.NODE_OPTIONS}`);
  if (isWanted) return;
  // Node handles a signal that came before in the first iteration of the event loop, at the latest.
  setImmediate(() => {
    const inspector = process.getBuiltinModule('node:inspector');
    if (inspector.url() !== undefined) inspector.close();
  });
}

/** The argument by which cadre starts itself in a new network namespace. */
export const LISTEN_INSIDE = '__listen-inside';

/** The argument by which cadre starts itself in a network namespace that has published ports. */
export const CONNECT_INSIDE = '__connect-inside';

/** The argument by which cadre starts itself as the shim, which holds the pipes of children. */
export const SHIM = '__shim';

/** The licences of what the program contains of others, for people as well: it is not among the other assets. */
export const LICENSES_FILE = 'THIRD-PARTY-LICENSES';

const NO_DEBUGGER = '--disable-sigusr1';

/** The flag that disables the debugger, if this Node knows it. */
function withoutDebugger(): string[] {
  return process.allowedNodeEnvironmentFlags.has(NO_DEBUGGER) ? [NO_DEBUGGER] : [];
}

/**
 * The bytes of a file that is shipped with the program, such as `sql-wasm.wasm`. The caller must not write to them: in
 * the executable they are a view of its read-only image.
 *
 * @throws Error when there is no such asset.
 */
export function readAsset(name: string): Uint8Array {
  if (isPackaged()) return new Uint8Array(getRawAsset(name));
  return readFileSync(isBundled ? join(dirname(modulePath), builtPathOf(name)) : sourceAsset(name));
}

/** The bytes of SQLite, which is needed once a process. */
export function sqlWasm(): Uint8Array {
  return readAsset('sql-wasm.wasm');
}

/** The bytes of an asset that the build makes; undefined where the program runs from source and was never built. */
export function readBuilt(name: string): Uint8Array | undefined {
  return isBundled || existsSync(sourceAsset(name)) ? readAsset(name) : undefined;
}

// A child runs under the Node of this process. One that runs the TypeScript source can run the bundle, too.
function bundlePath(): string {
  if (isBundled) return join(dirname(modulePath), 'cadre.cjs');
  const bundle = fromSourceRoot('dist/cadre.cjs');
  if (!existsSync(bundle))
    throw new Error(`the file ${bundle} does not exist: run \`npm run build\` first`);
  return bundle;
}

// scripts/build.mjs copies the same files into the bundle.
function sourceAsset(name: string): string {
  if (name === 'sql-wasm.wasm') return fromSourceRoot('node_modules/sql.js/dist/sql-wasm.wasm');
  if (name === 'jq.wasm') return fromSourceRoot('node_modules/jq-wasm/dist/build/jq.wasm');
  if (built.has(name)) return fromSourceRoot(join('dist', builtPathOf(name)));
  if (name === 'openapi.yaml') return fromSourceRoot('src/api/openapi.yaml');
  if (/^(_cadre|cadre\.(bash|fish))$/.test(name)) return fromSourceRoot(join('completions', name));
  throw new Error(
    `unknown asset "${name}" of the build: add the asset to src/core/lib/self.ts and scripts/build.mjs`,
  );
}

const built: ReadonlySet<string> = new Set(['commands.json', 'empty.cadre', LICENSES_FILE]);

function builtPathOf(name: string): string {
  return name === LICENSES_FILE ? name : join('assets', name);
}

function packageVersion(): string {
  const manifest = JSON.parse(readFileSync(fromSourceRoot('package.json'), 'utf8')) as {
    version: string;
  };
  return manifest.version;
}

function fromSourceRoot(path: string): string {
  return join(dirname(modulePath), '../../..', path);
}
