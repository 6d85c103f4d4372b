import { endpoints } from '../api/index.ts';
import type { Client } from '../client/client.ts';
import { AppError } from '../api/errors.ts';
import type { FleetEvent } from './reader.ts';

/** A part of the log of a node. */
export interface Hole {
  node: string;
  epoch: string;
  after: number;
  upTo: number;
}

/** A page has this many events, or fewer where these are more than the engine carries. */
const PAGE = 500;

/** Asks a node for the events of a hole, oldest first. Throws where it cannot be asked, or has another log by now. */
export async function fill(client: Pick<Client, 'ask'>, hole: Hole): Promise<FleetEvent[]> {
  const events: FleetEvent[] = [];
  let limit = PAGE;
  for (let after = hole.after; after < hole.upTo;) {
    const page = await pageOf(client, hole, after, limit);
    if (page === 'too long') {
      limit = Math.ceil(limit / 8);
      continue;
    }
    for (const { seq, kind, text } of page)
      if (seq <= hole.upTo) events.push({ node: hole.node, epoch: hole.epoch, seq, kind, text });
    const next = page.at(-1)?.seq ?? hole.upTo;
    if (!(next > after))
      throw new Error(`node ${hole.node} returned events outside the requested range`);
    after = next;
  }
  return events;
}

async function pageOf(
  client: Pick<Client, 'ask'>,
  { node, epoch }: Hole,
  after_seq: number,
  limit: number,
): Promise<{ seq: number; kind: string; text: string }[] | 'too long'> {
  try {
    const { value, headers } = await client.ask(endpoints.replayEvents, {
      query: { after_seq, limit },
    });
    if (headers['x-epoch'] !== epoch) throw new Error(`node ${node} has a new event log`);
    return value.map((event) => ({ ...event, text: JSON.stringify(event) }));
  } catch (error) {
    const isTooLong = error instanceof AppError && error.code === 'payload_too_large';
    if (isTooLong && limit > 1) return 'too long';
    throw error;
  }
}
