// Runs the smoke test with the package of npm under other Nodes than the pinned one, which npm has as packages: the oldest
// that the package takes, newer ones, and old ones, under which it has to say what to do.
//
//   make test-nodes [NODES="22.12.0 20.20.2"]
import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

const root = path.join(import.meta.dirname, '../..');
const versions = (process.env.NODES ?? '22.12.0 22.23.3 26.10.0 20.20.2 14.21.3').split(' ');

const place = fs.mkdtempSync(path.join(os.tmpdir(), 'cadre-nodes-'));
try {
  const cadre = installed();
  for (const version of versions) {
    const node = nodeOf(version);
    const [major = 0, minor = 0] = version.split('.').map(Number);
    if (major > 22 || (major === 22 && minor >= 12)) smoke(version, node, cadre);
    else refuses(version, node, cadre);
  }
} finally {
  fs.rmSync(place, { recursive: true });
}

/** Installs the package as `npm i -g` does, and returns its command. */
function installed(): string {
  const [packed, prefix] = [path.join(place, 'packed'), path.join(place, 'prefix')];
  fs.mkdirSync(packed);
  npm('pack', '--ignore-scripts', '--pack-destination', packed, root);
  const [file = ''] = fs.readdirSync(packed);
  const began = performance.now();
  npm('install', '--global', '--offline', '--prefix', prefix, path.join(packed, file));
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  const megabytes = (fs.statSync(path.join(packed, file)).size / 1e6).toFixed(1);
  console.log(`${file}: ${megabytes} MB, installed in ${seconds} s`);
  return path.join(prefix, 'lib/node_modules/cadre/bin/cadre.js');
}

function nodeOf(version: string): string {
  const name = `node-${process.platform}-${process.arch}`;
  const kept = path.join(root, '.cache/nodes', `${name}-${version}`);
  if (!fs.existsSync(kept)) {
    const draft = path.join(place, version);
    fs.mkdirSync(draft);
    npm('pack', '--pack-destination', draft, `${name}@${version}`);
    execFileSync('tar', ['-xzf', path.join(draft, `${name}-${version}.tgz`), '-C', draft]);
    fs.mkdirSync(path.dirname(kept), { recursive: true });
    fs.cpSync(path.join(draft, 'package'), kept, { recursive: true });
  }
  return path.join(kept, 'bin/node');
}

function npm(...args: string[]): void {
  execFileSync('npm', [...args, '--loglevel=error'], { cwd: place, stdio: 'ignore' });
}

function smoke(version: string, node: string, cadre: string): void {
  const file = path.join(place, `cadre-${version}`);
  fs.writeFileSync(file, `#!/bin/sh\nexec '${node}' '${cadre}' "$@"\n`, { mode: 0o755 });
  execFileSync('sh', [path.join(root, 'scripts/smoke.sh'), file], { stdio: 'inherit' });
}

function refuses(version: string, node: string, cadre: string): void {
  const { status, stderr } = spawnSync(node, [cadre, 'status'], { encoding: 'utf8' });
  if (status !== 1 || !stderr.startsWith(`cadre: Node v${version} (`))
    throw new Error(`under Node ${version} it ended with ${status} and said: ${stderr}`);
  console.log(`Node ${version}: ${stderr.trim()}`);
}
