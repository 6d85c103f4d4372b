import { configOption } from '../output-options.ts';
import path from 'node:path';
import { backUp } from '../db/backup.ts';
import { check, type Checked, type Finding } from '../db/check.ts';
import {
  type ReplaceOptions,
  restore,
  restoredText,
  rollBack,
  rolledBackText,
} from '../db/replace.ts';
import { commandGroup, localCommand } from '../command.ts';
import { exitCodes } from '../exit.ts';
import { mebibytes, plain } from '../output.ts';
import type { LocalContext } from '../command-io.ts';
import { counted } from '../../../core/lib/counted.ts';

export const dbCommands = commandGroup('db', 'Back up, check, restore and roll back the database', [
  localCommand({
    name: 'backup',
    description: 'Back up the database to one file (also possible while the server runs)',
    parameters: ['<file>  Backup file to create (the file must not exist yet)', configOption],
    help: '\nTo use the backup as the database of a new data directory, name the backup file events.cadre.',
    run: async ({ io, global, show }, file: string) => {
      const copied = await backUp(io, global, path.resolve(io.cwd(), file));
      const { path: to, bytes, seq } = copied;
      show(copied, () => `Backed up to ${to} (${bytes} bytes, up to event ${seq})\n`);
    },
  }),
  localCommand({
    name: 'check',
    description: 'Check the stored data or a backup for damage (exit code 1 if data is damaged)',
    parameters: [
      '[file]  Backup file to check (default: the database, the logs, the images and the search index)',
      configOption,
    ],
    run: async ({ io, global, show }, file: string | undefined) => {
      const report = await check(io, global, file);
      const rows = report.tables.reduce((sum, table) => sum + table.rows, 0);
      const ok = report.damage.length === 0;
      show({ ok, rows, ...report }, () =>
        [...report.damage.map(lineOf), summaryOf(rows, report)].join(''),
      );
      if (!ok) io.exit(exitCodes.failed);
    },
  }),
  localCommand({
    name: 'restore',
    description:
      'Restore a backup in place of a lost or damaged database (the server must be stopped)',
    parameters: [
      '<file>  Backup file that cadre db backup created',
      '--yes  Replace an existing database without asking for confirmation',
      configOption,
    ],
    run: async (context: LocalContext<ReplaceOptions>, file: string) =>
      showReplaced(context, await restore(context.io, context.global, file), (restored) =>
        restoredText(restored, context.global),
      ),
  }),
  localCommand({
    name: 'rollback',
    description:
      'Restore the data from before an upgrade of cadre (the server must be stopped; the replaced data is kept in a file)',
    parameters: [
      '[file]  File with the data to restore (default: the newest copy that a server saved before an upgrade)',
      '--yes  Roll back without asking for confirmation',
      configOption,
    ],
    run: async (context: LocalContext<ReplaceOptions>, file: string | undefined) =>
      showReplaced(context, await rollBack(context.io, context.global, file), (done) =>
        rolledBackText(done, context.global),
      ),
  }),
]);

/** Shows the result of a command that replaces the database; null means that the user declined. */
function showReplaced<Done extends object>(
  { io, show }: LocalContext,
  done: Done | null,
  textOf: (done: Done) => string,
): void {
  if (done) return show(done, () => textOf(done));
  io.stderr.write('cadre: nothing was changed\n');
  io.exit(exitCodes.refused);
}

function summaryOf(rows: number, { bytes, logs, images, search, damage }: Checked): string {
  const parts = [
    `${rows} rows in ${mebibytes(bytes)}`,
    ...(logs && logs.files > 0 ? [logsText(logs)] : []),
    ...(images && images.files > 0 ? [counted(images.files, 'image')] : []),
    ...(search ? [indexText(search)] : []),
  ];
  return `Checked ${parts.join(', ')}: ${damage.length === 0 ? 'ok' : `${damage.length} damaged`}\n`;
}

function logsText({ files, unverified }: NonNullable<Checked['logs']>): string {
  return `${counted(files, 'log')}${unverified > 0 ? ` (${unverified} without checksums)` : ''}`;
}

function indexText({ state, texts }: NonNullable<Checked['search']>): string {
  if (state === 'outdated') return 'no search index (the server builds it again)';
  return state === 'changing' ? 'no search index (in use)' : `${texts} texts of the search index`;
}

function lineOf({ table, row, file, problem }: Finding): string {
  const location = [file ?? table ?? 'file', ...(row === null ? [] : [`row ${row}`])].join(', ');
  return `${location}: ${plain(problem).replaceAll(/\s+/g, ' ')}\n`;
}
