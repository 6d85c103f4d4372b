// Stores the data of each format of cadre for the upgrade campaign: `node test/campaigns/upgrade/formats.main.ts [FORMAT...]`.
// The last commit of each format is built, with the packages of this version or else with its own, and its server is
// used and killed.
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { untilNothingCarries } from '../../support/server.ts';
import { asDataDirectory } from '../../support/temp.ts';
import { commits } from './commits.ts';
import { askAll } from './answers.ts';
import { cutOff, leaveAnApproval, writeData } from './drive.ts';
import { OldServer } from './old-server.ts';
import { packFormat } from './stored.ts';

const root = path.resolve(import.meta.dirname, '../../..');
/** The same for all versions, so that paths in the data do not depend on the machine. */
const PLACE = '/tmp/cadre-formats';

await main(process.argv.slice(2).map(Number));

async function main(wanted: readonly number[]): Promise<void> {
  const work = fs.mkdtempSync(path.join(os.tmpdir(), 'formats-'));
  try {
    for (const [format, commit] of Object.entries(commits))
      if (wanted.length === 0 || wanted.includes(Number(format)))
        await store(Number(format), buildOf(commit, work));
  } finally {
    fs.rmSync(work, { recursive: true });
  }
}

/** Builds a commit; returns its bundle. */
function buildOf(commit: string, work: string): string {
  const tree = path.join(work, commit);
  fs.mkdirSync(tree);
  const archive = execFileSync('git', ['archive', commit], { cwd: root, maxBuffer: 1 << 30 });
  execFileSync('tar', ['-x', '-C', tree], { input: archive });
  const modules = path.join(tree, 'node_modules');
  fs.symlinkSync(path.join(root, 'node_modules'), modules);
  if (!builds(tree)) {
    fs.unlinkSync(modules);
    fs.symlinkSync(ownPackages(tree, work), modules);
    if (!builds(tree)) throw new Error(`${commit} cannot be built`);
  }
  return path.join(tree, 'dist/cadre.cjs');
}

function builds(tree: string): boolean {
  return spawnSync(process.execPath, ['scripts/build.mjs'], { cwd: tree }).status === 0;
}

/** Installs the packages of a commit's own lock file; returns their directory. */
function ownPackages(tree: string, work: string): string {
  const lock = fs.readFileSync(path.join(tree, 'package-lock.json'));
  const packages = path.join(work, `packages-${createHash('sha256').update(lock).digest('hex')}`);
  if (!fs.existsSync(packages)) {
    fs.mkdirSync(packages);
    for (const name of ['package.json', 'package-lock.json', '.npmrc'])
      fs.copyFileSync(path.join(tree, name), path.join(packages, name));
    // `npm ci` refuses the first lock files, which lack packages for other machines.
    const flags = ['--no-save', '--ignore-scripts', '--no-audit', '--no-fund'];
    execFileSync('npm', ['install', ...flags], { cwd: packages, stdio: 'ignore' });
  }
  return path.join(packages, 'node_modules');
}

async function store(format: number, bundle: string): Promise<void> {
  fs.rmSync(PLACE, { recursive: true, force: true });
  const directory = path.join(PLACE, 'data');
  asDataDirectory(directory);
  const first = await OldServer.start(bundle, directory);
  const session = await writeData(first, PLACE);
  await first.end('SIGKILL');
  await untilNothingCarries(PLACE);
  const second = await OldServer.start(bundle, directory);
  await leaveAnApproval(second);
  await second.end('SIGTERM');
  const third = await OldServer.start(bundle, directory);
  const { answers, seq } = await askAll((pathname) => third.get(pathname));
  await cutOff(third);
  await third.end('SIGKILL');
  await untilNothingCarries(PLACE);
  const bytes = packFormat(directory, { format, session, seq, answers });
  fs.rmSync(PLACE, { recursive: true });
  process.stdout.write(`format ${format}: ${bytes} bytes, seq ${seq}\n`);
  for (const line of [...first.refused, ...third.refused])
    process.stdout.write(`  ${line.slice(0, 200)}\n`);
}
