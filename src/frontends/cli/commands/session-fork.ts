import { endpoints } from '../../../api/index.ts';
import { turnId } from '../find.ts';
import { endpointCommand, type Reading } from '../endpoint-command.ts';
import { labelOf, plain, shortId } from '../output.ts';
import { required, session } from '../parameters.ts';
import type { Session } from '../../../api/sessions.ts';
import { counted } from '../../../core/lib/counted.ts';

type Origin = NonNullable<Session['forked_from']>;

const title = '--title <title>  Title of the new session';

/** A turn of the session that an earlier parameter names, by its id or the end of it. */
function turnOption(line: string) {
  return {
    line,
    read: async (said: string, { client, fields }: Reading) => ({
      turn_id: await turnId(client, said, String(fields.session_id)),
    }),
  };
}

export const sessionFork = endpointCommand({
  name: 'fork',
  description: 'Open a session with the same agent and the history of another session up to a turn',
  endpoint: endpoints.forkSession,
  parameters: [
    session,
    turnOption('--at <turn>  Last turn of the history (default: newest completed turn)'),
    {
      line: '--worktree [name]  Name of a git worktree for the new session (default: directory of the session)',
      read: (name: string | true) => ({
        worktree: name === true ? (true as const) : { worktree_name: name },
      }),
    },
    '--files  Give the new worktree the files from the end of the turn',
    title,
  ],
  print: (forked) => forkedText('Forked', forked),
});

export const sessionRewind = endpointCommand({
  name: 'rewind',
  description: 'Continue a session from an earlier turn in a new session, and close the session',
  endpoint: endpoints.rewindSession,
  parameters: [
    session,
    required(turnOption('--to <turn>  Turn to rewind to')),
    '--files  Restore the files to the end of the turn',
    title,
  ],
  confirm: (said) => `close session "${said}", and continue from the earlier turn?`,
  print: (rewound) => forkedText('Rewound', rewound),
});

/** The session or the conversation that a session was forked from. */
export function originText({ session_id, conversation }: Origin): string {
  return session_id === null
    ? `conversation ${plain(conversation ?? '')}`
    : `session ${session_id}`;
}

function forkedText(done: string, { id, title: name, forked_from: from }: Session): string {
  const history = counted(from?.past_turns ?? 0, 'past turn');
  return `${done} session ${shortId(from?.session_id ?? '')}: session ${labelOf(id, name)} has ${history}\nContinue with cadre sessions send ${plain(shortId(id))}\n`;
}
