import { setTimeout as pause } from 'node:timers/promises';
import { endpoints } from '../../../src/api/index.ts';
import type { Client } from '../../../src/client/client.ts';
import type { UntypedEvent } from '../../support/untyped-events.ts';
import type { Violations } from '../crash/checks.ts';
import type { Random } from '../crash/random.ts';
import type { EventWaiter } from './event-waiter.ts';
import type { Receipts } from './receipts.ts';
import type { Requests } from './requests.ts';

/** The context of an activity. */
export interface ActivityContext {
  /** Directory of repositories and files, on a disk that is never full. */
  readonly place: string;
  readonly requests: Requests;
  readonly receipts: Receipts;
  readonly eventWaiter: EventWaiter;
  readonly random: Random;
  /** Aborts when activities are to come to their end. */
  readonly closing: AbortSignal;
  /** The wall time of the server (Unix ms). */
  now(): number;
  /** A word that no other prompt has. */
  newLabel(): string;
}

/** The end of a campaign: nothing runs any more. */
export interface FinalState {
  client: Client;
  /** The whole log. */
  log: readonly UntypedEvent[];
}

/** A client of one feature: it uses the feature during the whole campaign, and checks the result. */
export interface Activity {
  readonly name: string;
  /** Uses the feature until the campaign closes. */
  run(): Promise<void>;
  /** Reports everything that the log and the records should not say. */
  check(pauseRandomly: FinalState): Promise<Violations>;
}

/** Opens a session, and notes it. */
export async function openSession(
  context: ActivityContext,
  cwd: string,
  more: object = {},
): Promise<string> {
  const body = { provider: 'acp' as const, cwd, permission_mode: 'require_approval', ...more };
  const { id } = await context.requests.call(endpoints.createSession, { body });
  context.receipts.add('session.created', id);
  return id;
}

/** Sends a turn, and notes it. Resolves with the turn. */
export async function sendTurn(
  context: ActivityContext,
  session_id: string,
  text: string,
  expected: Parameters<Requests['call']>[2] = [],
): Promise<string> {
  const input = { type: 'text' as const, text };
  const call = { params: { session_id }, body: { input } };
  const { turn_id } = await context.requests.call(endpoints.sendTurn, call, expected);
  context.receipts.add('turn.accepted', turn_id);
  return turn_id;
}

/** Waits a random time between two actions, which ends when the campaign closes. */
export async function pauseRandomly(
  { random, closing }: ActivityContext,
  most: number,
): Promise<void> {
  await pause(random.between(0, most), undefined, { signal: closing }).catch(() => undefined);
}

/** Repeats an action until the campaign closes. */
export async function untilClosing(
  context: ActivityContext,
  action: () => Promise<void>,
): Promise<void> {
  while (!context.closing.aborted) await action();
}

/** The prompt of an accepted turn. */
export function promptOf({ payload }: UntypedEvent): string {
  const { input } = payload.turn as { input: { type: string; text?: string }[] };
  return input.map(({ text = '' }) => text).join('\n');
}

/** The accepted turns whose prompt has a label. */
export function turnsWith(log: readonly UntypedEvent[], label: string): UntypedEvent[] {
  const word = new RegExp(`\\b${label}\\b`);
  return log.filter((event) => event.kind === 'turn.accepted' && word.test(promptOf(event)));
}
