import type { NatsConnection } from '@nats-io/transport-node';
import { EngineRefusal } from './engine-error.ts';
import type { Names } from './names.ts';

/** The id that a stream was made with, and the numbers of its first and last message. */
export interface StreamInfo {
  id: string;
  first: number;
  last: number;
  /** The size of the stream, and the size at which its oldest messages leave it; 0 or less: at none. */
  bytes: number;
  maxBytes: number;
}

interface Answer {
  config?: { metadata?: Record<string, string>; max_bytes?: number };
  state?: { first_seq: number; last_seq: number; bytes: number };
  error?: { err_code?: number; description: string };
}

/** Asks the engine for the stream of the fleet. Rejects where it does not answer within 5 s, or has no such stream. */
export async function streamInfo(nc: NatsConnection, { events }: Names): Promise<StreamInfo> {
  const answer = await nc.request(`$JS.API.STREAM.INFO.${events}`, '', { timeout: 5000 });
  const { config, state, error } = answer.json<Answer>();
  if (error || !state)
    throw new EngineRefusal(error ?? { description: `stream ${events} has no state` });
  return {
    id: config?.metadata?.['cadre_stream'] ?? '',
    first: state.first_seq,
    last: state.last_seq,
    bytes: state.bytes,
    maxBytes: config?.max_bytes ?? 0,
  };
}
