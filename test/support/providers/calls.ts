import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { endpoints } from '../../../src/api/index.ts';
import type { Approval } from '../../../src/api/approvals.ts';
import type { Item, Session, Turn } from '../../../src/api/sessions.ts';
import type { Client } from '../../../src/client/client.ts';
import type { Watch } from './watch.ts';
import { scaled } from '../patience.ts';
import type { InputItem } from '../../../src/api/input.ts';

/** A turn's input: a text, or all its pieces. */
export type Input = string | InputItem[];

/** What a turn may want for itself. */
export interface Wishes {
  permission_mode?: string;
  agent_mode?: string;
  model?: string;
  thinking_effort?: string;
}

/** Sends a turn; resolves with its id when it is accepted. */
export async function send(
  client: Client,
  { id: session_id }: Pick<Session, 'id'>,
  input: Input,
  more: Wishes = {},
): Promise<string> {
  const items = typeof input === 'string' ? [{ type: 'text' as const, text: input }] : input;
  const body = { input: items, ...more };
  const { turn_id } = await client.call(endpoints.sendTurn, { params: { session_id }, body });
  return turn_id;
}

/** Sends a turn and waits for its end. */
export async function run(
  client: Client,
  watch: Watch,
  session: Pick<Session, 'id'>,
  input: Input,
  more: Wishes = {},
): Promise<Turn> {
  const turnId = await send(client, session, input, more);
  await watch.end(turnId);
  return turnOf(client, session, turnId);
}

export function turnOf(
  client: Client,
  { id: session_id }: Pick<Session, 'id'>,
  turn_id: string,
): Promise<Turn> {
  return client.call(endpoints.getTurn, { params: { session_id, turn_id } });
}

export function itemsOf(client: Client, { session_id, turn_id }: Turn): Promise<Item[]> {
  return client.call(endpoints.listItems, { params: { session_id, turn_id } });
}

export function sessionOf(client: Client, { id }: Pick<Session, 'id'>): Promise<Session> {
  return client.call(endpoints.getSession, { params: { session_id: id } });
}

/** Asks for a turn to end; gives the status of the answer and the turn as it was then. */
export async function interrupt(
  client: Client,
  { id: session_id }: Pick<Session, 'id'>,
  turn_id: string,
): Promise<{ status: number | undefined; turn: Turn }> {
  const params = { session_id, turn_id };
  const response = await client.open(endpoints.interruptTurn, { params, body: {} });
  return { status: response.statusCode, turn: JSON.parse(await text(response)) as Turn };
}

/** The approval that a turn asks for, once it does. */
export async function asked(watch: Watch, turnId: string): Promise<Approval> {
  const { payload } = await watch.kind('approval.requested', turnId);
  return payload.approval as Approval;
}

export function decide(
  client: Client,
  { id: approval_id, session_id }: Approval,
  decision: 'accept' | 'decline',
  scope: 'once' | 'session' = 'once',
): Promise<Approval> {
  const params = { session_id, approval_id };
  return client.call(endpoints.decideApproval, { params, body: { decision, scope } });
}

/** Waits until a condition holds that no event tells of. */
export async function until(
  what: string,
  holds: () => boolean | Promise<boolean>,
  withinMs = 8000,
): Promise<void> {
  for (const deadline = performance.now() + scaled(withinMs); ; await pause(20)) {
    if (await holds()) return;
    if (performance.now() > deadline) break;
  }
  throw new Error(`within ${withinMs} ms it did not come to this: ${what}`);
}
