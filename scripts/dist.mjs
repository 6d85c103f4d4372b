// Makes what is released, in out/dist: for each target an archive with what `make install` installs, and a bill of materials
// (CycloneDX) of what is in it; a .deb for each target of Linux; install.sh; SHA256SUMS. With the address at which the files
// will be, also a Homebrew formula and a Dockerfile. Two runs on one commit make the same bytes.
//
//   node scripts/dist.mjs [--target linux-x64,linux-arm64,...] [--archives URL] [--out DIRECTORY]
//
// It needs dist with the man pages (`make build man`).
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { licensesIn } from '../src/frontends/cli/licenses.ts';
import { HOST, targets as allTargets } from './base-node.mjs';
import { billOf } from './bill-of-materials.ts';
import { layout } from './layout.ts';
import { archivesAddress } from './packages/recipes.ts';
import { writePackages } from './packages/write.ts';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { version } = JSON.parse(fs.readFileSync(join(root, 'package.json'), 'utf8'));

const { values: options } = parseArgs({
  options: {
    target: { type: 'string', default: allTargets.join(',') },
    archives: { type: 'string', default: '' },
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
  // An address that is refused is refused before a minute of work.
  const archives = options.archives && archivesAddress(options.archives);
  const packed = join(root, 'out');
  execFileSync(
    process.execPath,
    [join(root, 'scripts/package.mjs'), '--target', targets.join(','), '--out', packed],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  );
  fs.rmSync(out, { recursive: true, force: true });
  fs.mkdirSync(out, { recursive: true });
  const builds = targets.map((target) => {
    const executable = join(packed, target === HOST ? 'cadre' : `cadre-${target}`);
    const licenses = licensesIn(fs.readFileSync(`${executable}.licenses`, 'utf8'));
    const name = `cadre-${version}-${target}`;
    fs.writeFileSync(join(out, `${name}.cdx.json`), billOf(root, name, licenses));
    return { target, files: layout(root, executable) };
  });
  writePackages(out, { version, seconds: timeOfCommit(), builds, archives });
  for (const name of fs.readdirSync(out).toSorted()) {
    const megabytes = (fs.statSync(join(out, name)).size / 1e6).toFixed(2);
    console.log(`${relative(process.cwd(), join(out, name))} ${megabytes} MB`);
  }
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
