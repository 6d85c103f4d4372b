import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { buildSync } from 'esbuild';
import type { TestProject } from 'vitest/node';
import { parse } from 'yaml';
import { carriersOf } from '../../src/core/children/procfs.ts';
import { answerDirectory } from './answer-files.ts';
import { checkAnswers } from './check-answers.ts';
import { machineSlowness } from './machine.ts';
import { commandOf } from './processes/command-line.ts';

/**
 * Builds the bundle that end-to-end tests run, and gives the whole run one temporary root, the TMPDIR of every child.
 * The run fails if a process with that TMPDIR is left at the end, or if a response differs from openapi.yaml.
 */
export default function setup(project: TestProject): () => Promise<void> {
  execFileSync(process.execPath, ['scripts/build.mjs', '--unless-built'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const root = fs.mkdtempSync(path.join(temporaryRoot(), 'cadre-test-'));
  const disk = fs.mkdtempSync(path.join(fs.realpathSync(os.tmpdir()), 'cadre-test-disk-'));
  process.env.TEST_DISK = disk;
  process.env.TMPDIR = root;
  process.env.TEST_MACHINE_SLOWNESS ??= String(machineSlowness());
  preload(root);
  return async () => {
    const { wrong, unseen: never } = await checkAnswers(root, parse(openApi()) as object);
    const unseen = (await isWhole(project)) ? never : [];
    fs.rmSync(answerDirectory(root), { recursive: true });
    const left = [...(await leftovers(root)), ...directoriesIn(disk)];
    for (const place of [root, disk]) fs.rmSync(place, { recursive: true, force: true });
    if (unseen.length > 0)
      console.log(`no test had a success of:\n${unseen.map((one) => `  ${one}`).join('\n')}`);
    const faults = [
      ...(wrong.length > 0
        ? ['answers were not as openapi.yaml says:', ...wrong.map((line) => `  ${line}`)]
        : []),
      ...(left.length > 0 ? ['the tests left behind:', ...left] : []),
    ];
    if (faults.length > 0) throw new Error(faults.join('\n'));
  };
}

/** The least size of a memory file system that can hold all files of the tests. */
const ROOMY_BYTES = 2 * 1024 ** 3;

/**
 * Directory of TMPDIR, else a file system in memory if one is large and runs programs: a thousand small
 * files and their removal cost three seconds on a disk. Tests of a real disk use TEST_DISK.
 */
function temporaryRoot(): string {
  const memory = '/dev/shm';
  if (process.env.TMPDIR !== undefined || !fs.existsSync(memory))
    return fs.realpathSync(os.tmpdir());
  const { bavail, bsize } = fs.statfsSync(memory);
  return bavail * bsize >= ROOMY_BYTES && runsPrograms(memory)
    ? memory
    : fs.realpathSync(os.tmpdir());
}

function runsPrograms(directory: string): boolean {
  const place = fs.mkdtempSync(path.join(directory, 'cadre-try-'));
  try {
    const program = path.join(place, 'program');
    fs.writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 });
    return spawnSync(program).status === 0;
  } finally {
    fs.rmSync(place, { recursive: true });
  }
}

/**
 * Bundles the modules that servers of tests load first; SERVER_NODE_OPTIONS becomes their NODE_OPTIONS. With
 * NODE_COMPILE_CACHE, the hundreds of programs of a run share their compiled code.
 */
function preload(root: string): void {
  const directory = answerDirectory(root);
  fs.mkdirSync(directory);
  const outfile = path.join(directory, 'preload.cjs');
  buildSync({
    entryPoints: [path.join(import.meta.dirname, 'preload.ts')],
    outfile,
    bundle: true,
    platform: 'node',
  });
  // With the default of four V8 threads, servers that start during tests need a tenth more CPU time.
  process.env.SERVER_NODE_OPTIONS = `--require=${outfile} --v8-pool-size=1`;
  // Outside of the removed directory, because a program that ends late still writes to it.
  process.env.NODE_COMPILE_CACHE = path.join(import.meta.dirname, '../../.cache/compiled');
}

function openApi(): string {
  return fs.readFileSync(path.join(import.meta.dirname, '../../src/api/openapi.yaml'), 'utf8');
}

async function isWhole(project: TestProject): Promise<boolean> {
  // Other suites, and parts of this suite, need not have a response of each route.
  const { configFile } = project.vitest.vite.config;
  if (configFile !== path.join(import.meta.dirname, '../../vitest.config.ts')) return false;
  if (project.config.testNamePattern !== undefined || process.env.TEST_LENGTH) return false;
  const { testFiles } = await project.globTestFiles();
  const ran = new Set(project.vitest.state.getFilepaths());
  return testFiles.every((file) => ran.has(file));
}

async function leftovers(root: string): Promise<string[]> {
  const processes = carriersOf(`TMPDIR=${root}`).flatMap((pid) => {
    // Vitest's own workers have this TMPDIR, too, and end later.
    const command = commandOf(pid);
    return command === '' || /vitest|esbuild/.test(command) ? [] : [`  process ${pid}: ${command}`];
  });
  return [...directoriesIn(root), ...processes];
}

function directoriesIn(root: string): string[] {
  return fs.readdirSync(root).map((name) => `  directory ${path.join(root, name)}`);
}
