// Bundles src/main.ts into dist/cadre.cjs and each part of src/bundles into a file beside it, which that one loads, runs
// each for the code that V8 compiles, bundles each part of parts.mjs into a file that those load, and puts the files that
// are read at run time into dist/assets. dist/THIRD-PARTY-LICENSES has the licences of the packages in the bundles.
//
//   npm run build
//   npm run build -- --out DIR
//   npm run build -- --unless-built    does nothing where dist was built from these sources
//
// The library `cadre/client` goes to dist/library.
//
// Each output is one CommonJS file: such a file loads at once, and with what V8 compiled of it before.
// Each `await import()` in it stays lazy: a command's module is in the file, but evaluated only on use.
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';
import { licensesText } from '../src/frontends/cli/licenses.ts';
import { makeTemplate } from '../src/core/store/open.ts';
import { LICENSES_FILE } from '../src/core/lib/self.ts';
import { buildClientLibrary } from './client-library.mjs';
import { compileBundles, tagBundle } from './code-cache.mjs';
import { BUILDING, isBuilt, recordBuild, sourcesDigest } from './last-build.ts';
import { lazySchemas } from './lazy-schemas.mjs';
import { lazySegmenter } from './lazy-segmenter.mjs';
import { leanLibraries } from './lean-libraries.mjs';
import { noTopLevelAwait } from './no-top-level-await.mjs';
import { bundledFiles, licensesOf } from './licenses.ts';
import { loadsParts, partFile, partOptions, parts } from './parts.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

// Each asset, and the command that creates it; the build itself makes commands.json and empty.cadre. src/core/lib/self.ts names the same files for runs from source.
const assets = {
  'node_modules/sql.js/dist/sql-wasm.wasm': 'npm install',
  'node_modules/jq-wasm/dist/build/jq.wasm': 'npm install',
  'src/api/openapi.yaml': 'make openapi',
  'completions/cadre.bash': 'git checkout completions',
  'completions/_cadre': 'git checkout completions',
  'completions/cadre.fish': 'git checkout completions',
};

// The directories in dist.
const directories = ['assets', 'library'];

const bundles = ['complete', 'client', 'sidecar', 'shim', 'agent', 'serve', 'program'];

// The bundle of clients opens no screen: where there is a terminal, src/bundles/choose.ts takes the whole program.
const noScreen = {
  name: 'no-screen',
  setup(build) {
    build.onResolve({ filter: /\/tui\/open\.tsx$/ }, ({ path }) => ({
      path,
      namespace: 'no-screen',
    }));
    build.onLoad({ filter: /.*/, namespace: 'no-screen' }, () => ({
      contents: `export function openScreen() { throw new Error('this bundle has no screen'); }`,
    }));
  },
};

const commit = currentCommit();

// The plugins that shorten a start.
const lean = [noTopLevelAwait, lazySegmenter, leanLibraries, lazySchemas];

const { values: options } = parseArgs({
  options: { out: { type: 'string' }, 'unless-built': { type: 'boolean' } },
});

try {
  await main(resolve(options.out ?? join(root, 'dist')), options['unless-built'] === true);
} catch (error) {
  // esbuild has already printed the errors that it found in the sources.
  if (error.errors === undefined) console.error(`build: ${error.message}`);
  process.exitCode = 1;
}

async function main(out, unlessBuilt) {
  const started = performance.now();
  refuseMissingAssets();
  const digest = sourcesDigest(root, commit);
  const hasTypes = fs.existsSync(join(root, 'generated/interface.ts'));
  if (unlessBuilt && hasTypes && isBuilt(root, out, digest)) return;
  await import('./openapi/write-types.mjs');
  // The temporary directory is inside the output directory, so that a rename never crosses a file system.
  fs.mkdirSync(out, { recursive: true });
  const fresh = fs.mkdtempSync(join(out, BUILDING));
  try {
    const { shared, files } = await bundleParts(fresh);
    fs.mkdirSync(join(fresh, 'library'));
    const outputs = bundles.map((name) => {
      const plugins = [...lean, loadsParts(shared), ...(name === 'client' ? [noScreen] : [])];
      return bundle(`src/bundles/${name}.ts`, join(fresh, `${name}.cjs`), { plugins });
    });
    outputs.push(
      bundle('src/main.ts', join(fresh, 'cadre.cjs')),
      buildClientLibrary(join(fresh, 'library'), packageVersion()),
    );
    // None may still write when a failed build is removed.
    await Promise.allSettled(outputs);
    files.push(...(await Promise.all(outputs)).flat());
    for (const name of bundles) tagBundle(join(fresh, `${name}.cjs`));
    const texts = [...['cadre', ...bundles].map((name) => `${name}.cjs`), ...parts.map(partFile)];
    for (const name of texts) refuseWideText(join(fresh, name));
    copyAssets(join(fresh, 'assets'));
    writeLicenses(join(fresh, LICENSES_FILE), [...files, ...Object.keys(assets)]);
    writeCommands(fresh);
    await writeTemplate(fresh);
    await compileBundles(fresh);
    publish(fresh, out);
  } finally {
    fs.rmSync(fresh, { recursive: true, force: true });
  }
  recordBuild(root, out, digest);
  report(out, performance.now() - started);
}

function refuseMissingAssets() {
  for (const [path, remedy] of Object.entries(assets)) {
    if (!fs.existsSync(join(root, path))) throw new Error(`${path} not found: run ${remedy}`);
  }
}

// Bundles each part, and returns the modules that it takes from the bundle that loads it. They are sorted, because
// esbuild resolves them in any order, and two builds have to be the same.
async function bundleParts(fresh) {
  const shared = {};
  const files = [];
  for (const part of parts) {
    const modules = new Set();
    const options = partOptions(part, modules);
    files.push(...(await bundle(`src/${part}/index.ts`, join(fresh, partFile(part)), options)));
    shared[part] = [...modules].toSorted((a, b) => (a < b ? -1 : 1));
  }
  return { shared, files };
}

// Returns the files that are in the bundle.
async function bundle(entry, outfile, more = {}) {
  const { metafile } = await build({
    metafile: true,
    absWorkingDir: root,
    entryPoints: [entry],
    outfile,
    bundle: true,
    platform: 'node',
    target: 'node22.12',
    format: 'cjs',
    minifyWhitespace: true,
    minifySyntax: true,
    // Identifiers keep their names, so that stack traces are readable. Lines stay short, because Node
    // prints the whole source line above an uncaught error.
    minifyIdentifiers: false,
    lineLimit: 160,
    legalComments: 'none',
    // Its CommonJS form calls `require` where esbuild cannot see which files it loads.
    alias: { 'jsonc-parser': 'jsonc-parser/lib/esm/main.js' },
    logLevel: 'warning',
    // A CommonJS file has no import.meta. The banner and `define` below supply its `url`; any other
    // property would silently be undefined in the bundle, though it works from source.
    logOverride: { 'empty-import-meta': 'error' },
    banner: { js: "const __moduleUrl=require('node:url').pathToFileURL(__filename).href;" },
    define: {
      'import.meta.url': '__moduleUrl',
      'process.env.NODE_ENV': '"production"',
      'process.env.DEV': '"false"', // otherwise ink would load the developer tools that are removed below
      __CADRE_VERSION__: JSON.stringify(packageVersion()),
      __CADRE_COMMIT__: JSON.stringify(commit),
    },
    ...more,
  });
  return bundledFiles(metafile);
}

// With a single character beyond Latin-1, V8 keeps the whole text in two bytes a character: 4 MB more memory, and a
// slower start. esbuild escapes such characters, but not in regular expressions.
function refuseWideText(file) {
  const wide = /[^\x00-\x7f]/.exec(fs.readFileSync(file, 'utf8'));
  if (!wide) return;
  const around = wide.input.slice(Math.max(0, wide.index - 60), wide.index + 20);
  throw new Error(`non-ASCII character in the bundle: write it as a \\u escape: ${around}`);
}

function packageVersion() {
  return JSON.parse(fs.readFileSync(join(root, 'package.json'), 'utf8')).version;
}

function currentCommit() {
  // Without the ceiling, sources unpacked inside another repository would report the commit of that one.
  const env = { ...process.env, GIT_CEILING_DIRECTORIES: dirname(root) };
  try {
    const run = { cwd: root, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] };
    return execFileSync('git', ['rev-parse', '--short=10', 'HEAD'], run).trim();
  } catch {
    return 'unknown';
  }
}

function copyAssets(to) {
  fs.mkdirSync(to);
  for (const path of Object.keys(assets)) {
    fs.copyFileSync(join(root, path), join(to, basename(path)));
  }
}

function writeLicenses(to, files) {
  fs.writeFileSync(to, licensesText(licensesOf(files, root)));
}

// The commands for shell completion: the program describes itself.
function writeCommands(fresh) {
  const run = { encoding: 'utf8', maxBuffer: 1e7 };
  const text = execFileSync(process.execPath, [join(fresh, 'cadre.cjs'), '__commands'], run);
  fs.writeFileSync(join(fresh, 'assets', 'commands.json'), text);
}

// The database with which a new data directory begins.
async function writeTemplate(fresh) {
  const wasm = () => fs.readFileSync(join(fresh, 'assets/sql-wasm.wasm'));
  fs.writeFileSync(join(fresh, 'assets/empty.cadre'), await makeTemplate(wasm));
}

// A rename is atomic, so a running bundle never reads half a file. The file that loads the others is renamed last, so that
// it always finds those that it was built with.
function publish(fresh, out) {
  const names = fs.readdirSync(fresh).filter((name) => !directories.includes(name));
  const inside = directories.flatMap((name) =>
    fs.readdirSync(join(fresh, name)).map((file) => join(name, file)),
  );
  for (const name of directories) fs.mkdirSync(join(out, name), { recursive: true });
  for (const name of [...inside, ...names.filter((name) => name !== 'cadre.cjs'), 'cadre.cjs'])
    fs.renameSync(join(fresh, name), join(out, name));
  removeOthers(out, [...names, ...directories]);
  for (const name of directories)
    removeOthers(
      join(out, name),
      inside.filter((file) => dirname(file) === name).map((file) => basename(file)),
    );
}

// The executable contains everything in dist, so obsolete files are removed.
function removeOthers(directory, names) {
  for (const name of fs.readdirSync(directory)) {
    const isOther = !names.includes(name) && !name.startsWith(BUILDING);
    if (isOther) fs.rmSync(join(directory, name), { recursive: true, force: true });
  }
}

function report(out, milliseconds) {
  const sizes = bundles.map((name) => {
    const { size } = fs.statSync(join(out, `${name}.cjs`));
    return `${name} ${Math.round(size / 1024)} KiB`;
  });
  console.log(
    `${relative(process.cwd(), out)}: ${sizes.join(', ')}; ${Math.round(milliseconds)} ms`,
  );
}
