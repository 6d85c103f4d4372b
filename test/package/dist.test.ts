import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { findProgram } from '../../src/core/lib/find-program.ts';
import { tempDirectory } from '../support/temp.ts';

const release = path.resolve('out/dist');
const { version } = JSON.parse(fs.readFileSync('package.json', 'utf8')) as { version: string };
const target = `${process.platform}-${process.arch}`;
const deb = path.join(
  release,
  `cadre_${version}_${process.arch === 'x64' ? 'amd64' : 'arm64'}.deb`,
);
const noArchive = fs.existsSync(path.join(release, `cadre-${version}-${target}.tar.gz`))
  ? ''
  : ' (skipped: `make dist` has not built it)';
const noDeb =
  noArchive ||
  (findProgram('dpkg-deb', process.env.PATH) === null ? ' (skipped: no dpkg-deb)' : '');

test.skipIf(noArchive !== '')(
  `install.sh installs the archive that make dist has built, and the program starts${noArchive}.`,
  () => {
    using place = tempDirectory();
    const env = { PATH: process.env.PATH, HOME: place.path, TMPDIR: process.env.TMPDIR };
    const script = path.join(release, 'install.sh');
    execFileSync('sh', [script, release], { env });
    const program = path.join(place.path, '.local/bin/cadre');
    const answer = execFileSync(program, ['upgrade', '--json'], { env, encoding: 'utf8' });
    expect(JSON.parse(answer)).toMatchObject({ version, method: 'install.sh', program });
    execFileSync('sh', [script, '--uninstall'], { env });
    expect(fs.readdirSync(place.path)).toEqual([]);
  },
);

test.skipIf(noDeb !== '')(
  `The program in the .deb that make dist has built starts, and its checksums are right${noDeb}.`,
  () => {
    using place = tempDirectory();
    execFileSync('dpkg-deb', ['--raw-extract', deb, place.path]);
    execFileSync('md5sum', ['--check', '--quiet', 'DEBIAN/md5sums'], { cwd: place.path });
    const program = path.join(place.path, 'usr/bin/cadre');
    const env = { PATH: process.env.PATH, HOME: place.path };
    expect(execFileSync(program, ['--version'], { env, encoding: 'utf8' })).toBe(`${version}\n`);
  },
);
