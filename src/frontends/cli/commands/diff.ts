import { endpoints } from '../../../api/index.ts';
import { clientCommand } from '../command.ts';
import { sessionArgument, sessionId, turnId } from '../find.ts';
import { jsonFor } from '../command-io.ts';

interface DiffOptions {
  stat?: boolean;
  head?: boolean;
  since?: string;
  at?: string;
}

export const diffCommand = clientCommand({
  name: 'diff',
  description: 'Show the committed and uncommitted changes of a session',
  parameters: [
    sessionArgument,
    '[path...]  Show only files at or below these paths, relative to the root of the git checkout',
    '--stat  Show only the changed files and the number of changed lines in each file',
    '--head  Show only changes that are not committed',
    '--since <turn>  Show changes since the start of this turn (requires a file snapshot of the turn)',
    '--at <turn>  Show only changes of this turn (with --since: all changes up to the end of this turn)',
  ],
  async run(
    { io, client, global, layout },
    reference: string,
    paths: string[],
    { stat = false, head = false, since, at }: DiffOptions,
  ) {
    const params = { session_id: await sessionId(client, reference) };
    const against = head ? ('head' as const) : ('start' as const);
    const query = {
      against,
      path: paths,
      stat,
      exact: !stat && !global.json && !layout.isTerminal,
      since: since === undefined ? undefined : await turnId(client, since, params.session_id),
      at: at === undefined ? undefined : await turnId(client, at, params.session_id),
    };
    const found = await client.call(endpoints.getSessionDiff, { params, query });
    if (global.json) {
      io.stdout.write(`${jsonFor(io, found, 2)}\n`);
      return;
    }
    const { diffNotes, diffText, statText } = await import('../diff-text.ts');
    const { writePaged } = await import('../session/pager.ts');
    await writePaged(stat ? statText(found, layout) : diffText(found, layout), io);
    for (const note of diffNotes(found, query)) io.stderr.write(`cadre: ${note}\n`);
  },
});
