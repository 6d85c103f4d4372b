import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { delimiter, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { scaled } from '../../support/patience.ts';

/** Directory of the installed programs; `make clean` removes it. The files in `install/` have the versions. */
const installed = resolve(import.meta.dirname, '../../../.cache/api');
const manifests = join(import.meta.dirname, 'install');

/** A program that pip installed. */
export function pythonTool(name: string): string {
  return join(installed, 'venv/bin', name);
}

/** Where npm installed packages; a program that imports them lies below, or beside a link to it. */
export const nodeModules = join(installed, 'node_modules');

const execute = promisify(execFile);

/**
 * Installs schemathesis, the generators and the clients, each in the version that `install/` pins, unless they are
 * there. Throws where the machine has no python3 with venv. Not meant for two callers at once.
 */
export async function installTools(): Promise<void> {
  await mkdir(installed, { recursive: true });
  await once('venv', ['requirements.txt'], installPython);
  await once('node_modules', ['package.json', 'package-lock.json', '.npmrc'], installNode);
}

/** Runs `install` where a directory is not from these manifests, by a mark that is written at the end. */
async function once(
  directory: string,
  files: string[],
  install: (directory: string) => Promise<void>,
): Promise<void> {
  const texts = await Promise.all(files.map((file) => readFile(join(manifests, file), 'utf8')));
  const wanted = createHash('sha256').update(texts.join('\0')).digest('hex');
  const place = join(installed, directory);
  const mark = join(place, '.installed');
  if ((await readFile(mark, 'utf8').catch(() => '')) === wanted) return;
  process.stderr.write(`test-api: installing ${files[0]}; this happens once\n`);
  await rm(place, { recursive: true, force: true });
  await install(place);
  await writeFile(mark, wanted);
}

async function installPython(place: string): Promise<void> {
  try {
    await execute('python3', [
      '-c',
      'import venv, ensurepip, sys; assert sys.version_info >= (3, 10)',
    ]);
  } catch (error) {
    throw new Error(
      'make test-api needs python3, 3.10 or newer, with its venv module (on Debian and Ubuntu: python3-venv)',
      { cause: error },
    );
  }
  await execute('python3', ['-m', 'venv', place]);
  const requirements = join(manifests, 'requirements.txt');
  const options = ['--quiet', '--no-input', '--disable-pip-version-check', '--no-deps'];
  await execute(join(place, 'bin/pip'), ['install', ...options, '-r', requirements], {
    timeout: scaled(600_000),
  });
}

async function installNode(): Promise<void> {
  for (const file of ['package.json', 'package-lock.json', '.npmrc'])
    await cp(join(manifests, file), join(installed, file));
  await execute('npm', ['ci', '--no-audit', '--no-fund'], {
    timeout: scaled(600_000),
    cwd: installed,
    env: { ...process.env, PATH: machinePath() },
  });
}

/** Run by the Node of this project, npm would not find the machine's own configuration. */
function machinePath(): string {
  const directories = (process.env.PATH ?? '').split(delimiter);
  return directories.filter((one) => !one.endsWith(join('node_modules', '.bin'))).join(delimiter);
}
