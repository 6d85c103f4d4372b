import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import net, { type AddressInfo } from 'node:net';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { findProgram } from '../../src/core/lib/find-program.ts';
import { builtTree, filesIn, put, writeRelease } from '../support/built-tree.ts';
import { tempDirectory, testDirectory } from '../support/temp.ts';

const downloaders = ['curl', 'wget'];
const found = downloaders.filter((name) => findProgram(name, process.env.PATH) !== null);

test('install.sh installs the archive of this machine from a directory, and prints the line for PATH.', async () => {
  await using place = tempDirectory();
  const release = writeRelease(builtTree(place.path));
  const ended = await installScript(place.path, [release]);
  expect([ended.code, ended.stderr]).toEqual([0, '']);
  expect(ended.stdout).toContain(`Installed cadre 0.1.0 in ${place.path}/home/.local\n`);
  expect(ended.stdout).toContain(`export PATH="${place.path}/home/.local/bin:$PATH"`);
  const program = path.join(place.path, 'home/.local/bin/cadre');
  expect(spawnSync(program, ['--version'], { encoding: 'utf8' }).stdout).toBe('0.1.0\n');
});

test.skipIf(found.length === 0).each(found)(
  'install.sh downloads the archive from a server with %s, and records the address without the password.',
  async (downloader) => {
    await using place = tempDirectory();
    const release = writeRelease(builtTree(place.path));
    await using server = await serve(release);
    const PATH = toolsIn(place.path, downloader);
    const CADRE_ARCHIVES = server.url.replace('//', '//you:secret@');
    const ended = await installScript(place.path, [], { PATH, CADRE_ARCHIVES });
    expect([ended.code, ended.stderr]).toEqual([0, '']);
    const by = 'home/.local/share/doc/cadre/installed-by';
    expect(fs.readFileSync(path.join(place.path, by), 'utf8')).toBe(`install.sh\n${server.url}\n`);
  },
);

test('A second run of install.sh upgrades, and removes files that only the older version had.', async () => {
  await using place = tempDirectory();
  const tree = builtTree(place.path);
  put(path.join(tree, 'dist/man/man1/cadre-gone.1'), 'a page');
  await installed(place.path, writeRelease(tree));
  fs.rmSync(path.join(tree, 'dist/man/man1/cadre-gone.1'));
  const newer = writeRelease(builtTree(place.path, '0.2.0'), '0.2.0');
  const ended = await installScript(place.path, [newer]);
  expect(ended.stdout).toContain('Installed cadre 0.2.0');
  expect(ended.stdout).toContain('A running server of cadre keeps its version');
  expect(filesIn(path.join(place.path, 'home/.local/share/man'))).toEqual([
    'man1/cadre.1',
    'man5/cadre-config.5',
  ]);
});

test('install.sh --uninstall removes exactly the files and directories that install.sh has created.', async () => {
  await using place = tempDirectory();
  const home = path.join(place.path, 'home');
  put(path.join(home, '.local/bin/other'), 'foreign');
  const release = writeRelease(builtTree(place.path));
  await installed(place.path, release);
  await installed(place.path, release);
  const ended = await installScript(place.path, ['--uninstall']);
  expect([ended.code, ended.stderr]).toEqual([0, '']);
  expect(fs.readdirSync(path.join(home, '.local'))).toEqual(['bin']);
  expect(filesIn(home)).toEqual(['.local/bin/other']);
});

test('install.sh --uninstall keeps a file that was changed after the installation.', async () => {
  await using place = tempDirectory();
  await installed(place.path, writeRelease(builtTree(place.path)));
  const page = path.join(place.path, 'home/.local/share/man/man1/cadre.1');
  fs.appendFileSync(page, 'mine');
  const ended = await installScript(place.path, ['--uninstall']);
  expect([ended.code, ended.stderr]).toEqual([
    0,
    `install.sh: kept ${page}: the file was changed after the installation\n`,
  ]);
  expect(filesIn(path.join(place.path, 'home'))).toEqual(['.local/share/man/man1/cadre.1']);
});

test('install.sh accepts a relative prefix with spaces, and --uninstall removes it.', async () => {
  await using place = tempDirectory();
  const release = writeRelease(builtTree(place.path));
  const prefix = ['--prefix', 'a new/prefix ä'];
  await installed(place.path, release, prefix);
  expect(filesIn(path.join(place.path, 'a new/prefix ä'))).toContain('bin/cadre');
  expect((await installScript(place.path, [...prefix, '--uninstall'])).code).toBe(0);
  expect(fs.readdirSync(path.join(place.path, 'a new'))).toEqual([]);
});

test('A later `make uninstall` removes all files of install.sh, because both keep the same lists.', async () => {
  await using place = tempDirectory();
  await installed(place.path, writeRelease(builtTree(place.path)));
  const prefix = path.join(place.path, 'home/.local');
  const args = ['scripts/install.mjs', 'uninstall', prefix];
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  expect([status, stderr]).toEqual([0, '']);
  expect(fs.readdirSync(path.join(place.path, 'home'))).toEqual([]);
});

test('install.sh contains the address of the archives if the release was made with one.', async () => {
  const release = writeRelease(
    builtTree(testDirectory()),
    '0.1.0',
    'https://example.org/cadre/v0.1.0/',
  );
  const script = fs.readFileSync(path.join(release, 'install.sh'), 'utf8');
  expect(script).toContain("\ndefault_archives='https://example.org/cadre/v0.1.0'\n");
});

test('install.sh refuses an archive with a wrong checksum, and changes nothing.', async () => {
  await using place = tempDirectory();
  const release = writeRelease(builtTree(place.path));
  await installed(place.path, release);
  for (const name of fs.readdirSync(release))
    if (name.endsWith('.tar.gz')) fs.appendFileSync(path.join(release, name), 'x');
  await using server = await serve(release);
  await expectRefused(
    place.path,
    [found.length === 0 ? release : server.url],
    /wrong checksum of cadre-/,
  );
});

test('install.sh refuses a source without archives and a server that does not answer, and changes nothing.', async () => {
  await using place = tempDirectory();
  const release = writeRelease(builtTree(place.path));
  const server = await serve(release);
  for (const name of fs.readdirSync(release))
    if (name.endsWith('.tar.gz')) fs.rmSync(path.join(release, name));
  const says = found.length === 0 ? /neither curl nor wget/ : /cannot download http/;
  await expectRefused(place.path, [server.url], says);
  await server[Symbol.asyncDispose]();
  await expectRefused(place.path, [server.url], says);
  await expectRefused(place.path, [release], /cadre-.*\.tar\.gz not found/);
  await expectRefused(place.path, [place.path], /SHA256SUMS not found/);
});

test('install.sh refuses a URL if neither curl nor wget is found, and changes nothing.', async () => {
  await using place = tempDirectory();
  writeRelease(builtTree(place.path));
  const PATH = toolsIn(place.path);
  await expectRefused(place.path, ['http://127.0.0.1:9'], /neither curl nor wget found/, {
    PATH,
  });
});

test('install.sh refuses an unsupported machine, system or C library, and changes nothing.', async () => {
  await using place = tempDirectory();
  const release = writeRelease(builtTree(place.path));
  for (const [program, prints, says] of [
    ['uname', 'riscv64', /unsupported system "riscv64"/],
    ['uname', '$([ "$1" = -s ] && echo Linux || echo riscv64)', /unsupported machine "riscv64"/],
    ...(process.platform === 'linux'
      ? ([['ldd', 'musl libc', /unsupported C library musl/]] as const)
      : []),
  ] as const) {
    const tool = path.join(place.path, 'fake', program);
    put(tool, `#!/bin/sh\necho "${prints}"\n`);
    fs.chmodSync(tool, 0o755);
    const PATH = `${path.dirname(tool)}:${process.env.PATH}`;
    await expectRefused(place.path, [release], says, { PATH });
    fs.rmSync(tool);
  }
});

test('install.sh refuses SHA256SUMS with no archive or several archives for this machine, and changes nothing.', async () => {
  await using place = tempDirectory();
  const release = writeRelease(builtTree(place.path));
  const sums = path.join(release, 'SHA256SUMS');
  const before = fs.readFileSync(sums, 'utf8');
  fs.writeFileSync(sums, before + before.replaceAll('-0.1.0-', '-0.2.0-'));
  await expectRefused(place.path, [release], /several archives for/);
  fs.writeFileSync(sums, '');
  await expectRefused(place.path, [release], /no archive for/);
});

test('install.sh refuses a program that does not start, and changes nothing.', async () => {
  await using place = tempDirectory();
  const tree = builtTree(place.path);
  put(path.join(tree, 'out/cadre'), '#!/bin/sh\necho GLIBC_2.28 not found >&2\nexit 1\n');
  await expectRefused(place.path, [writeRelease(tree)], /does not start on this machine: GLIBC/);
});

test('install.sh changes nothing if one of the files cannot be installed.', async () => {
  await using place = tempDirectory();
  const release = writeRelease(builtTree(place.path));
  fs.mkdirSync(path.join(place.path, 'home/.local/share/man/man5/cadre-config.5'), {
    recursive: true,
  });
  await expectRefused(place.path, [release], /cadre-config\.5: it is a directory/);
  put(path.join(place.path, 'home/.local/share/zsh'), 'a file');
  fs.rmdirSync(path.join(place.path, 'home/.local/share/man/man5/cadre-config.5'));
  await expectRefused(place.path, [release], /cannot create .*\/share\/zsh: File exists/);
});

test('install.sh --uninstall refuses a prefix without an installation, and changes nothing.', async () => {
  await using place = tempDirectory();
  writeRelease(builtTree(place.path));
  put(path.join(place.path, 'home/.local/bin/cadre'), 'foreign');
  await expectRefused(place.path, ['--uninstall'], /no installation found in /);
});

test('install.sh refuses wrong arguments with exit code 2, and changes nothing.', async () => {
  await using place = tempDirectory();
  writeRelease(builtTree(place.path));
  await expectRefused(place.path, [], /no archives: pass their directory or URL/, {}, 2);
  await expectRefused(place.path, ['--force', 'x'], /unknown option "--force"/, {}, 2);
  await expectRefused(place.path, ['a', 'b'], /more than one source/, {}, 2);
  await expectRefused(place.path, ['--prefix'], /--prefix needs a directory/, {}, 2);
  await expectRefused(place.path, ['--uninstall', 'a'], /--uninstall takes no archives/, {}, 2);
  await expectRefused(place.path, ['a'], /no home directory/, { HOME: undefined });
});

async function installed(place: string, release: string, args: string[] = []): Promise<void> {
  const ended = await installScript(place, [...args, release]);
  expect([ended.code, ended.stderr]).toEqual([0, '']);
}

/** Runs the script, which has to fail, and compares the home directory before and after. */
async function expectRefused(
  place: string,
  args: string[],
  says: RegExp,
  env: NodeJS.ProcessEnv = {},
  code = 1,
): Promise<void> {
  fs.mkdirSync(path.join(place, 'home'), { recursive: true });
  const before = stateOf(path.join(place, 'home'));
  const ended = await installScript(place, args, env);
  expect(ended.stderr).toMatch(says);
  expect(ended.code).toBe(code);
  expect(stateOf(path.join(place, 'home'))).toEqual(before);
  expect(fs.readdirSync(path.join(place, 'tmp'))).toEqual([]);
}

/** All paths below a directory, with the contents and times of the files. */
function stateOf(directory: string): unknown[] {
  return fs
    .readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .toSorted()
    .map((name) => {
      const file = path.join(directory, name);
      const stat = fs.statSync(file);
      return stat.isFile() ? [name, stat.mtimeMs, fs.readFileSync(file, 'utf8')] : [name];
    });
}

async function installScript(place: string, args: string[], env: NodeJS.ProcessEnv = {}) {
  for (const name of ['home', 'tmp']) fs.mkdirSync(path.join(place, name), { recursive: true });
  const child = spawn('/bin/sh', [path.join(place, 'out/dist/install.sh'), ...args], {
    cwd: place,
    env: {
      PATH: process.env.PATH,
      HOME: path.join(place, 'home'),
      TMPDIR: path.join(place, 'tmp'),
      LC_ALL: 'C',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit') as Promise<[number | null]>,
  ]);
  return { code, stdout, stderr };
}

/** A directory for PATH with the tools that the script needs, and others. */
function toolsIn(place: string, ...more: string[]): string {
  const tools = path.join(place, 'tools');
  fs.mkdirSync(tools);
  const needed =
    'cat chmod cp cut find flock grep gzip head ldd mkdir mktemp mv rm rmdir sed sh sha256sum shasum sort tar uname wc';
  for (const name of [...needed.split(' '), ...more]) {
    const program = findProgram(name, process.env.PATH);
    if (program !== null) fs.symlinkSync(program, path.join(tools, name));
  }
  return tools;
}

/** Serves the files of a directory on the loopback. A test run checks all answers of node:http against the API of cadre. */
async function serve(directory: string): Promise<AsyncDisposable & { url: string }> {
  const server = net.createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', (request) => {
      const [, asked = ''] = /^GET (\S+) /.exec(request.toString('latin1')) ?? [];
      const file = path.join(directory, path.basename(asked));
      const body = fs.existsSync(file) ? fs.readFileSync(file) : null;
      const status = body === null ? '404 Not Found' : '200 OK';
      socket.write(`HTTP/1.0 ${status}\r\nContent-Length: ${body?.length ?? 0}\r\n\r\n`);
      socket.end(body ?? '');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      if (!server.listening) return;
      server.close();
      await once(server, 'close');
    },
  };
}
