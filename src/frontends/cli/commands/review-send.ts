import { endpoints } from '../../../api/index.ts';
import { AppError } from '../../../api/errors.ts';
import { sessionId } from '../find.ts';
import type { FollowOptions } from '../talk/follow-options.ts';
import type { CommandContext } from '../world.ts';

interface SendOptions extends FollowOptions {
  queue?: boolean;
  wait: boolean;
  expect?: string;
  model?: string;
  effort?: string;
}

/** `cadre review send`. */
export async function reviewSend(
  context: CommandContext,
  said: string,
  words: readonly string[],
  options: SendOptions,
): Promise<void> {
  const { client, show } = context;
  const { queue = false, wait, expect, model, effort } = options;
  if (queue && expect !== undefined)
    throw new AppError('usage', '--expect cannot be combined with --queue');
  const params = { session_id: await sessionId(client, said) };
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
    return show(sent, () => `Queued ${counted(comments)} as entry ${entry_id}\n`);
  if (!wait) return show(sent, () => `Sent ${counted(comments)} as turn ${turn_id}\n`);
  const { followTurn } = await import('../talk/follow-turn.ts');
  const after = Number(headers['x-seq'] ?? 0);
  const mode = session.permission_mode;
  await followTurn(context, { ...params, turn_id, after, mode }, options);
}

function counted(comments: number): string {
  return comments === 1 ? '1 comment' : `${comments} comments`;
}
