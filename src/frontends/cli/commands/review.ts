import { endpoints } from '../../../api/index.ts';
import type { Review, ReviewComment } from '../../../api/reviews.ts';
import { notFoundError, usageError } from '../../../api/errors.ts';
import { anchorOf } from '../../../core/lib/diff-anchor.ts';
import { readPatches } from '../../../core/lib/unified-diff.ts';
import { confirmChoice } from '../choose.ts';
import { clientCommand, optional } from '../command.ts';
import { commentArgument, commentId, sessionArgument, sessionId } from '../find.ts';
import { recordOptions } from '../output-options.ts';
import { type FollowOptions, followOptions } from '../session/follow-options.ts';
import { type CommandContext, terminalOf } from '../command-io.ts';
import { oneLine, revealed } from '../../../core/lib/plain.ts';
import type { Layout } from '../layout.ts';
import { shortId } from '../output.ts';
import { counted } from '../../../core/lib/counted.ts';

/** `cadre review …`: comments on lines of what a session has changed, sent as one turn. */
export const reviewCommands = clientCommand({
  name: 'review',
  description: 'Comment on changes, and send the comments to the agent',
  parameters: [
    optional(sessionArgument),
    '[text...]  Text of the review comment (only with --comment)',
    '--comment <place>  Add a comment on one line (FILE:LINE) or several lines (FILE:FIRST-LAST) without an editor',
    '--removed  Use the line numbers of the file before the change (only with --comment)',
  ],
  // Adds a comment, or opens the diff with all comments in an editor.
  async run(
    context,
    reference: string | undefined,
    words: readonly string[],
    { comment, removed = false }: ReviewOptions,
  ) {
    if (reference === undefined) throw usageError('no session given: see cadre review --help');
    const session = await sessionId(context.client, reference);
    if (comment !== undefined)
      return addComment(context, session, comment, words.join(' '), removed);
    if (words.length > 0 || removed)
      throw usageError(
        'a comment text and the option --removed require --comment: pass --comment FILE:LINE',
      );
    await inEditor(context, session);
  },
  commands: [
    clientCommand({
      name: 'show',
      description: 'Show review comments that you have not sent to the agent yet',
      parameters: [...recordOptions, sessionArgument],
      async run({ client, show, note, layout }, reference: string) {
        const params = { session_id: await sessionId(client, reference) };
        const found = await client.call(endpoints.getReview, { params });
        show(found, () => reviewText(found, layout));
        if (found.comments.length === 0)
          note(`no comments: add some with cadre review ${reference}`);
      },
    }),
    clientCommand({
      name: 'remove',
      alias: 'drop',
      description: 'Remove a review comment, or all review comments of a session',
      parameters: [
        sessionArgument,
        optional(commentArgument),
        '--all  Remove all review comments of the session',
        '--yes  Remove the review comments without asking for confirmation',
      ],
      async run(
        { client, show, io },
        reference: string,
        comment: string | undefined,
        { all = false, yes = false }: DropOptions,
      ) {
        if ((comment === undefined) !== all) throw usageError('pass either a comment or --all');
        const session_id = await sessionId(client, reference);
        if (comment !== undefined) {
          const comment_id = await commentId(client, comment, session_id);
          const dropped = await client.call(endpoints.dropReviewComment, {
            params: { session_id, comment_id },
          });
          return show(dropped, () => `Removed comment ${dropped.id}\n`);
        }
        const params = { session_id };
        const found = await client.call(endpoints.getReview, { params });
        if (!yes) {
          const question = `remove all ${found.comments.length} comments? Their text is deleted.`;
          const refusal = 'the comments were not removed, because you did not confirm';
          await confirmChoice(io, question, ['remove them', 'keep them'], refusal);
        }
        const left = await client.call(endpoints.dropReview, { params });
        show(left, () => `Removed ${counted(found.comments.length, 'comment')}\n`);
      },
    }),
    clientCommand({
      name: 'send',
      description: 'Send all review comments as one prompt, and stream the answer of the agent',
      parameters: [
        sessionArgument,
        '[text...]  Text to place before the comments in the prompt',
        '--queue  Queue the comments, and send them when the session is idle',
        '--no-wait  Exit without waiting until the turn ends',
        '--expect <turn>  Send only if the most recent turn of the session has this id',
        '--model <model>  Model of the agent for this turn',
        '--effort <effort>  Reasoning effort of the model for this turn',
        ...followOptions,
      ],
      async run(context, reference: string, words: readonly string[], options: SendOptions) {
        const { client, show } = context;
        const { queue = false, wait, expect, model, effort } = options;
        if (queue && expect !== undefined)
          throw usageError('--expect cannot be combined with --queue');
        const params = { session_id: await sessionId(client, reference) };
        // Whatever the turn does comes after what the log holds now.
        const { value: session, headers } = await client.ask(endpoints.getSession, { params });
        const sent = await client.call(endpoints.sendReview, {
          params,
          body: {
            text: words.join(' '),
            queue,
            expected_turn_id: expect,
            model,
            thinking_effort: effort,
          },
        });
        const { turn_id, entry_id, comments } = sent;
        if (turn_id === null)
          return show(sent, () => `Queued ${counted(comments, 'comment')} as entry ${entry_id}\n`);
        if (!wait)
          return show(sent, () => `Sent ${counted(comments, 'comment')} as turn ${turn_id}\n`);
        const { followTurn } = await import('../session/follow-turn.ts');
        const after = Number(headers['x-seq'] ?? 0);
        const mode = session.permission_mode;
        await followTurn(context, { ...params, turn_id, after, mode }, options);
      },
    }),
  ],
});

interface ReviewOptions {
  comment?: string;
  removed?: boolean;
}

async function addComment(
  { client, show }: CommandContext,
  session_id: string,
  location: string,
  text: string,
  isRemoved: boolean,
): Promise<void> {
  if (text.trim() === '')
    throw usageError('the comment has no text: pass the text of the comment after the session');
  const params = { session_id };
  const { path, first_line, last_line } = locationIn(location);
  const wanted = {
    path,
    first_line,
    last_line,
    side: isRemoved ? ('old' as const) : ('new' as const),
  };
  const diff = await client.call(endpoints.getSessionDiff, { params });
  const anchor = anchorOf(readPatches(diff.files), wanted);
  if (!anchor) {
    const isKnown = diff.files.some((file) => file.path === path || file.old_path === path);
    throw notFoundError(
      isKnown
        ? `the diff does not contain all lines of ${location} in one hunk: see cadre diff`
        : `file "${path}" is not in the diff: see cadre diff --stat`,
    );
  }
  const body = { ...anchor, text };
  const added = await client.call(endpoints.addReviewComment, { params, body });
  show(added, () => `Added comment ${added.id} on ${location}\n`);
}

/** FILE:LINE or FILE:FIRST-LAST. */
function locationIn(location: string): { path: string; first_line: number; last_line: number } {
  const [, path = '', first = '', last = first] = /^(.+):(\d+)(?:-(\d+))?$/s.exec(location) ?? [];
  const [first_line, last_line] = [Number(first), Number(last)];
  if (path !== '' && first_line >= 1 && last_line >= first_line)
    return { path, first_line, last_line };
  throw usageError(`invalid --comment "${location}": expected FILE:LINE or FILE:FIRST-LAST`);
}

async function inEditor(context: CommandContext, session_id: string): Promise<void> {
  const { client, io, note, show } = context;
  if (!terminalOf(io))
    throw usageError(
      'not a terminal, so no editor can be opened: pass --comment FILE:LINE and the text of the comment',
    );
  // Ctrl-C is for the editor.
  io.interrupted();
  const { editReview, readDiffAndReview } = await import('../../../client/review.ts');
  const { reviewFile } = await import('../../terminal/review-file.ts');
  const { editorOf } = await import('../editor.ts');
  const read = await readDiffAndReview(client, session_id);
  const changed = await editReview(client, read, reviewFile, editorOf(io.env));
  show(changed, () => reviewText(changed, context.layout));
  if (changed.comments.length > 0)
    note(`send the comments with cadre review send ${shortId(session_id)}`);
}

interface DropOptions {
  all?: boolean;
  yes?: boolean;
}

/** The comments of a review, each with its location, its lines and what it says; nothing for none. */
function reviewText({ comments }: Review, layout: Layout): string {
  return comments.map((one) => commentText(one, layout)).join('\n');
}

function commentText(comment: ReviewComment, { palette }: Layout): string {
  const { id, lines, text } = comment;
  const stale = staleText(comment);
  const head = `${shortId(id)}  ${locationText(comment)}${stale === '' ? '' : `  ${palette.warn(stale)}`}`;
  const quoted = lines.map((line) => {
    const shown = `    ${revealed(line)}`;
    if (line.startsWith('+')) return palette.added(shown);
    return line.startsWith('-') ? palette.removed(shown) : shown;
  });
  const shownText = text.split('\n').map((line) => `  ${revealed(line)}`);
  return [head, ...quoted, ...shownText].map((line) => `${line.trimEnd()}\n`).join('');
}

function locationText({ path, side, first_line, last_line }: ReviewComment): string {
  const lines = first_line === last_line ? `${first_line}` : `${first_line}-${last_line}`;
  return `${oneLine(path)}:${lines}${side === 'old' ? ' (removed)' : ''}`;
}

function staleText({ state, found_at }: ReviewComment): string {
  if (state === 'moved') return `stale: now at line ${found_at}`;
  if (state === 'changed') return 'stale: its lines have changed';
  return state === 'gone' ? 'stale: no longer in the diff' : '';
}

interface SendOptions extends FollowOptions {
  queue?: boolean;
  wait: boolean;
  expect?: string;
  model?: string;
  effort?: string;
}
