// Packages for Debian and its relatives: an ar file with two tar files (deb(5)), which dpkg-deb would fill with the times and
// modes of this machine.
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import { type Entry, gzip, type Member, tarGz } from '../tar.ts';

/** The architecture that Debian names, by the target that it is built for. */
export const debArchitectures: Readonly<Record<string, string>> = {
  'linux-x64': 'amd64',
  'linux-arm64': 'arm64',
};

interface DebOptions {
  version: string;
  architecture: string;
  /** The time of all files, in Unix seconds. */
  seconds: number;
}

/** The file name of a package. */
export function debName({ version, architecture }: Omit<DebOptions, 'seconds'>): string {
  return `cadre_${debVersion(version)}_${architecture}.deb`;
}

/** The bytes of a .deb with the files of `layout`, in the directories that Debian has for them. */
export function debPackage(files: readonly Entry[], options: DebOptions): Buffer {
  const members = [
    ...files.map((file) => installedFile(file)),
    { path: './usr/share/doc/cadre/copyright', mode: 0o644, content: Buffer.from(COPYRIGHT) },
  ];
  const control = [
    { path: './control', mode: 0o644, content: Buffer.from(controlOf(members, options)) },
    { path: './md5sums', mode: 0o644, content: Buffer.from(sumsOf(members)) },
  ];
  const { seconds } = options;
  return Buffer.concat([
    Buffer.from('!<arch>\n'),
    ...arMember('debian-binary', Buffer.from('2.0\n'), seconds),
    ...arMember('control.tar.gz', tarGz([root, ...control], seconds), seconds),
    ...arMember('data.tar.gz', tarGz([...directoriesOf(members), ...members], seconds), seconds),
  ]);
}

const root: Member = { path: './', mode: 0o755 };

/** A file in its directory for Debian: man pages are compressed there, and zsh has another directory. */
function installedFile({ from, to, mode }: Entry): Required<Member> {
  const content = fs.readFileSync(from);
  if (to.startsWith('share/man/')) return { path: `./usr/${to}.gz`, mode, content: gzip(content) };
  return {
    path: `./usr/${to.replace('zsh/site-functions', 'zsh/vendor-completions')}`,
    mode,
    content,
  };
}

/** The directories above the members, which dpkg does not create on its own. */
function directoriesOf(members: readonly Member[]): Member[] {
  const paths = members.flatMap(({ path }) => {
    const parts = path.split('/').slice(0, -1);
    return parts.map((_, at) => `${parts.slice(0, at + 1).join('/')}/`);
  });
  return [...new Set(paths)].map((path) => ({ path, mode: 0o755 }));
}

function controlOf(members: readonly Required<Member>[], options: DebOptions): string {
  const kilobytes = members.reduce((sum, { content }) => sum + Math.ceil(content.length / 1024), 0);
  return `Package: cadre
Version: ${debVersion(options.version)}
Architecture: ${options.architecture}
Maintainer: cadre contributors
Installed-Size: ${kilobytes}
Depends: libc6 (>= 2.28), libstdc++6 (>= 7), util-linux
Recommends: git
Section: devel
Priority: optional
Description: run teams of coding agents on one machine
 cadre runs Claude Code, OpenAI Codex and every agent that speaks the Agent
 Client Protocol, from the command line, a terminal screen, an editor or HTTP.
 One ordered log on disk records every event.
`;
}

/** A pre-release such as 1.0.0-rc.1 is older than 1.0.0, which Debian writes with a tilde. */
function debVersion(version: string): string {
  return version.replace('-', '~');
}

function sumsOf(members: readonly Required<Member>[]): string {
  const lines = members.map(({ path, content }) => {
    const digest = createHash('md5').update(content).digest('hex');
    return `${digest}  ${path.slice(2)}\n`;
  });
  return lines.toSorted((a, b) => (a.slice(34) < b.slice(34) ? -1 : 1)).join('');
}

function arMember(name: string, content: Buffer, seconds: number): Buffer[] {
  const fields: [string, number][] = [
    [name, 16],
    [String(seconds), 12],
    ['0', 6],
    ['0', 6],
    ['100644', 8],
    [String(content.length), 10],
  ];
  const line = fields.map(([text, width]) => text.padEnd(width)).join('');
  return [Buffer.from(`${line}\`\n`), content, Buffer.from(content.length % 2 === 1 ? '\n' : '')];
}

const COPYRIGHT = `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: cadre
Comment:
 The program contains packages of others and Node.js. Their licences are in
 /usr/share/doc/cadre/THIRD-PARTY-LICENSES.

Files: *
Copyright: cadre contributors
License: Apache-2.0

License: Apache-2.0
 The text of this licence is in /usr/share/doc/cadre/LICENSE. On Debian systems,
 it is also in /usr/share/common-licenses/Apache-2.0.
`;
