import { commit, version, LICENSES_FILE, readBuilt, programFile } from '../../../core/lib/self.ts';
import { localCommand } from '../command.ts';
import { notFoundError } from '../../../api/errors.ts';
import { licensesIn } from '../licenses.ts';
import fs from 'node:fs';
import path from 'node:path';
import { shellWord } from '../../../core/lib/shell-word.ts';

export const versionCommand = localCommand({
  name: 'version',
  description: 'Print the version of cadre',
  run: ({ show }) => {
    const { version: node } = process;
    const text = () => `cadre ${version} (${commit}, node ${node})\n`;
    show({ name: 'cadre', version, commit, node }, text);
  },
});

export const licensesCommand = localCommand({
  name: 'licenses',
  description: 'Print the licenses of the software bundled with cadre',
  run: ({ show }) => {
    const bytes = readBuilt(LICENSES_FILE);
    if (!bytes)
      throw notFoundError(
        `the file ${LICENSES_FILE} does not exist: build cadre to create the file`,
      );
    const text = new TextDecoder().decode(bytes);
    show({ licenses: licensesIn(text) }, () => text);
  },
});

export const upgradeCommand = localCommand({
  name: 'upgrade',
  description: 'Show how to upgrade this copy of cadre',
  run: ({ show }) => {
    const found = installationOf(programFile());
    show({ version, ...found }, () => upgradeText(found));
  },
});

function upgradeText({ method, program, directory, command, before }: Installation): string {
  const location = directory === null ? '' : ` in ${directory}`;
  return `cadre ${version} is ${program}, ${kinds[method]}${location}.
To upgrade it:
  1. ${before}
  2. Run: ${command}
  3. Restart the server if one runs: cadre stop, then cadre serve --detach
     (a service: restart it with systemd or launchd)
`;
}

const kinds: Readonly<Record<InstallMethod, string>> = {
  deb: 'installed as a Debian package',
  homebrew: 'installed with Homebrew',
  npm: 'installed with npm',
  'install.sh': 'installed with install.sh',
  make: 'installed with make install',
  checkout: 'built from the checkout',
  archive: 'unpacked from an archive',
};

type InstallMethod = 'deb' | 'homebrew' | 'npm' | 'install.sh' | 'make' | 'checkout' | 'archive';

/** An installed copy of cadre, and how it is upgraded. */
interface Installation {
  method: InstallMethod;
  /** The real path of the program. */
  program: string;
  /** The directory that contains the copy: prefix, checkout or unpacked archive. Null if a package manager chose it. */
  directory: string | null;
  /** The command that upgrades the copy. Words in capital letters are for the user to replace. */
  command: string;
  /** Preparation for the command, or the place where it has to run. */
  before: string;
}

/**
 * Finds out how the copy with this program file was installed. `root` is the directory of the whole system, which tests
 * replace.
 */
export function installationOf(file: string, root = '/'): Installation {
  const program = realPath(file);
  return (
    ofDebian(program, root) ??
    ofHomebrew(program) ??
    ofNpm(program) ??
    ofPrefix(program) ??
    ofCheckout(program) ??
    ofArchive(program)
  );
}

function ofDebian(program: string, root: string): Installation | null {
  const below = `/${path.relative(root, program)}`;
  const owned = read(path.join(root, 'var/lib/dpkg/info/cadre.list'))?.split('\n');
  if (!owned?.includes(below)) return null;
  const command = 'sudo apt-get install ./cadre_VERSION_ARCHITECTURE.deb';
  const before = 'Download the .deb of the new version to the current directory.';
  return { method: 'deb', program, directory: null, command, before };
}

function ofHomebrew(program: string): Installation | null {
  if (!program.includes('/Cellar/cadre/')) return null;
  const before = 'Update the tap that contains the formula.';
  return { method: 'homebrew', program, directory: null, command: 'brew upgrade cadre', before };
}

function ofNpm(program: string): Installation | null {
  const [, above] = /^(.*)\/node_modules\/cadre\/(?:bin|dist)\//.exec(program) ?? [];
  if (above === undefined) return null;
  // A project has a package.json beside node_modules; the global directory of npm has none.
  const isProject = fs.existsSync(path.join(above, 'package.json'));
  const directory = isProject ? above : above.replace(/\/lib$/, '');
  const command = isProject
    ? `npm install --prefix ${shellWord(directory)} ./cadre-VERSION.tgz`
    : `npm install --global --prefix ${shellWord(directory || '/')} ./cadre-VERSION.tgz`;
  const before =
    'Run npm pack in a checkout of the new version. The package needs Node 22.12 or newer.';
  return { method: 'npm', program, directory, command, before };
}

/** A copy with the list of files that `make install` and install.sh write. */
function ofPrefix(program: string): Installation | null {
  const directory = path.dirname(path.dirname(program));
  const documents = path.join(directory, 'share/doc/cadre');
  const isListed = read(path.join(documents, 'installed'))?.split('\n');
  if (!isListed?.some((line) => line.slice(66) === 'bin/cadre')) return null;
  const [by, archives = ''] = read(path.join(documents, 'installed-by'))?.split('\n') ?? [];
  if (by !== 'install.sh') {
    const command = `make install PREFIX=${shellWord(directory)}`;
    const before = 'Change to a checkout of the new version.';
    return { method: 'make', program, directory, command, before };
  }
  const command = `sh install.sh --prefix ${shellWord(directory)} ARCHIVES`;
  const before =
    'Use the install.sh of the new version, and the directory or URL of its archives. ' +
    `This copy came from ${archives}.`;
  return { method: 'install.sh', program, directory, command, before };
}

/** A program in a checkout: in `out` the executable, else the bundle or the source. */
function ofCheckout(program: string): Installation | null {
  const directory = directoriesAbove(program).find((one) =>
    fs.existsSync(path.join(one, 'scripts/package.mjs')),
  );
  if (directory === undefined) return null;
  const isExecutable = path.relative(directory, program).startsWith('out/');
  const command = `make -C ${shellWord(directory)} ${isExecutable ? 'package' : 'build'}`;
  const before = 'Check out the commit of the new version.';
  return { method: 'checkout', program, directory, command, before };
}

function directoriesAbove(file: string): string[] {
  const directory = path.dirname(file);
  return directory === file ? [] : [directory, ...directoriesAbove(directory)];
}

function ofArchive(program: string): Installation {
  const directory = path.dirname(path.dirname(program));
  const target = shellWord(directory);
  const command = `tar -xzf cadre-VERSION-TARGET.tar.gz --strip-components=1 -C ${target}`;
  const before = 'Download the archive of the new version, and check its checksum in SHA256SUMS.';
  return { method: 'archive', program, directory, command, before };
}

function realPath(file: string): string {
  try {
    return fs.realpathSync(file);
  } catch {
    return file; // It was removed or replaced after its start.
  }
}

function read(file: string): string | null {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}
