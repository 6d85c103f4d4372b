import { endpoints } from '../../../api/index.ts';
import type { Session, Turn } from '../../../api/sessions.ts';
import type { Client } from '../../../client/client.ts';
import { AppError } from '../../../api/errors.ts';
import { durationText } from '../../terminal/time.ts';
import { clientCommand } from '../command.ts';
import { exitCodes } from '../exit.ts';
import { sessionArgument, sessionId } from '../find.ts';
import { listOptions } from '../output-options.ts';
import { milliseconds } from '../option-values.ts';
import { plain, shortId, table } from '../output.ts';
import { countOf, exitCodeOf, isEnding, modeOf } from '../talk/turn-end.ts';
import { reconnectMs, reconnectOption } from '../talk/follow-options.ts';
import { sessionEvents } from '../talk/session-events.ts';
import type { CommandContext } from '../world.ts';

interface WaitOptions {
  timeout?: number;
  any?: boolean;
  reconnect?: number;
}

interface Idle {
  session: Session;
  turn: Turn | null;
}

export const sessionWait = clientCommand({
  name: 'wait',
  description:
    'Wait until sessions are idle (exit code 0 if the last turn of each session succeeded)',
  parameters: [
    ...listOptions,
    sessionArgument.replace('>', '...>'),
    '--any  Wait until any one of the sessions is idle, instead of all sessions',
    {
      line: '--timeout <duration>  Maximum wait time (default: no limit)',
      parse: milliseconds,
    },
    reconnectOption,
  ],
  async run(context, said: string[], options: WaitOptions) {
    const { world, client, show, layout } = context;
    const ids: string[] = [];
    for (const one of said) ids.push(await sessionId(client, one));
    // Looked at before the time runs, so that an idle session is found however short the time is.
    const looks = await Promise.all([...new Set(ids)].map((id) => idleNow(client, id)));
    const found = await within(context, options.timeout, (signal) => {
      const all = looks.map((first) => untilIdle(context, first, options, signal));
      return options.any ? Promise.race(all).then((one) => [one]) : Promise.all(all);
    });
    const idle = found.filter((one) => one !== null);
    const interrupted = world.interrupted();
    if (interrupted.aborted) return world.exit(Number(interrupted.reason));
    show(
      idle.map(({ session, turn }) => ({ session_id: session.id, status: session.status, turn })),
      () => table(['SESSION', 'STATUS', 'TURN'], idle.map(rowOf), layout),
    );
    const codes = idle.map(({ session, turn }) =>
      session.status === 'failed'
        ? exitCodes.failed
        : turn
          ? exitCodeOf(turn, modeOf(turn, session))
          : exitCodes.ok,
    );
    world.exit(Math.max(...codes));
  },
});

function rowOf({ session, turn }: Idle): string[] {
  const declined = turn?.declined_unasked ? `: ${countOf(turn.declined_unasked)} declined` : '';
  const why = turn?.error ? `: ${plain(turn.error.message)}` : declined;
  return [shortId(session.id), session.status, turn ? `${turn.status}${why}` : '-'];
}

/** Resolves with the result of `run`, whose signal aborts on an interrupt. Throws `timeout` after `ms`. */
async function within<T>(
  { world }: CommandContext,
  ms: number | undefined,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const over = new AbortController();
  const signal = AbortSignal.any([over.signal, world.interrupted()]);
  const tooLong = async () => {
    await world.clock.sleep(ms ?? 0, over.signal);
    throw new AppError(
      'timeout',
      `a turn of the session is still running after ${durationText(ms ?? 0)}`,
    );
  };
  try {
    return await (ms === undefined ? run(signal) : Promise.race([run(signal), tooLong()]));
  } finally {
    over.abort();
  }
}

/** Resolves once a session has no running turn; with null where the signal aborted first. */
async function untilIdle(
  context: CommandContext,
  first: Awaited<ReturnType<typeof idleNow>>,
  options: WaitOptions,
  signal: AbortSignal,
): Promise<Idle | null> {
  const { world, client } = context;
  if (first.idle) return first.idle;
  const { id } = first.session;
  if (first.session.status === 'waiting_for_approval') tellOfApproval(context, id);
  const events = sessionEvents(context, {
    sessionId: id,
    after: first.seq,
    reconnectMs: reconnectMs(options, world),
    signal,
    kinds: ['turn.*', 'session.*', 'approval.requested'],
    tell: (text) => world.stderr.write(text),
  });
  for await (const event of events) {
    if (event.kind === 'approval.requested') tellOfApproval(context, id);
    const isOver = isEnding(event) || ['session.closed', 'session.failed'].includes(event.kind);
    const idle = isOver ? (await idleNow(client, id)).idle : null;
    if (idle) return idle;
  }
  return null;
}

function tellOfApproval({ note }: CommandContext, id: string): void {
  note(`session ${shortId(id)} needs approval: see cadre approvals list --session ${shortId(id)}`);
}

async function idleNow(client: Client, session_id: string) {
  const { value: session, headers } = await client.ask(endpoints.getSession, {
    params: { session_id },
  });
  const seq = Number(headers['x-seq'] ?? 0);
  if (session.active_turn_id !== null) return { session, seq, idle: null };
  const turn_id = session.last_turn_id;
  const params = { session_id, turn_id: turn_id ?? '' };
  const turn = turn_id === null ? null : await client.call(endpoints.getTurn, { params });
  return { session, seq, idle: { session, turn } satisfies Idle };
}
