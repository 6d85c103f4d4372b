// Packs dist into one executable that needs no Node and no files beside it.
//
//   npm run package                                     out/cadre
//   npm run package -- --target linux-x64,linux-arm64   out/cadre and out/cadre-<target>
//
// The base is the pinned Node from npm, so that every download has its digest in package-lock.json.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const require = createRequire(import.meta.url);
const toolchain = readJson('toolchain/package.json');

// Neither the command line of pkg nor its exported function supports a code cache and assets, so this script
// calls an internal function of pkg. Another version may move or change it.
const PKG_VERSION = '6.23.0';
const HOST = `${process.platform}-${process.arch}`;
const TARGETS = ['linux-x64', 'linux-arm64'];

const { values: options } = parseArgs({
  options: {
    target: { type: 'string', default: HOST },
    out: { type: 'string', default: join(root, 'out') },
    dist: { type: 'string', default: join(root, 'dist') },
  },
});

try {
  await main(options.target.split(','), resolve(options.dist), resolve(options.out));
} catch (error) {
  console.error(`package: ${error.message}`);
  process.exitCode = 1;
}

async function main(targets, dist, out) {
  refuseOtherVersions();
  refuseUnknownTargets(targets);
  if (!fs.existsSync(join(dist, 'cadre.cjs'))) {
    throw new Error(`no ${join(dist, 'cadre.cjs')}; run \`npm run build\` first`);
  }
  fs.mkdirSync(join(root, '.cache'), { recursive: true });
  fs.mkdirSync(out, { recursive: true });
  const work = fs.mkdtempSync(join(root, '.cache', 'package-'));
  try {
    for (const target of targets) seedBase(target, work);
    moveHomeTo(work);
    for (const target of targets) await packTarget({ target, dist, out, work });
  } finally {
    fs.rmSync(work, { recursive: true, force: true });
  }
}

function refuseOtherVersions() {
  const { version } = require('@yao-pkg/pkg/package.json');
  if (version !== PKG_VERSION) {
    throw new Error(
      `this script calls an internal function of @yao-pkg/pkg ${PKG_VERSION}, found ${version}; ` +
        `read its lib-es5/sea.js, try the result, then change PKG_VERSION`,
    );
  }
  // The layout of the blob is specific to the exact version of Node: any other executable crashes on it.
  for (const target of TARGETS) {
    const node = nodeVersion(target);
    if (process.version !== `v${node}`) {
      throw new Error(
        `needs Node ${node}, this is ${process.version}; start it with \`npm run package\``,
      );
    }
  }
}

function refuseUnknownTargets(targets) {
  for (const target of targets) {
    if (!TARGETS.includes(target)) {
      throw new Error(`no target "${target}"; choose from ${TARGETS.join(', ')}`);
    }
  }
}

function nodeVersion(target) {
  return toolchain.optionalDependencies[`node-${target}`];
}

// pkg looks for its base in $HOME/.pkg-cache/sea before it downloads one. It only checks that the archive
// exists; the .ok files are its marks for "checked" and "unpacked".
function seedBase(target, home) {
  const cache = join(home, '.pkg-cache', 'sea');
  const name = `node-v${nodeVersion(target)}-${target}`;
  const executable = join(cache, name, 'bin', 'node');
  fs.mkdirSync(dirname(executable), { recursive: true });
  copyStripped(baseNode(target), executable, target);
  for (const mark of [
    join(cache, `${name}.tar.gz`),
    join(cache, `${name}.tar.gz.ok`),
    `${executable}.ok`,
  ]) {
    fs.writeFileSync(mark, '');
  }
}

// The symbols are a seventh of the size. They are removed before the injection, because strip does not
// know the injected section and would damage it.
function copyStripped(from, to, target) {
  const tools = target === HOST ? ['strip', 'llvm-strip'] : ['llvm-strip'];
  if (!tools.some((tool) => strip(tool, from, to))) {
    console.warn(
      `package: no ${tools.join(' or ')} for ${target}; its executable keeps the symbols`,
    );
    fs.copyFileSync(from, to);
  }
  fs.chmodSync(to, 0o755);
}

function strip(tool, from, to) {
  try {
    execFileSync(tool, ['-o', to, from], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

function baseNode(target) {
  const installed = join(root, 'node_modules', `node-${target}`, 'bin', 'node');
  return fs.existsSync(installed) ? installed : fetchedNode(target);
}

// npm installs only the package of its own platform; that of another target is fetched once and cached.
function fetchedNode(target) {
  const name = `node-${target}`;
  const version = nodeVersion(target);
  const kept = join(root, '.cache', 'node', `${name}-${version}`);
  if (!fs.existsSync(kept)) {
    const parent = dirname(kept);
    fs.mkdirSync(parent, { recursive: true });
    const fresh = fs.mkdtempSync(`${kept}.`);
    try {
      unpack(fetchArchive(name, version, fresh), fresh);
      fs.renameSync(fresh, kept);
    } finally {
      fs.rmSync(fresh, { recursive: true, force: true });
    }
  }
  return join(kept, 'bin', 'node');
}

function fetchArchive(name, version, directory) {
  const args = ['pack', '--silent', '--pack-destination', directory, `${name}@${version}`];
  execFileSync('npm', args, { stdio: ['ignore', 'ignore', 'inherit'] });
  const archive = join(directory, `${name}-${version}.tgz`);
  const expected = readJson('package-lock.json').packages[`node_modules/${name}`]?.integrity;
  const actual = `sha512-${createHash('sha512').update(fs.readFileSync(archive)).digest('base64')}`;
  if (actual !== expected) {
    throw new Error(`${name}@${version} is ${actual}, but package-lock.json says ${expected}`);
  }
  return archive;
}

function unpack(archive, directory) {
  execFileSync('tar', [
    '-xzf',
    archive,
    '-C',
    directory,
    '--strip-components=1',
    'package/bin/node',
  ]);
  fs.rmSync(archive);
}

// Makes pkg keep its cache and its temporary files in the work directory. This comes after npm has run,
// because npm needs the real home to find the user's settings.
function moveHomeTo(work) {
  process.env.HOME = work;
  process.env.TMPDIR = work;
}

async function packTarget({ target, dist, out, work }) {
  const [platform, arch] = target.split('-');
  const name = target === HOST ? 'cadre' : `cadre-${target}`;
  const fresh = join(work, name);
  await pkgSea()(join(dist, 'cadre.cjs'), {
    targets: [{ nodeRange: `node${nodeVersion(target)}`, platform, arch, output: fresh }],
    seaConfig: seaConfig(target, dist),
  });
  fs.chmodSync(fresh, 0o755);
  // A copy: of a file that was written in one piece, Linux counts up to 30 MB more as memory of each process that runs it.
  fs.copyFileSync(fresh, join(out, `${name}.new`));
  // An executable that is running cannot be written to, but a rename can replace it.
  fs.renameSync(join(out, `${name}.new`), join(out, name));
  report(target, join(out, name));
}

function pkgSea() {
  // The function reads the settings of pkg, which otherwise only its command line sets.
  require('@yao-pkg/pkg/lib-es5/options.js').default.set({});
  return require('@yao-pkg/pkg/lib-es5/sea.js').default;
}

function seaConfig(target, dist) {
  return {
    disableExperimentalSEAWarning: true,
    useSnapshot: false,
    useCodeCache: false,
    // Ignores NODE_OPTIONS, which is meant for the user's own Node programs. A V8 flag in it would also
    // invalidate the code cache, with a warning on every start.
    execArgvExtension: 'none',
    // On SIGUSR1 Node would open its debugger, without authentication, to every local user.
    execArgv: ['--disable-sigusr1'],
    assets: { ...assetsOf(join(dist, 'assets')), ...bundlesOf(dist, target) },
  };
}

function assetsOf(directory) {
  return Object.fromEntries(fs.readdirSync(directory).map((name) => [name, join(directory, name)]));
}

// The bundles, which src/bundles/load.ts runs, and what was compiled of them: that fits the platform that made it alone.
function bundlesOf(dist, target) {
  const names = fs
    .readdirSync(dist)
    .filter((name) => name.endsWith('.cjs') || (name.endsWith('.compiled') && target === HOST))
    .filter((name) => name !== 'cadre.cjs');
  return Object.fromEntries(names.map((name) => [name, join(dist, name)]));
}

function report(target, file) {
  const megabytes = (fs.statSync(file).size / 1e6).toFixed(1);
  console.log(`${relative(process.cwd(), file)} ${megabytes} MB for ${target}`);
}

function readJson(path) {
  return JSON.parse(fs.readFileSync(join(root, path), 'utf8'));
}
