import {
  type EventOf,
  isDescribed,
  isIn,
  type KindIn,
  type RuntimeEventRecord,
} from '../../../api/events.ts';
import type { Goal } from '../../../api/goals.ts';
import { endpoints } from '../../../api/index.ts';
import { paletteFor } from '../../terminal/palette.ts';
import { exitCodes } from '../exit.ts';
import { checkText, reasons } from '../goal-text.ts';
import { waitText } from '../limit-text.ts';
import { plain, shortId } from '../output.ts';
import { jsonFor, type CommandContext } from '../command-io.ts';
import { askerOf } from './ask.ts';
import { type FollowOptions, reconnectMs } from './follow-options.ts';
import { StandardTurnOutput } from './turn-output.ts';
import { markSeen } from './seen.ts';
import { sessionEvents } from './session-events.ts';
import { exitCodeOf, howItEnded, isEnding, whatWasDeclined } from './turn-end.ts';
import { SilenceNote } from './silence.ts';
import { TurnText } from './turn-text.ts';

/** A turn that was accepted. The events of its session after the seq `after` contain all of it. */
export interface Accepted {
  session_id: string;
  turn_id: string;
  after: number;
  /** The permission mode that applies to it; null: nobody has chosen one. */
  mode: string | null;
}

/**
 * Streams a turn to its end, or all turns of its session until `goal` has ended. Messages of the agent go to stdout, and its
 * tools and notices to stderr. With `--json`, each event is a line of stdout. Asks for approvals on the terminal. SIGINT and
 * SIGTERM interrupt the turn, and a second signal ends the command at once. Sets the exit code by the outcome of the turn or
 * goal, or to `refused` if a person leaves a request open. Throws `unreachable` if the server stays away for longer than the
 * options allow.
 */
export async function followTurn(
  context: CommandContext,
  { after, mode, ...params }: Accepted,
  options: FollowOptions,
  goal: Goal | null = null,
): Promise<void> {
  const { io, client, global } = context;
  const followed = new FollowedTurns(params, goal);
  const signal = io.interrupted();
  const turnOutput = new StandardTurnOutput(io);
  const leaving = new AbortController();
  const asker = askerOf(context, turnOutput, {
    stopped: AbortSignal.any([signal, leaving.signal]),
    onLeave: () => leaving.abort(),
    leavesWithLater: true,
  });
  const palette = paletteFor(io.stderr, io.env);
  const text = new TurnText({ turnOutput, asker, palette, isVerbose: options.verbose === true });
  using silence = new SilenceNote(context, params.session_id, turnOutput);
  const interrupt = () => {
    io.stderr.write('\ncadre: interrupting the turn; press Ctrl-C again to exit at once\n');
    void followed.interrupt(client);
  };
  // The signal may have come while the session was created.
  if (signal.aborted) interrupt();
  else signal.addEventListener('abort', interrupt, { once: true });
  const exit = (code: number) => {
    signal.removeEventListener('abort', interrupt);
    io.exit(code);
  };
  const exitAfterEnd = (code: number) => exit(signal.aborted ? Number(signal.reason) : code);
  const events = sessionEvents(context, {
    sessionId: params.session_id,
    after,
    reconnectMs: reconnectMs(options, io),
    signal: leaving.signal,
    report: (line) => turnOutput.status(line),
    onReturn: () => global.json || asker.askedIn(params.session_id),
  });
  for await (const event of events) {
    if (!followed.includes(event)) continue;
    if (global.json) io.stdout.write(`${jsonFor(io, event)}\n`);
    else {
      silence.take(event);
      text.write(event);
    }
    if (global.json && io.stderr.isTTY) howToAnswer(event, io);
    if (isIn('goal', event)) {
      if (!global.json) for (const line of linesOf(event)) turnOutput.status(`cadre: ${line}\n`);
      if (event.kind !== 'goal.ended') continue;
      const isPassed = event.payload.goal.status === 'passed';
      return exitAfterEnd(isPassed ? exitCodes.ok : exitCodes.notPassed);
    }
    if (!isEnding(event)) continue;
    await asker.idle();
    const { turn } = event.payload;
    if (!global.json) turnOutput.status(howItEnded(turn) + whatWasDeclined(turn));
    if (!global.json && turn.error?.code === 'usage_limit')
      await noteLimit(context, params, turnOutput);
    // A failed turn calls for a person in all lists until its session is opened.
    if (turn.status !== 'failed') await markSeen(context, params.session_id, event.seq);
    if (goal) continue;
    return exitAfterEnd(exitCodeOf(turn, mode));
  }
  // A request was left open: nobody has allowed what the turn waits for.
  await asker.idle();
  exit(exitCodes.refused);
}

/** The turns that a command follows: one, or with a goal each turn of the session until the goal has ended. */
class FollowedTurns {
  readonly #goal: Goal | null;
  readonly #params: { session_id: string; turn_id: string };
  /** Events of a repeated command begin with the session, and so with its earlier turns. */
  #hasBegun = false;

  constructor(params: { session_id: string; turn_id: string }, goal: Goal | null) {
    this.#goal = goal;
    this.#params = { ...params };
  }

  includes(event: RuntimeEventRecord): boolean {
    if (this.#goal && isIn('goal', event)) return event.payload.goal.goal_id === this.#goal.goal_id;
    this.#hasBegun ||= event.turn_id === this.#params.turn_id;
    if (this.#goal && this.#hasBegun && event.kind === 'turn.accepted' && event.turn_id !== null)
      this.#params.turn_id = event.turn_id;
    return event.turn_id === this.#params.turn_id;
  }

  /** Interrupts the running turn, which ends the goal; without one, cancels the goal. */
  async interrupt(client: CommandContext['client']): Promise<void> {
    const params = { ...this.#params };
    try {
      await client.call(endpoints.interruptTurn, { params, body: {} });
    } catch {
      if (this.#goal) await client.call(endpoints.cancelGoal, { params }).catch(() => undefined);
    }
  }
}

/** The lines for people about an event of a goal. */
function linesOf({ kind, payload: { goal } }: EventOf<KindIn<'goal'>>): string[] {
  if (kind === 'goal.checked') return [plain(checkText(goal))];
  const { reason } = goal;
  if (kind !== 'goal.ended' || reason === null) return [];
  return [`no check has passed: ${reasons[reason]}`];
}

/** Says on the terminal of a command that writes JSON how a request is answered, for which the turn waits. */
function howToAnswer(event: RuntimeEventRecord, { stderr }: CommandContext['io']): void {
  if (!isDescribed(event) || event.kind !== 'approval.requested') return;
  const { id, title } = event.payload.approval;
  stderr.write(
    `cadre: the agent requests approval: ${plain(title)}: answer with cadre approvals accept ${shortId(id)}\n`,
  );
}

/** Says until when the session waits for the usage limit that has ended its turn. */
async function noteLimit(
  { client, io }: CommandContext,
  { session_id }: { session_id: string },
  turnOutput: StandardTurnOutput,
): Promise<void> {
  const params = { session_id };
  const { usage_limit: limit } = await client.call(endpoints.getSession, { params });
  if (!limit) return;
  const { holds } = await client.call(endpoints.getSessionQueue, { params });
  const others = holds.filter(({ code }) => code !== 'usage_limit');
  const words = others.map(({ message }) => plain(message));
  turnOutput.status(`cadre: ${waitText(limit, io.clock.now(), words)}\n`);
}
