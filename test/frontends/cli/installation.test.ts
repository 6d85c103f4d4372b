import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { installationOf } from '../../../src/frontends/cli/commands/about.ts';
import { version } from '../../../src/core/lib/self.ts';
import { put } from '../../support/built-tree.ts';
import { runCadre, runHere } from '../../support/cli/cadre.ts';
import { tempDirectory } from '../../support/temp.ts';

test('A copy that dpkg owns is upgraded by installing the new package.', () => {
  using root = tempDirectory();
  const program = path.join(root.path, 'usr/bin/cadre');
  put(program, 'program');
  put(path.join(root.path, 'var/lib/dpkg/info/cadre.list'), '/.\n/usr/bin\n/usr/bin/cadre\n');
  expect(installationOf(program, root.path)).toMatchObject({
    method: 'deb',
    directory: null,
    command: 'sudo apt-get install ./cadre_VERSION_ARCHITECTURE.deb',
  });
  const other = path.join(root.path, 'usr/local/bin/cadre');
  put(other, 'program');
  expect(installationOf(other, root.path).method).toBe('archive');
});

test('A copy of Homebrew is found through its link in bin, and is upgraded by brew.', () => {
  using root = tempDirectory();
  put(path.join(root.path, 'Cellar/cadre/0.1.0/bin/cadre'), 'program');
  const link = path.join(root.path, 'bin/cadre');
  fs.mkdirSync(path.dirname(link));
  fs.symlinkSync('../Cellar/cadre/0.1.0/bin/cadre', link);
  expect(installationOf(link)).toMatchObject({
    method: 'homebrew',
    command: 'brew upgrade cadre',
  });
});

test('A copy of npm is upgraded in its prefix or project.', () => {
  using root = tempDirectory();
  const global = path.join(root.path, 'pre fix/lib/node_modules/cadre/dist/program.cjs');
  put(global, '');
  expect(installationOf(global)).toMatchObject({
    method: 'npm',
    directory: path.join(root.path, 'pre fix'),
    command: `npm install --global --prefix '${root.path}/pre fix' ./cadre-VERSION.tgz`,
  });
  const project = path.join(root.path, 'project');
  put(path.join(project, 'package.json'), '{}');
  put(path.join(project, 'node_modules/cadre/dist/program.cjs'), '');
  expect(installationOf(path.join(project, 'node_modules/cadre/dist/program.cjs'))).toMatchObject({
    method: 'npm',
    directory: project,
    command: `npm install --prefix ${project} ./cadre-VERSION.tgz`,
  });
});

test('A copy of make install is upgraded in its prefix.', () => {
  using root = tempDirectory();
  const program = installed(root.path);
  expect(installationOf(program)).toMatchObject({
    method: 'make',
    program,
    directory: root.path,
    command: `make install PREFIX=${root.path}`,
  });
});

test('A copy of install.sh is upgraded in its prefix, and the address of its archives is named.', () => {
  using root = tempDirectory();
  const program = installed(root.path);
  const by = path.join(root.path, 'share/doc/cadre/installed-by');
  put(by, 'install.sh\nhttps://example.org/cadre/v0.1.0\n');
  const found = installationOf(program);
  expect(found).toMatchObject({
    method: 'install.sh',
    command: `sh install.sh --prefix ${root.path} ARCHIVES`,
  });
  expect(found.before).toContain('This copy came from https://example.org/cadre/v0.1.0.');
});

test('A copy in a checkout is upgraded by the make target of the executable or the bundle.', () => {
  using root = tempDirectory();
  for (const name of ['scripts/package.mjs', 'out/cadre', 'dist/program.cjs'])
    put(path.join(root.path, name), '');
  const of = (name: string) => installationOf(path.join(root.path, name));
  expect(of('out/cadre')).toMatchObject({
    method: 'checkout',
    directory: root.path,
    command: `make -C ${root.path} package`,
  });
  expect(of('dist/program.cjs').command).toBe(`make -C ${root.path} build`);
});

test('Any other copy counts as an unpacked archive, even if the program was removed.', () => {
  using root = tempDirectory();
  expect(installationOf(path.join(root.path, 'bin/cadre'))).toMatchObject({
    method: 'archive',
    directory: root.path,
    command: `tar -xzf cadre-VERSION-TARGET.tar.gz --strip-components=1 -C ${root.path}`,
  });
});

test('cadre upgrade prints how this copy is upgraded, as text or as JSON, and creates nothing.', async () => {
  using home = tempDirectory();
  const text = await runCadre(home.path, ['upgrade']);
  expect([text.code, text.stderr]).toEqual([0, '']);
  expect(text.stdout).toContain(`cadre ${version} is `);
  expect(text.stdout).toContain(`Run: make -C ${process.cwd()} build\n`);
  const json = await runHere(home.path, ['upgrade', '--json']);
  expect(json.json()).toMatchObject({ version, method: 'checkout', directory: process.cwd() });
  expect(fs.readdirSync(home.path)).toEqual([]);
});

/** A prefix with the list that the installations keep. */
function installed(prefix: string): string {
  const program = path.join(prefix, 'bin/cadre');
  put(program, 'program');
  put(path.join(prefix, 'share/doc/cadre/installed'), `${'0'.repeat(64)}  bin/cadre\n`);
  return program;
}
