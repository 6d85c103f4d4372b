import type { TurnInEvents } from '../../../api/event-kinds/sessions.ts';
import type { EventOf, RuntimeEventRecord } from '../../../api/events.ts';
import { endpoints } from '../../../api/index.ts';
import { paletteFor } from '../../terminal/palette.ts';
import { exitCodes } from '../exit.ts';
import { waitText } from '../limit-text.ts';
import { plain } from '../output.ts';
import { jsonFor, type CommandContext } from '../world.ts';
import { askerOf } from './ask.ts';
import { type FollowOptions, reconnectMs } from './follow-options.ts';
import { StandardTalkOutput } from './talk-output.ts';
import { markSeen } from './seen.ts';
import { sessionEvents } from './session-events.ts';
import { SilenceNote } from './silence.ts';
import { TurnText } from './turn-text.ts';

/** A turn that was accepted. The events of its session after the seq `after` contain all of it. */
export interface Accepted {
  session_id: string;
  turn_id: string;
  after: number;
}

/**
 * Streams a turn to its end: the agent's messages to stdout and what it does to stderr; with `--json` every event to
 * stdout, as a line. Asks for approvals on the terminal. INT and TERM interrupt the turn; a second one ends the command
 * at once. Sets the exit code by the outcome of the turn. Throws `unreachable` where the server stays away for longer
 * than the options allow.
 */
export async function followTurn(
  context: CommandContext,
  { after, ...params }: Accepted,
  options: FollowOptions,
): Promise<void> {
  const { world, client, global } = context;
  const signal = world.interrupted();
  const talkOutput = new StandardTalkOutput(world);
  const asker = askerOf(context, talkOutput, signal);
  const palette = paletteFor(world.stderr, world.env);
  const text = new TurnText({ talkOutput, asker, palette, isVerbose: options.verbose === true });
  using silence = new SilenceNote(context, params.session_id, talkOutput);
  const interrupt = () => {
    world.stderr.write('\ncadre: interrupting the turn; press Ctrl-C again to exit at once\n');
    client.call(endpoints.interruptTurn, { params, body: {} }).catch(() => undefined);
  };
  signal.addEventListener('abort', interrupt, { once: true });
  const events = sessionEvents(context, {
    sessionId: params.session_id,
    after,
    reconnectMs: reconnectMs(options, world),
    tell: (line) => talkOutput.status(line),
    onReturn: () => global.json || asker.askedIn(params.session_id),
  });
  for await (const event of events) {
    if (event.turn_id !== params.turn_id) continue;
    if (global.json) world.stdout.write(`${jsonFor(world, event)}\n`);
    else {
      silence.take(event);
      text.write(event);
    }
    if (!isEnding(event)) continue;
    await asker.idle();
    signal.removeEventListener('abort', interrupt);
    const { turn } = event.payload;
    if (!global.json) talkOutput.status(howItEnded(turn));
    if (!global.json && turn.error?.code === 'usage_limit')
      await noteLimit(context, params, talkOutput);
    // A failed turn calls for a person in all lists until its session is opened.
    if (turn.status !== 'failed') await markSeen(context, params.session_id, event.seq);
    world.exit(signal.aborted ? Number(signal.reason) : exitCodeOf(turn));
    return;
  }
}

/** Says until when the session waits for the usage limit that has ended its turn. */
async function noteLimit(
  { client, world }: CommandContext,
  { session_id }: { session_id: string },
  talkOutput: StandardTalkOutput,
): Promise<void> {
  const params = { session_id };
  const { usage_limit: limit } = await client.call(endpoints.getSession, { params });
  if (!limit) return;
  const { holds } = await client.call(endpoints.getSessionQueue, { params });
  const others = holds.filter(({ code }) => code !== 'usage_limit');
  const words = others.map(({ message }) => plain(message));
  talkOutput.status(`cadre: ${waitText(limit, world.clock.now(), words)}\n`);
}

type TurnEnding = EventOf<'turn.completed' | 'turn.interrupted' | 'turn.failed'>;

export function isEnding(event: RuntimeEventRecord): event is TurnEnding {
  return ['turn.completed', 'turn.interrupted', 'turn.failed'].includes(event.kind);
}

/** A line for a turn that did not end well. */
export function howItEnded({ status, error }: Pick<TurnInEvents, 'status' | 'error'>): string {
  if (status === 'completed') return '';
  const how = status === 'failed' ? 'the turn failed' : 'the turn was interrupted';
  return `cadre: ${error ? `${how}: ${plain(error.message)}` : how}\n`;
}

export function exitCodeOf({ status, error }: Pick<TurnInEvents, 'status' | 'error'>): number {
  if (status === 'completed') return exitCodes.ok;
  return error?.code === 'permission_required' ? exitCodes.refused : exitCodes.failed;
}
