import type { Msg, NatsConnection } from '@nats-io/transport-node';
import { namesOf } from '../../../src/fleet/names.ts';
import { type Ask, type FleetAnswer, serveRequests } from '../../../src/fleet/requests.ts';

/** Sends a message with a request to a node, whose endpoints are `ask`, without NATS. Resolves with the answer. */
export async function askedNode(text: string, ask: Ask): Promise<FleetAnswer> {
  const responded = Promise.withResolvers<string>();
  let take: ((error: null, message: Msg) => void) | undefined;
  const connection = {
    subscribe: (_subject: string, { callback }: { callback: typeof take }) => {
      take = callback;
      return { unsubscribe: () => undefined };
    },
    isClosed: () => false,
  } as unknown as NatsConnection;
  serveRequests({
    connection,
    names: namesOf('f'),
    node: 'n1',
    ask,
    isOurs: () => true,
    signal: new AbortController().signal,
  });
  take?.(null, {
    subject: 'cadre.f.api.n1.admin.bob',
    reply: '_INBOX.x',
    string: () => text,
    respond: (given: Uint8Array | string) => responded.resolve(Buffer.from(given).toString()),
  } as unknown as Msg);
  return JSON.parse(await responded.promise) as FleetAnswer;
}
