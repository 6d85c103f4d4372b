// Makes what is released, in out/dist: an archive for each target with what `make install` installs, a bill of materials
// (CycloneDX) of what is in it, and SHA256SUMS. Two runs on one commit make the same bytes.
//
//   node scripts/dist.mjs [--target linux-x64,linux-arm64,...] [--out DIRECTORY]
//
// It needs dist with the man pages (`make build man`).
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { licensesIn } from '../src/frontends/cli/licenses.ts';
import { HOST, targets as allTargets } from './base-node.mjs';
import { billOf } from './bill-of-materials.ts';
import { layout } from './layout.mjs';
import { archive } from './tar.ts';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { version } = JSON.parse(fs.readFileSync(join(root, 'package.json'), 'utf8'));

const { values: options } = parseArgs({
  options: {
    target: { type: 'string', default: allTargets.join(',') },
    out: { type: 'string', default: join(root, 'out', 'dist') },
  },
});

try {
  main(options.target.split(','), resolve(options.out));
} catch (error) {
  console.error(`dist: ${error.message}`);
  process.exitCode = 1;
}

function main(targets, out) {
  const packed = join(root, 'out');
  execFileSync(
    process.execPath,
    [join(root, 'scripts/package.mjs'), '--target', targets.join(','), '--out', packed],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  );
  fs.rmSync(out, { recursive: true, force: true });
  fs.mkdirSync(out, { recursive: true });
  const seconds = timeOfCommit();
  for (const target of targets) {
    const executable = join(packed, target === HOST ? 'cadre' : `cadre-${target}`);
    const name = `cadre-${version}-${target}`;
    const licenses = licensesIn(fs.readFileSync(`${executable}.licenses`, 'utf8'));
    write(out, `${name}.cdx.json`, billOf(root, name, licenses));
    write(out, `${name}.tar.gz`, archive(name, layout(root, executable), seconds));
  }
  write(out, 'SHA256SUMS', sums(out));
}

function write(out, name, bytes) {
  const file = join(out, name);
  fs.writeFileSync(file, bytes);
  const megabytes = (Buffer.byteLength(bytes) / 1e6).toFixed(2);
  console.log(`${relative(process.cwd(), file)} ${megabytes} MB`);
}

/** As `sha256sum -c` reads it. */
function sums(out) {
  const names = fs.readdirSync(out).toSorted();
  return names.map((name) => `${digestOf(join(out, name))}  ${basename(name)}\n`).join('');
}

function digestOf(file) {
  return createHash('sha256').update(fs.readFileSync(file)).digest('hex');
}

/** In Unix seconds; what is not in git has the beginning of time. */
function timeOfCommit() {
  try {
    const line = ['-C', root, 'log', '-1', '--format=%ct'];
    return Number(execFileSync('git', line, { encoding: 'utf8', stdio: 'pipe' }));
  } catch {
    return 0;
  }
}
