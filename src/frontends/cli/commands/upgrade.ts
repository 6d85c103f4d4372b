import type { Command } from 'commander';
import { programFile, version } from '../../../core/lib/self.ts';
import type { GlobalOptions } from '../context.ts';
import { type Installation, installationOf, type InstallMethod } from '../installation.ts';
import { showDocument, type World } from '../world.ts';

/** `cadre upgrade`: it downloads and changes nothing. */
export function upgradeCommand(program: Command, world: World): void {
  program
    .command('upgrade')
    .description('Show how to upgrade this copy of cadre')
    .action((_options: object, command: Command) => {
      const found = installationOf(programFile());
      showDocument(world, command.optsWithGlobals<GlobalOptions>(), { version, ...found }, () =>
        upgradeText(found),
      );
    });
}

function upgradeText({ method, program, directory, command, before }: Installation): string {
  const place = directory === null ? '' : ` in ${directory}`;
  return `cadre ${version} is ${program}, ${kinds[method]}${place}.
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
