import { endpoints } from '../../../api/index.ts';
import type { ResponseOf } from '../../../api/endpoint.ts';
import { usageError } from '../../../api/errors.ts';
import { oneLine } from '../../../core/lib/plain.ts';
import { clientCommand, type Register } from '../command.ts';
import { sessionArgument, sessionId, turnId } from '../find.ts';
import { ago, table } from '../output.ts';
import { listOptions } from '../output-options.ts';
import type { CommandContext } from '../command-io.ts';

/** The words that switch snapshots. */
export const states = ['on', 'off', 'default'] as const;

const momentOptions = [
  '--at <turn>  Use the version of the files from the end of this turn',
  '--before <turn>  Use the version of the files from the start of this turn',
];

/** The commands of `cadre sessions` for the files that turns changed. */
export const sessionFileCommands: readonly Register[] = [
  clientCommand({
    name: 'snapshots',
    description: 'List the file snapshots of a session, or enable or disable file snapshots',
    parameters: [
      ...listOptions,
      sessionArgument,
      {
        line: '[state]  Whether cadre takes file snapshots from the next turn on (the value default follows the configuration)',
        choices: states,
      },
    ],
    async run(
      { client, show, note, layout, io },
      reference: string,
      state: (typeof states)[number] | undefined,
    ) {
      const params = { session_id: await sessionId(client, reference) };
      const enabled = { on: true, off: false, default: null };
      const found = await (state === undefined
        ? client.call(endpoints.getSnapshots, { params })
        : client.call(endpoints.setSnapshots, { params, body: { enabled: enabled[state] } }));
      show(found, () => {
        if (found.snapshots.length === 0) return '';
        const now = io.clock.now();
        const rows = found.snapshots.map((one) => [
          one.turn_id,
          one.moment,
          ago(one.taken_at, now),
          `${one.took_ms} ms`,
          one.problem ??
            (one.is_late ? 'taken after the turn started' : one.is_whole ? '-' : 'incomplete'),
        ]);
        return table(['TURN', 'MOMENT', 'AGE', 'DURATION', 'REMARK'], rows, layout);
      });
      const none = found.snapshots.length === 0 ? ' (none stored yet)' : '';
      note(`snapshots of this session are ${found.enabled ? 'on' : 'off'}${none}`);
    },
  }),
  clientCommand({
    name: 'files',
    description:
      'List all files of a session that git does not ignore, or only the files that a turn changed',
    parameters: [
      sessionArgument,
      '[path]  Show only files at or below this path, relative to the root of the git checkout',
      ...momentOptions,
      '--tree  List all files at the end of the turn that --at names, instead of only the changed files',
    ],
    async run(
      { client, show, layout },
      reference: string,
      below: string | undefined,
      { tree = false, ...options }: AtOptions & { tree?: boolean },
    ) {
      const params = { session_id: await sessionId(client, reference) };
      const moment = await momentOf(client, params.session_id, options);
      if (moment?.moment === 'end' && !tree) {
        const query = { at: moment.turn_id, stat: true, path: below === undefined ? [] : [below] };
        const found = await client.call(endpoints.getSessionDiff, { params, query });
        const { statText } = await import('../diff-text.ts');
        return show(found, () => statText(found, layout));
      }
      const found = await client.call(endpoints.listSessionFiles, {
        params,
        query: { ...moment, path: below },
      });
      show(found, () => treeText(found));
    },
  }),
  clientCommand({
    name: 'restore',
    description: 'Restore a file to its content at the start or end of a turn',
    parameters: [
      sessionArgument,
      '<file>  Path of the file, relative to the root of the git checkout',
      ...momentOptions,
      '--force  Restore the file even if someone changed it between turns (a copy of the current file is kept)',
    ],
    async run(
      { client, show },
      reference: string,
      file: string,
      { force = false, ...options }: AtOptions & { force?: boolean },
    ) {
      const params = { session_id: await sessionId(client, reference) };
      const moment = await momentOf(client, params.session_id, options);
      if (moment === null) throw usageError('no turn given: pass --at or --before');
      const body = { file, force, ...moment };
      const done = await client.call(endpoints.restoreFile, { params, body });
      show(done, () => {
        if (!done.changed) return `${oneLine(done.path)} is unchanged\n`;
        const kept =
          done.kept_as === null ? '' : `; the previous file is kept as ${oneLine(done.kept_as)}`;
        return `Restored ${oneLine(done.path)} to the ${done.moment} of turn ${done.turn_id}${kept}\n`;
      });
    },
  }),
];

interface AtOptions {
  at?: string;
  before?: string;
}

function treeText({
  files: listed,
  is_cut,
}: ResponseOf<typeof endpoints.listSessionFiles>): string {
  const lines = listed.map((one) => `${oneLine(one.path)}\n`).join('');
  return is_cut ? `${lines}…\n` : lines;
}

/** The moment that the options name; null: none. */
async function momentOf(
  client: CommandContext['client'],
  session: string,
  { at, before }: AtOptions,
): Promise<{ turn_id: string; moment: 'start' | 'end' } | null> {
  if (at !== undefined && before !== undefined)
    throw usageError('pass either --at or --before, not both');
  if (at !== undefined) return { turn_id: await turnId(client, at, session), moment: 'end' };
  if (before === undefined) return null;
  return { turn_id: await turnId(client, before, session), moment: 'start' };
}
