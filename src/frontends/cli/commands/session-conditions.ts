import type { BodyInputOf } from '../../../api/endpoint.ts';
import { AppError, usageError } from '../../../api/errors.ts';
import { type Goal, goalLimits } from '../../../api/goals.ts';
import { endpoints } from '../../../api/index.ts';
import type { Session, Turn } from '../../../api/sessions.ts';
import { type Watch, watchLimits } from '../../../api/watches.ts';
import type { Client } from '../../../client/client.ts';
import { recordsOf } from '../../../client/records-of.ts';
import { counted } from '../../../core/lib/counted.ts';
import { shellWord } from '../../../core/lib/shell-word.ts';
import { durationText } from '../../terminal/time.ts';
import { clientCommand } from '../command.ts';
import { exitCodes } from '../exit.ts';
import { sessionArgument, sessionId } from '../find.ts';
import { goalText } from '../goal-text.ts';
import { count, milliseconds } from '../option-values.ts';
import { listOptions } from '../output-options.ts';
import { listOf, plain, shortId, table } from '../output.ts';
import { reconnectMs, reconnectOption } from '../session/follow-options.ts';
import { sessionEvents } from '../session/session-events.ts';
import { countOf, exitCodeOf, isEnding, modeOf } from '../session/turn-end.ts';
import type { CommandContext } from '../command-io.ts';

interface UntilOptions extends GoalOptions {
  cancel?: boolean;
}

export const sessionUntil = clientCommand({
  name: 'until',
  description:
    'Set a goal: a command that is checked after each turn until it passes (shows the goal without a command)',
  parameters: [
    sessionArgument,
    '[command]  Shell command line that passes with exit code 0, such as "npm test"',
    ...goalOptions(),
    '--cancel  Cancel the goal of the session, and kill a running check',
  ],
  async run(
    { client, show },
    reference: string,
    command: string | undefined,
    options: UntilOptions,
  ) {
    if (command !== undefined && options.cancel)
      throw usageError('pass either a command or --cancel, not both');
    if (command === undefined) assertNoGoalOptions(options, 'a command to check');
    const params = { session_id: await sessionId(client, reference) };
    const call = (): Promise<Goal> => {
      if (options.cancel) return client.call(endpoints.cancelGoal, { params });
      if (command === undefined) return client.call(endpoints.getGoal, { params });
      const body = { ...goalBody(command, options), check_now: true };
      return client.call(endpoints.setGoal, { params, body });
    };
    const goal = await call();
    show(goal, () => `${plain(goalText(goal))}\n`);
  },
});

export interface GoalOptions {
  max?: number;
  /** In ms. */
  checkTimeout?: number;
  /** In ms. */
  within?: number;
}

/** These options. `needs` names the option that they require. */
export function goalOptions(needs = '') {
  return [
    {
      line: `--max <n>  Maximum number of checks (default: ${goalLimits.defaultRounds}${needs})`,
      parse: count,
    },
    {
      line: `--check-timeout <duration>  Time limit of each check, such as 90s (default: 10m${needs})`,
      parse: milliseconds,
    },
    {
      line: `--within <duration>  Time after which no further turn follows a failed check (default: no limit${needs})`,
      parse: milliseconds,
    },
  ];
}

export function goalBody(
  command: string,
  { max, checkTimeout, within }: GoalOptions,
): BodyInputOf<typeof endpoints.setGoal> {
  return { command, max_rounds: max, check_timeout_ms: checkTimeout, within_ms: within };
}

/** Throws `usage` if there is an option of a goal, but no goal. */
export function assertNoGoalOptions(options: GoalOptions, needs: string): void {
  const extra = (['max', 'checkTimeout', 'within'] as const).find(
    (one) => options[one] !== undefined,
  );
  const name = extra === 'checkTimeout' ? 'check-timeout' : extra;
  if (name !== undefined) throw usageError(`--${name} requires ${needs}`);
}

interface WatchOptions {
  /** In ms. */
  every?: number;
  maxTurns?: number;
  now?: boolean;
  stop?: boolean;
}

export const sessionWatch = clientCommand({
  name: 'watch',
  description:
    'Watch a command: its changed output becomes a turn (shows the watch without a command)',
  parameters: [
    '[session]  Id of the session, the last 6 or more characters of the id, or the title (default: list active watches)',
    '[command...]  Command to watch: a shell command line in quotes, or a program and its arguments after --',
    {
      line: `--every <duration>  Time between two checks, at least 30s (default: ${durationText(watchLimits.defaultEveryMs)})`,
      parse: milliseconds,
    },
    {
      line: `--max-turns <n>  Maximum number of turns in 24 hours (default: ${watchLimits.defaultTurns})`,
      parse: count,
    },
    '--now  Send the first output as a turn, too',
    '--stop  Stop the watch of the session',
  ],
  async run(
    { client, show, layout },
    reference: string | undefined,
    words: string[],
    options: WatchOptions,
  ) {
    const { every: every_ms, maxTurns: max_turns, now, stop } = options;
    const command = words.length === 1 ? words.join('') : words.map(shellWord).join(' ');
    const isSetting = (every_ms ?? max_turns ?? now) !== undefined;
    if (command === '' && isSetting)
      throw usageError('--every, --max-turns and --now require a command to watch');
    if (command !== '' && stop) throw usageError('pass either a command or --stop, not both');
    if (reference === undefined) {
      if (stop) throw usageError('--stop requires a session');
      const all = recordsOf((query) => client.ask(endpoints.listWatches, { query }));
      const active = (await Array.fromAsync(all)).filter(({ status }) => status !== 'ended');
      return show(active, () =>
        active.length === 0 ? 'no watches\n' : listed(active, { now: 0, layout }),
      );
    }
    const params = { session_id: await sessionId(client, reference) };
    const body = { command, every_ms, max_turns, now };
    const watch = await (stop
      ? client.call(endpoints.stopWatch, { params })
      : command === ''
        ? client.call(endpoints.getWatch, { params })
        : client.call(endpoints.startWatch, { params, body }));
    show(watch, () => `${plain(watchText(watch))}\n`);
  },
});

const listed = listOf<Watch>(['SESSION', 'EVERY', 'CHANGES', 'COMMAND'], (one) => [
  shortId(one.session_id),
  durationText(one.every_ms),
  String(one.changes),
  one.command,
]);

function watchText({ status, reason, every_ms, changes, failures, command }: Watch): string {
  const state = reason ? `ended, because ${endReasons[reason]}` : `every ${durationText(every_ms)}`;
  const failed = failures > 0 ? `, ${counted(failures, 'failed check')} in a row` : '';
  const running = status === 'checking' ? ', check is running' : '';
  return `${state} (${counted(changes, 'change')}${failed}${running}): ${command}`;
}

const endReasons: Record<NonNullable<Watch['reason']>, string> = {
  cannot_run: 'the command cannot run',
  session_closed: 'the session was closed',
  stopped: 'the watch was stopped',
};

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
  async run(context, references: string[], options: WaitOptions) {
    const { io, client, show, layout } = context;
    const ids: string[] = [];
    for (const one of references) ids.push(await sessionId(client, one));
    // Looked at before the time runs, so that an idle session is found however short the time is.
    const looks = await Promise.all([...new Set(ids)].map((id) => idleNow(client, id)));
    const found = await within(context, options.timeout, (signal) => {
      const all = looks.map((first) => untilIdle(context, first, options, signal));
      return options.any ? Promise.race(all).then((one) => [one]) : Promise.all(all);
    });
    const idle = found.filter((one) => one !== null);
    const interrupted = io.interrupted();
    if (interrupted.aborted) return io.exit(Number(interrupted.reason));
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
    io.exit(Math.max(...codes));
  },
});

function rowOf({ session, turn }: Idle): string[] {
  const declined = turn?.declined_unasked ? `: ${countOf(turn.declined_unasked)} declined` : '';
  const why = turn?.error ? `: ${plain(turn.error.message)}` : declined;
  return [shortId(session.id), session.status, turn ? `${turn.status}${why}` : '-'];
}

/** Resolves with the result of `run`, whose signal aborts on an interrupt. Throws `timeout` after `ms`. */
async function within<T>(
  { io }: CommandContext,
  ms: number | undefined,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const over = new AbortController();
  const signal = AbortSignal.any([over.signal, io.interrupted()]);
  const tooLong = async () => {
    await io.clock.sleep(ms ?? 0, over.signal);
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
  const { io, client } = context;
  if (first.idle) return first.idle;
  const { id } = first.session;
  if (first.session.status === 'waiting_for_approval') noteApproval(context, id);
  const events = sessionEvents(context, {
    sessionId: id,
    after: first.seq,
    reconnectMs: reconnectMs(options, io),
    signal,
    kinds: ['turn.*', 'session.*', 'approval.requested'],
    report: (text) => io.stderr.write(text),
  });
  for await (const event of events) {
    if (event.kind === 'approval.requested') noteApproval(context, id);
    const isOver = isEnding(event) || ['session.closed', 'session.failed'].includes(event.kind);
    const idle = isOver ? (await idleNow(client, id)).idle : null;
    if (idle) return idle;
  }
  return null;
}

function noteApproval({ note }: CommandContext, id: string): void {
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
