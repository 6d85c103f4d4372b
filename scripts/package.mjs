// Packs dist into executables that need no Node and no files beside them.
//
//   npm run package                                     out/cadre
//   npm run package -- --target linux-x64,linux-arm64   out/cadre and out/cadre-<target>
//
// The base is a Node from npm, with a digest that is written down (base-node.mjs). Beside each executable there is
// <name>.licenses: the licences of what it contains, with Node's own. `cadre licenses` prints the same.
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { licensesIn, licensesText } from '../src/frontends/cli/licenses.ts';
import { LICENSES_FILE } from '../src/core/lib/self.ts';
import { baseNode, HOST, nodeVersion, targets as allTargets, writingNode } from './base-node.mjs';
import { checkSignature, signAdHoc } from './mach-o.ts';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const require = createRequire(import.meta.url);

// Neither the command line of pkg nor its exported function supports assets, so this script
// calls an internal function of pkg. Another version may move or change it.
const PKG_VERSION = '6.23.0';

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
    throw new Error(`${join(dist, 'cadre.cjs')} not found: run npm run build`);
  }
  fs.mkdirSync(join(root, '.cache'), { recursive: true });
  fs.mkdirSync(out, { recursive: true });
  const work = fs.mkdtempSync(join(root, '.cache', 'package-'));
  try {
    for (const target of targets) {
      seed(target, work, (to) => copyStripped(join(baseNode(target), 'bin', 'node'), to, target));
      if (target !== HOST)
        seed(HOST, work, (to) => link(writingNode(target), to), nodeVersion(target));
    }
    fs.copyFileSync(join(dist, 'cadre.cjs'), join(work, 'cadre.cjs'));
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
      `unsupported version of @yao-pkg/pkg: ${version}: this script calls an internal function of version ${PKG_VERSION}: ` +
        `check lib-es5/sea.js, test the result, then change PKG_VERSION`,
    );
  }
  // The other Node of Linux has the version of this one.
  if (process.version !== `v${nodeVersion(HOST)}`) {
    throw new Error(
      `wrong Node version ${process.version}: need ${nodeVersion(HOST)}: run npm run package`,
    );
  }
}

function refuseUnknownTargets(targets) {
  for (const target of targets) {
    if (!allTargets.includes(target)) {
      throw new Error(`unknown target "${target}": choose from ${allTargets.join(', ')}`);
    }
  }
}

// pkg looks for a Node in $HOME/.pkg-cache/sea before it downloads one: the base, and one of the same version that runs
// here and writes what is put into the base. It only checks that the archive exists; the .ok files are its marks for
// "checked" and "unpacked".
function seed(target, home, put, version = nodeVersion(target)) {
  const cache = join(home, '.pkg-cache', 'sea');
  const name = `node-v${version}-${target}`;
  const executable = join(cache, name, 'bin', 'node');
  if (fs.existsSync(executable)) return;
  fs.mkdirSync(dirname(executable), { recursive: true });
  put(executable);
  for (const mark of [
    join(cache, `${name}.tar.gz`),
    join(cache, `${name}.tar.gz.ok`),
    `${executable}.ok`,
  ]) {
    fs.writeFileSync(mark, '');
  }
}

function link(node, to) {
  fs.symlinkSync(join(node, 'bin', 'node'), to);
}

// The symbols are a seventh of the size. They are removed before the injection, because strip does not
// know the injected section and would damage it.
function copyStripped(from, to, target) {
  const tools = target === HOST ? ['strip', 'llvm-strip'] : ['llvm-strip'];
  if (isMacos(target)) {
    fs.copyFileSync(from, to); // Its signature is over the symbols as well.
  } else if (!tools.some((tool) => strip(tool, from, to))) {
    console.warn(
      `package: ${tools.join(' or ')} not found for ${target}: the executable keeps its symbols`,
    );
    fs.copyFileSync(from, to);
  }
  fs.chmodSync(to, 0o755);
}

function isMacos(target) {
  return target.startsWith('darwin-');
}

function strip(tool, from, to) {
  try {
    execFileSync(tool, ['-o', to, from], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

// Makes pkg keep its cache and its temporary files in the work directory. This comes after npm has run,
// because npm needs the real home to find the user's settings.
function moveHomeTo(work) {
  process.env.HOME = work;
  process.env.TMPDIR = work;
}

async function packTarget({ target, dist, out, work }) {
  const [system, arch] = target.split('-');
  const platform = system === 'darwin' ? 'macos' : system;
  const name = target === HOST ? 'cadre' : `cadre-${target}`;
  const fresh = join(work, name);
  const licenses = `${fresh}.licenses`;
  fs.writeFileSync(licenses, licensesWithNode(target, dist));
  await pkgSea()(join(dist, 'cadre.cjs'), {
    targets: [{ nodeRange: `node${nodeVersion(target)}`, platform, arch, output: fresh }],
    seaConfig: seaConfig(target, dist, licenses),
  });
  if (isMacos(target)) {
    signAdHoc(fresh, 'cadre');
    checkSignature(fresh);
  }
  fs.chmodSync(fresh, 0o755);
  // A copy: of a file that was written in one piece, Linux counts up to 30 MB more as memory of each process that runs it.
  fs.copyFileSync(fresh, join(out, `${name}.new`));
  // An executable that is running cannot be written to, but a rename can replace it.
  fs.renameSync(join(out, `${name}.new`), join(out, name));
  fs.copyFileSync(licenses, join(out, `${name}.licenses`));
  report(target, join(out, name));
}

function licensesWithNode(target, dist) {
  const bundled = licensesIn(fs.readFileSync(join(dist, LICENSES_FILE), 'utf8'));
  const text = fs.readFileSync(join(baseNode(target), 'LICENSE'), 'utf8');
  const node = { name: 'node', version: nodeVersion(target), license: 'MIT and others', text };
  return licensesText([...bundled, node]);
}

function pkgSea() {
  // The function reads the settings of pkg, which otherwise only its command line sets.
  require('@yao-pkg/pkg/lib-es5/options.js').default.set({});
  return require('@yao-pkg/pkg/lib-es5/sea.js').default;
}

function seaConfig(target, dist, licenses) {
  return {
    // Node writes this path into the executable, which shall not depend on where it was built. pkg works in a directory
    // below the one that is made here.
    main: '../cadre.cjs',
    disableExperimentalSEAWarning: true,
    useSnapshot: false,
    useCodeCache: false,
    // Ignores NODE_OPTIONS, which is meant for the user's own Node programs. A V8 flag in it would also
    // invalidate the code cache, with a warning on every start.
    execArgvExtension: 'none',
    // On SIGUSR1 Node would open its debugger, without authentication, to every local user.
    execArgv: ['--disable-sigusr1'],
    assets: {
      ...assetsOf(join(dist, 'assets')),
      ...bundlesOf(dist, target),
      [LICENSES_FILE]: licenses,
    },
  };
}

function assetsOf(directory) {
  const names = fs.readdirSync(directory).toSorted();
  return Object.fromEntries(names.map((name) => [name, join(directory, name)]));
}

// The bundles, which src/bundles/load.ts runs, and what was compiled of them: that fits the platform that made it alone.
function bundlesOf(dist, target) {
  const names = fs
    .readdirSync(dist)
    .filter((name) => name.endsWith('.cjs') || (name.endsWith('.compiled') && target === HOST))
    .filter((name) => name !== 'cadre.cjs')
    .toSorted();
  return Object.fromEntries(names.map((name) => [name, join(dist, name)]));
}

function report(target, file) {
  const megabytes = (fs.statSync(file).size / 1e6).toFixed(1);
  console.log(`${relative(process.cwd(), file)} ${megabytes} MB for ${target}`);
}
