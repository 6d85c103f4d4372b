import { below, type Random, seededRandom } from '../../support/random.ts';
import { type Act, badRequests } from './acts.ts';
import type { AgentAct } from './model.ts';
import { own } from './session-rules.ts';
import { type ModelState, type Policy, sessionNamed } from './state.ts';

export const NAMES = ['A', 'B', 'C'] as const;

/** One command of a program. Its numbers choose among what there is when it runs, so any part of a program is one too. */
export interface Command {
  does: string;
  who: number;
  other: number;
  which: number;
  /** The number of an Idempotency-Key; null without one. */
  key: number | null;
}

export interface Program {
  /** Whether the agent of each session ends its turn at once when it is asked to. */
  tempers: Readonly<Record<string, boolean>>;
  commands: readonly Command[];
}

/** The effect of a command in a state. */
export type Effect =
  | { is: 'request'; act: Act; key: string | null }
  | { is: 'agent'; session: string; act: AgentAct }
  | { is: 'refuse'; code: 'provider_unavailable' | 'resume_failed' }
  | { is: 'pass'; ms: number }
  | { is: 'restart'; how: 'stop' | 'crash'; ms: number };

const weights: readonly [does: string, weight: number][] = [
  ['send', 12],
  ['end', 16],
  ['ask', 8],
  ['tool', 4],
  ['say', 2],
  ['die', 1],
  ['decide', 8],
  ['interrupt', 4],
  ['message', 12],
  ['broadcast', 3],
  ['queue', 5],
  ['pause_queue', 2],
  ['resume_queue', 3],
  ['pause_entry', 1],
  ['resume_entry', 1],
  ['drop_entry', 1],
  ['cancel_message', 2],
  ['retry', 3],
  ['leave', 1],
  ['join', 1],
  ['delete_team', 0.3],
  ['interrupt_all', 1],
  ['budget', 2],
  ['close', 1],
  ['resume', 2],
  ['repeat', 4],
  ['run', 0.7],
  ['bad', 2],
  ['refuse', 1.5],
  ['pass', 5],
  ['stop', 1.5],
  ['crash', 1.5],
];
const total = weights.reduce((sum, [, weight]) => sum + weight, 0);

/** A program that depends only on its seed. */
export function randomProgram(seed: number, length: number): Program {
  const random = seededRandom(seed);
  const tempers = Object.fromEntries(NAMES.map((name) => [name, random() < 0.7]));
  const commands = Array.from({ length: 1 + below(length, random) }, () => randomCommand(random));
  return { tempers, commands };
}

function randomCommand(random: Random): Command {
  const number = () => below(1 << 20, random);
  let at = random() * total;
  const does = weights.find(([, weight]) => (at -= weight) < 0)?.[0] ?? 'send';
  const key = random() < 0.3 ? below(3, random) : null;
  return { does, who: number(), other: number(), which: number(), key };
}

const policies: readonly Policy[] = [
  'non_interrupting',
  'non_interrupting',
  'start_new_turn_only',
  'interrupt_after_tool_boundary',
  'immediate_interrupt',
];
const spans = [500, 1500, 12_000, 61_000, 61_000, 950_000, 3_700_000, 90_000_000];

function pick<T>(from: readonly T[], which: number): T | undefined {
  return from[which % Math.max(1, from.length)];
}

/** Returns what a command is in a state; null if there is nothing that it could be about. */
export function effectOf(
  command: Command,
  state: ModelState,
  earlier: readonly (Effect & { is: 'request' })[],
): Effect | null {
  const { does, who, which } = command;
  const session = pick(NAMES, who) ?? 'A';
  const key = command.key === null || does === 'bad' ? null : `k${command.key}`;
  const asking = (act: Act): Effect => ({ is: 'request', act, key });
  switch (does) {
    case 'end':
      return {
        is: 'agent',
        session,
        act: {
          does,
          status:
            pick(
              ['completed', 'completed', 'completed', 'failed', 'interrupted'] as const,
              which,
            ) ?? 'completed',
        },
      };
    case 'ask':
      return { is: 'agent', session, act: { does, subject: which % 3 } };
    case 'tool':
    case 'say':
    case 'die':
      return { is: 'agent', session, act: { does } };
    case 'refuse':
      return state.refusals.length > 1
        ? null
        : { is: 'refuse', code: which % 3 === 0 ? 'resume_failed' : 'provider_unavailable' };
    case 'pass':
      return { is: 'pass', ms: pick(spans, which) ?? 0 };
    case 'stop':
    case 'crash':
      return { is: 'restart', how: does, ms: pick([0, 700, 65_000], which) ?? 0 };
    case 'repeat': {
      const repeated = pick(earlier, which);
      return repeated ?? null;
    }
    default: {
      const act = actOf(command, state, session);
      return act && asking(act);
    }
  }
}

function actOf({ does, other, which }: Command, state: ModelState, session: string): Act | null {
  const { turns, approvals, inbox } = sessionNamed(state, session);
  const named = (one: { name: string } | undefined) =>
    one && own(sessionNamed(state, session), one.name);
  switch (does) {
    case 'send': {
      const last = named(turns.at(-1));
      const any = named(pick(turns, other));
      const expected = which % 8 === 0 ? last : which % 8 === 1 ? any : null;
      return { does, session, expected: expected ?? null };
    }
    case 'interrupt': {
      const turn = named(which % 5 === 0 ? pick(turns, other) : turns.at(-1));
      return turn === undefined ? null : { does, session, turn };
    }
    case 'decide': {
      const approval = named(
        which % 4 === 0
          ? pick(approvals, other)
          : (approvals.findLast(({ status }) => status === 'pending') ?? approvals.at(-1)),
      );
      const decision =
        pick(['accept', 'accept', 'accept', 'decline', 'reject', 'maybe'], other) ?? 'accept';
      return approval === undefined ? null : { does, session, approval, decision };
    }
    case 'queue': {
      const after = pick([null, null, 7000, 77_000], which) ?? null;
      return { does, session, at: after === null ? null : state.now + after };
    }
    case 'pause_queue':
      return {
        does,
        session,
        until: which % 3 === 0 ? null : state.now + (which % 3 === 1 ? 31_000 : -5),
      };
    case 'pause_entry':
    case 'resume_entry':
    case 'drop_entry': {
      const entry = named(
        pick(
          inbox.filter(({ kind }) => kind === 'queue'),
          which,
        ),
      );
      return entry === undefined ? null : { does, session, entry };
    }
    case 'close':
    case 'resume':
    case 'resume_queue':
    case 'leave':
    case 'join':
      return { does, session };
    case 'budget':
      return { does, session, turns: 1 + (which % 4) };
    case 'run':
      return { does, session, code: which % 2 === 0 ? 0 : 3, notifies: other % 4 !== 0 };
    case 'bad':
      return { does, which: which % badRequests.length };
    case 'message':
    case 'broadcast': {
      const to = does === 'message' ? (pick(NAMES, other) ?? 'B') : null;
      const priority = pick(['high', 'normal', 'normal', 'low'] as const, which >> 4) ?? 'normal';
      return {
        does: 'message',
        from: session,
        to,
        priority,
        policy: pick(policies, which) ?? 'non_interrupting',
      };
    }
    case 'cancel_message': {
      const message = pick(state.messages, which)?.name;
      return message === undefined ? null : { does, message };
    }
    case 'retry': {
      const delivery = pick(state.deliveries, which)?.name;
      return delivery === undefined ? null : { does, delivery };
    }
    case 'delete_team':
    case 'interrupt_all':
      return { does };
    default:
      throw new Error(`no command is called ${does}`);
  }
}

/** Returns a smaller program that still fails, found by leaving commands out. */
export async function shrink(
  program: Program,
  fails: (program: Program) => Promise<boolean>,
): Promise<Program> {
  let { commands } = program;
  for (let size = Math.ceil(commands.length / 2); size >= 1; size = Math.floor(size / 2))
    for (let at = 0; at + size <= commands.length;) {
      const fewer = commands.toSpliced(at, size);
      if (await fails({ ...program, commands: fewer })) commands = fewer;
      else at += size;
    }
  return { ...program, commands };
}
