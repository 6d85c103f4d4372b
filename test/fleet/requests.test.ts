import type { Msg, NatsConnection } from '@nats-io/transport-node';
import { expect, test } from 'vitest';
import { namesOf } from '../../src/fleet/names.ts';
import { type FleetAnswer, serveRequests } from '../../src/fleet/requests.ts';

/** Sends a request to a node whose endpoints write its body again; resolves with the answer. */
async function ask(text: string): Promise<FleetAnswer> {
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
    ask: async ({ body }) => {
      const headers = { 'content-type': 'application/json' };
      return { status: 200, headers, text: JSON.stringify(body) };
    },
    isOurs: () => true,
    signal: new AbortController().signal,
  });
  take?.(null, {
    subject: 'cadre.f.api.n1.admin.bob',
    reply: '_INBOX.x',
    string: () => text,
    respond: (given: Uint8Array) => responded.resolve(Buffer.from(given).toString()),
  } as unknown as Msg);
  return JSON.parse(await responded.promise) as FleetAnswer;
}

const request = (body: string) => `{"method":"POST","path":"/v1/sessions","body":${body}}`;

test('A fleet request whose body is nested too deeply is refused as invalid.', async () => {
  expect(await ask(request('[[1]]'))).toMatchObject({ status: 200, body: [[1]] });
  const deep = '['.repeat(50_000) + ']'.repeat(50_000);
  expect(await ask(request(deep))).toMatchObject({
    status: 400,
    body: { code: 'invalid', error: 'the body of the fleet request is nested too deeply' },
  });
});
