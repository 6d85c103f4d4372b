import type { Command } from 'commander';
import { commit, version } from '../../../core/lib/self.ts';
import type { GlobalOptions } from '../context.ts';
import { showDocument, type World } from '../world.ts';

/** `cadre version`. */
export function versionCommand(program: Command, world: World): void {
  program
    .command('version')
    .description('Print the version of cadre')
    .action((_options: object, command: Command) => {
      const value = { name: 'cadre', version, commit, node: process.version };
      showDocument(
        world,
        command.optsWithGlobals<GlobalOptions>(),
        value,
        () => `cadre ${version} (${commit}, node ${process.version})\n`,
      );
    });
}
