import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { endpoints } from '../../../src/api/index.ts';
import type { Approval } from '../../../src/api/approvals.ts';
import type { Item, Session, Turn } from '../../../src/api/sessions.ts';
import type { Client } from '../../../src/client/client.ts';
import type { Watch } from './watch.ts';
import { scaled } from '../patience.ts';
import type { InputItem } from '../../../src/api/input.ts';

/** The input of a turn: a text or a list of input items. */
export type Input = string | InputItem[];

/** Settings of one turn. */
export interface RequestedSettings {
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
  more: RequestedSettings = {},
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
  more: RequestedSettings = {},
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

/** Interrupts a turn; returns the HTTP status and the turn of the response. */
export async function interrupt(
  client: Client,
  { id: session_id }: Pick<Session, 'id'>,
  turn_id: string,
): Promise<{ status: number | undefined; turn: Turn }> {
  const params = { session_id, turn_id };
  const response = await client.open(endpoints.interruptTurn, { params, body: {} });
  return { status: response.statusCode, turn: JSON.parse(await text(response)) as Turn };
}

/** Resolves with the first approval that a turn requests. */
export async function asked(watch: Watch, turnId: string): Promise<Approval> {
  const { payload } = await watch.kind('approval.requested', turnId);
  return payload.approval as Approval;
}

export type Decision = [decision: 'accept' | 'decline', scope?: 'once' | 'session'];

export function decide(
  client: Client,
  { id: approval_id, session_id }: Approval,
  ...[decision, scope = 'once']: Decision
): Promise<Approval> {
  const params = { session_id, approval_id };
  return client.call(endpoints.decideApproval, { params, body: { decision, scope } });
}

/** Waits for a condition that no event reports. */
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
