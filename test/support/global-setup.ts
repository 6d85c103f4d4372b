import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { buildSync } from 'esbuild';
import { pathToFileURL } from 'node:url';
import type { TestProject } from 'vitest/node';
import { parse } from 'yaml';
import { carriersOf } from '../../src/children/procfs.ts';
import { answerFiles } from './answer-files.ts';
import { machineSlowness } from './machine.ts';

/**
 * Builds the bundle that end-to-end tests run, and gives the whole run one temporary root. It goes to every
 * child as TMPDIR, so whatever still carries it at the end was left behind: that fails the run. So does an answer
 * that was not as openapi.yaml says.
 */
export default function setup(project: TestProject): () => Promise<void> {
  execFileSync(process.execPath, ['scripts/build.mjs'], { stdio: ['ignore', 'ignore', 'inherit'] });
  const root = fs.mkdtempSync(path.join(temporaryRoot(), 'cadre-test-'));
  const disk = fs.mkdtempSync(path.join(fs.realpathSync(os.tmpdir()), 'cadre-test-disk-'));
  process.env.TEST_DISK = disk;
  process.env.TMPDIR = root;
  process.env.TEST_MACHINE_SLOWNESS ??= String(machineSlowness());
  checkAnswers(root);
  return async () => {
    const wrong = wrongAnswers(root);
    const unseen = (await isWhole(project)) ? neverAnswered(root) : [];
    fs.rmSync(answerFiles(root).directory, { recursive: true });
    const left = [...(await leftovers(root)), ...directoriesIn(disk)];
    for (const place of [root, disk]) fs.rmSync(place, { recursive: true, force: true });
    if (unseen.length > 0)
      console.log(`no test had a success of:\n${unseen.map((one) => `  ${one}`).join('\n')}`);
    const faults = [
      ...(wrong.length > 0 ? ['answers were not as openapi.yaml says:', ...wrong] : []),
      ...(left.length > 0 ? ['the tests left behind:', ...left] : []),
    ];
    if (faults.length > 0) throw new Error(faults.join('\n'));
  };
}

/** Memory of at least this size can hold what tests write. */
const ROOMY_BYTES = 2 * 1024 ** 3;

/**
 * What TMPDIR names, else a file system in memory where there is one that is large and runs programs: a thousand small
 * files and their removal cost three seconds of a disk. What is about a real disk lies in TEST_DISK.
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
 * Servers that are started with SERVER_NODE_OPTIONS as their NODE_OPTIONS check what they answer. The check is one file
 * for them, and NODE_COMPILE_CACHE keeps compiled code from one program to the next: hundreds of them start in a run.
 */
function checkAnswers(root: string): void {
  const { directory, description } = answerFiles(root);
  fs.mkdirSync(directory);
  fs.writeFileSync(description, JSON.stringify(parse(openApi())));
  const check = path.join(directory, 'check-answers.cjs');
  buildSync({
    entryPoints: [path.join(import.meta.dirname, 'check-answers.ts')],
    outfile: check,
    bundle: true,
    platform: 'node',
    // It loads the validator, with the first answer, from where it stands here.
    define: { 'import.meta.url': JSON.stringify(pathToFileURL(import.meta.filename).href) },
  });
  process.env.SERVER_NODE_OPTIONS = `--require=${check}`;
  // Outside of what is removed at the end: a program that ends late still writes to it.
  process.env.NODE_COMPILE_CACHE = path.join(import.meta.dirname, '../../.cache/compiled');
}

function openApi(): string {
  return fs.readFileSync(path.join(import.meta.dirname, '../../src/api/openapi.yaml'), 'utf8');
}

function wrongAnswers(root: string): string[] {
  return linesOf(answerFiles(root).wrong).map((line) => `  ${line}`);
}

/** The requests of the description that no test had a success of. */
function neverAnswered(root: string): string[] {
  const succeeded = linesOf(answerFiles(root).succeeded);
  const { paths } = parse(openApi()) as { paths: Record<string, object> };
  return Object.entries(paths)
    .flatMap(([template, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${template}`),
    )
    .filter((request) => !succeeded.includes(request));
}

/** The distinct lines of a file that may not be there. */
function linesOf(file: string): string[] {
  if (!fs.existsSync(file)) return [];
  return [...new Set(fs.readFileSync(file, 'utf8').split('\n').filter(Boolean))].toSorted();
}

async function isWhole(project: TestProject): Promise<boolean> {
  if (project.config.testNamePattern !== undefined) return false;
  const { testFiles } = await project.globTestFiles();
  const ran = new Set(project.vitest.state.getFilepaths());
  return testFiles.every((file) => ran.has(file));
}

async function leftovers(root: string): Promise<string[]> {
  const processes = carriersOf(`TMPDIR=${root}`).flatMap((pid) => {
    // Vitest's own workers have it too; they end after us.
    const command = commandLine(pid);
    return command === null || /vitest|esbuild/.test(command)
      ? []
      : [`  process ${pid}: ${command}`];
  });
  return [...directoriesIn(root), ...processes];
}

function directoriesIn(root: string): string[] {
  return fs.readdirSync(root).map((name) => `  directory ${path.join(root, name)}`);
}

function commandLine(pid: number): string | null {
  try {
    const text = fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
    return text === '' ? null : text;
  } catch {
    return null;
  }
}
