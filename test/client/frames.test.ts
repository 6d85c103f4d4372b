import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import type { Client } from '../../src/client/client.ts';
import { eventsIn, framesOf } from '../../src/client/frames.ts';
import { readLogs } from '../../src/client/log-stream.ts';
import { systemClock } from '../../src/core/lib/clock.ts';
import { expectError } from '../support/an-error.ts';

function responseOf(text: string): IncomingMessage {
  return Readable.from([Buffer.from(text)], { objectMode: false }) as IncomingMessage;
}

const cannotBeRead = 'the server sent an event stream that cannot be read';

test.for(['{"seq":1', 'null', '[]', '"text"', ''])(
  'An event whose data is %o breaks the stream as a lost connection does.',
  async (data) => {
    const frames = `id: 1\nevent: a\ndata: {"seq":1}\n\nid: 2\nevent: a\ndata: ${data}\n\n`;
    const events = eventsIn(framesOf(responseOf(frames)));
    expect((await events.next()).value).toEqual({ seq: 1 });
    await expectError(events.next(), 'unreachable', cannotBeRead);
  },
);

test.for(['{"offset":0', '{"offset":0}', '{"offset":"0","text":"a"}', '{"text":"a"}'])(
  'A piece of a log whose data is %o breaks the stream as a lost connection does.',
  async (data) => {
    const response = responseOf(`id: 1\nevent: output\ndata: ${data}\n\n`);
    const client = {
      clientOf: () => Promise.resolve(client),
      open: () => Promise.resolve(response),
    } as unknown as Client;
    const { signal } = new AbortController();
    const source = { client, clock: systemClock, processId: 'p', from: 0, to: 9, signal };
    await expectError(readLogs({ ...source, stream: 'stdout' }), 'unreachable', cannotBeRead);
  },
);

test('A log with bytes that are not UTF-8 is read up to its last byte.', async () => {
  const piece = (offset: number, next: number, text: string) =>
    `id: ${next}\nevent: log\ndata: ${JSON.stringify({ offset, text })}\n\n`;
  const response = responseOf(piece(2, 6, 'a\uFFFD\uFFFDb') + piece(6, 12, 'cd\uFFFDefg'));
  const client = {
    clientOf: () => Promise.resolve(client),
    open: () => Promise.resolve(response),
    call: (_logs: unknown, { query }: { query: { from_byte: number; max_bytes: number } }) => {
      expect(query).toMatchObject({ from_byte: 6, max_bytes: 3 });
      return Promise.resolve({ stdout: { content: 'cd\uFFFD' } });
    },
  } as unknown as Client;
  const { signal } = new AbortController();
  const source = { client, clock: systemClock, processId: 'p', from: 0, to: 9, signal };
  expect(await readLogs({ ...source, stream: 'stdout' })).toEqual({
    from: 2,
    bytes: 7,
    text: 'a\uFFFD\uFFFDbcd\uFFFD',
  });
});
