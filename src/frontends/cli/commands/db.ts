import path from 'node:path';
import type { Command } from 'commander';
import type { Corruption } from '../../../core/store/check.ts';
import type { GlobalOptions } from '../context.ts';
import { backUp } from '../db/backup.ts';
import { check } from '../db/check.ts';
import { restore, restoredText } from '../db/restore.ts';
import { rollBack, rolledBackText } from '../db/rollback.ts';
import { exitCodes } from '../exit.ts';
import { mebibytes, plain } from '../output.ts';
import { showDocument, type World } from '../world.ts';

/** `cadre db …`. */
export function dbCommands(program: Command, world: World): void {
  const db = program
    .command('db')
    .description(
      'the database: copies of it, whether it is whole, and the way back from an upgrade',
    );
  copyCommands(db, world);
  restoreCommand(db, world);
  rollbackCommand(db, world);
}

/** These commands work with a running server and without one. */
function copyCommands(db: Command, world: World): void {
  db.command('backup')
    .description(
      'copy the database into one file, also while the server runs: the events.cadre of a new data directory',
    )
    .argument('<file>', 'the copy; it must not be there yet')
    .option('--config <file>', 'the configuration (CADRE_CONFIG)')
    .action(async (file: string, _options: object, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>();
      const copied = await backUp(world, options, path.resolve(world.cwd(), file));
      showDocument(
        world,
        options,
        copied,
        () => `${copied.path}  ${copied.bytes} bytes, up to seq ${copied.seq}\n`,
      );
    });

  db.command('check')
    .description('check the database, or a copy of it; ends with 1 where something is damaged')
    .argument('[file]', 'a copy; default: the database itself')
    .option('--config <file>', 'the configuration (CADRE_CONFIG)')
    .action(async (file: string | undefined, _options: object, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>();
      const report = await check(world, options, file);
      const rows = report.tables.reduce((sum, table) => sum + table.rows, 0);
      const ok = report.damage.length === 0;
      const summary = `${rows} rows checked in ${mebibytes(report.bytes)}: ${ok ? 'ok' : `${report.damage.length} damaged`}\n`;
      showDocument(world, options, { ok, rows, ...report }, () =>
        [...report.damage.map(lineOf), summary].join(''),
      );
      if (!ok) world.exit(exitCodes.failed);
    });
}

function restoreCommand(db: Command, world: World): void {
  db.command('restore')
    .description('Restore a backup in place of a lost or damaged database; no server may run')
    .argument('<file>', 'Backup made by cadre db backup')
    .option('--yes', 'Replace an existing database without asking')
    .option('--config <file>', 'the configuration (CADRE_CONFIG)')
    .action(async (file: string, _options: object, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & { yes?: boolean }>();
      const done = await restore(world, options, file);
      if (done) return showDocument(world, options, done, () => restoredText(done));
      world.stderr.write('nothing was changed\n');
      world.exit(exitCodes.refused);
    });
}

function rollbackCommand(db: Command, world: World): void {
  db.command('rollback')
    .description(
      'go back to the data from before an upgrade; no server may run. What is replaced is kept in a file',
    )
    .argument(
      '[file]',
      'another copy; default: the newest one that a start made of an older format',
    )
    .option('--yes', 'do it without asking')
    .option('--config <file>', 'the configuration (CADRE_CONFIG)')
    .action(async (file: string | undefined, _options: object, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & { yes?: boolean }>();
      const done = await rollBack(world, options, file);
      if (done) return showDocument(world, options, done, () => rolledBackText(done));
      world.stderr.write('nothing was changed\n');
      world.exit(exitCodes.refused);
    });
}

function lineOf({ table, row, problem }: Corruption): string {
  const place = [table ?? 'file', ...(row === null ? [] : [`row ${row}`])].join(', ');
  return `${place}: ${plain(problem).replaceAll(/\s+/g, ' ')}\n`;
}
