import type { Command } from 'commander';
import { AppError } from '../../../api/errors.ts';
import { LICENSES_FILE, readBuilt } from '../../../core/lib/self.ts';
import type { GlobalOptions } from '../context.ts';
import { licensesIn } from '../licenses.ts';
import { showDocument, type World } from '../world.ts';

/** `cadre licenses`. */
export function licensesCommand(program: Command, world: World): void {
  program
    .command('licenses')
    .description('Print the licenses of the software bundled with cadre')
    .action((_options: object, command: Command) => {
      const bytes = readBuilt(LICENSES_FILE);
      if (!bytes)
        throw new AppError(
          'not_found',
          `the file ${LICENSES_FILE} does not exist: build cadre to create the file`,
        );
      const text = new TextDecoder().decode(bytes);
      showDocument(
        world,
        command.optsWithGlobals<GlobalOptions>(),
        { licenses: licensesIn(text) },
        () => text,
      );
    });
}
