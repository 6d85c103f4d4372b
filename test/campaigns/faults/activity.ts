import { setTimeout as pause } from 'node:timers/promises';
import { endpoints } from '../../../src/api/index.ts';
import type { Client } from '../../../src/client/client.ts';
import type { UntypedEvent } from '../../support/untyped-events.ts';
import type { Complaints } from '../crash/checks.ts';
import type { Random } from '../crash/random.ts';
import type { Happenings } from './event-waiter.ts';
import type { Receipts } from './receipts.ts';
import type { Requests } from './requests.ts';

/** The surroundings of a story. */
export interface World {
  /** Directory of repositories and files, on a disk that is never full. */
  readonly place: string;
  readonly requests: Requests;
  readonly receipts: Receipts;
  readonly happenings: Happenings;
  readonly random: Random;
  /** Aborts when stories are to come to their end. */
  readonly closing: AbortSignal;
  /** The wall time of the server (Unix ms). */
  now(): number;
  /** A word that no other prompt has. */
  newLabel(): string;
}

/** The end of a campaign: nothing runs any more. */
export interface Rest {
  client: Client;
  /** The whole log. */
  log: readonly UntypedEvent[];
}

/** A client of one feature: it uses the feature during the whole campaign, and checks the result. */
export interface Story {
  readonly name: string;
  /** Uses the feature until the campaign closes. */
  run(): Promise<void>;
  /** Complains of everything that the log and the records should not say. */
  check(rest: Rest): Promise<Complaints>;
}

/** Opens a session, and notes it. */
export async function openSession(world: World, cwd: string, more: object = {}): Promise<string> {
  const body = { provider: 'acp' as const, cwd, permission_mode: 'require_approval', ...more };
  const { id } = await world.requests.call(endpoints.createSession, { body });
  world.receipts.add('session.created', id);
  return id;
}

/** Sends a turn, and notes it. Resolves with the turn. */
export async function sendTurn(
  world: World,
  session_id: string,
  text: string,
  expected: Parameters<Requests['call']>[2] = [],
): Promise<string> {
  const input = { type: 'text' as const, text };
  const call = { params: { session_id }, body: { input } };
  const { turn_id } = await world.requests.call(endpoints.sendTurn, call, expected);
  world.receipts.add('turn.accepted', turn_id);
  return turn_id;
}

/** Waits a random time between two actions, which ends when the campaign closes. */
export async function rest({ random, closing }: World, most: number): Promise<void> {
  await pause(random.between(0, most), undefined, { signal: closing }).catch(() => undefined);
}

/** Repeats an action until the campaign closes. */
export async function untilClosing(world: World, action: () => Promise<void>): Promise<void> {
  while (!world.closing.aborted) await action();
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
