// The files that name the address of the archives: the install script, a Homebrew formula and a recipe for a container image.
import * as fs from 'node:fs';
import { debArchitectures, debName } from './deb.ts';

/** The digest (SHA-256) of each file of a release, by the name of the file. */
type Digests = ReadonlyMap<string, string>;

interface Release {
  version: string;
  /** The address of the directory with the archives. */
  archives: string;
  digests: Digests;
}

/**
 * An address as the recipes contain it, without a slash at its end.
 *
 * @throws Error if it is not an address of HTTP, or has characters that shells and Ruby read as their own.
 */
export function archivesAddress(text: string): string {
  if (!/^https?:\/\/[\w.:[\]-]+(\/[\w.~%+@:=,-]+)*\/*$/.test(text))
    throw new Error(
      `invalid address of the archives "${text}": expected https://HOST/PATH or http://HOST/PATH`,
    );
  return text.replace(/\/+$/, '');
}

/** The install script; without an address, its user has to give one. */
export function installScript(archives: string): string {
  const text = fs.readFileSync(new URL('install.sh', import.meta.url), 'utf8');
  return text.replace(/^default_archives=$/m, `default_archives=${archives && `'${archives}'`}`);
}

/** A Homebrew formula for the targets that have an archive. */
export function homebrewFormula(release: Release): string {
  const systems = [
    { block: 'on_macos', system: 'darwin', needs: '' },
    { block: 'on_linux', system: 'linux', needs: '    depends_on "util-linux"\n' },
  ].map(({ block, system, needs }) => {
    const machines = [
      { block: 'on_arm', arch: 'arm64' },
      { block: 'on_intel', arch: 'x64' },
    ].map((machine) => archiveBlock(machine.block, `${system}-${machine.arch}`, release));
    const archives = machines.join('');
    return archives && `\n  ${block} do\n${needs}${archives}  end\n`;
  });
  return `class Cadre < Formula
  desc "Run teams of coding agents on one machine"
  homepage "${release.archives}"
  version "${release.version}"
  license "Apache-2.0"
${systems.join('')}
  def install
    prefix.install "bin", "share"
  end

  test do
    assert_equal version.to_s, shell_output("#{bin}/cadre --version").strip
  end
end
`;
}

function archiveBlock(block: string, target: string, { version, archives, digests }: Release) {
  const name = `cadre-${version}-${target}.tar.gz`;
  const digest = digests.get(name);
  if (digest === undefined) return '';
  return `    ${block} do
      url "${archives}/${name}"
      sha256 "${digest}"
    end
`;
}

/** A Dockerfile that installs the .deb; undefined if no target has one. */
export function imageRecipe({ version, archives, digests }: Release): string | undefined {
  const cases = Object.values(debArchitectures).flatMap((architecture) => {
    const digest = digests.get(debName({ version, architecture }));
    return digest === undefined ? [] : [`      ${architecture}) digest=${digest} ;; \\\n`];
  });
  if (cases.length === 0) return undefined;
  const name = debName({ version, architecture: '$machine' });
  return `# cadre and git on Debian. The image has no coding agent: add yours in an image that begins with this one.
ARG BASE=debian:stable-slim
FROM $BASE
ARG ARCHIVES=${archives}
RUN set -eu; \\
    machine=$(dpkg --print-architecture); \\
    case $machine in \\
${cases.join('')}      *) echo "cadre: unsupported machine $machine" >&2; exit 1 ;; \\
    esac; \\
    apt-get update; \\
    apt-get install --yes --no-install-recommends ca-certificates curl git; \\
    curl -fsSL -o /tmp/cadre.deb "$ARCHIVES/${name}"; \\
    echo "$digest  /tmp/cadre.deb" | sha256sum --check --quiet -; \\
    apt-get install --yes --no-install-recommends /tmp/cadre.deb; \\
    rm -rf /tmp/cadre.deb /var/lib/apt/lists/*; \\
    useradd --create-home --shell /bin/sh cadre
USER cadre
WORKDIR /home/cadre
# Run the container with an init process (docker run --init), which waits for orphaned processes.
ENTRYPOINT ["cadre"]
CMD ["serve"]
`;
}
