import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';
import { fastify } from 'fastify';
import { expect, test } from 'vitest';
import {
  holderOfInternalRequest,
  sendInternalRequest,
} from '../../../src/server/http/internal-request.ts';

const holder = {
  id: 'fleet:ann',
  scope: 'admin' as const,
  permissionMode: null,
  ended: new AbortController().signal,
};

test('A connection of a sandbox that an internal request has started has no rights of that request.', async () => {
  const app = fastify();
  const inside = net.createServer((socket) => void app.server.emit('connection', socket));
  const seen: (string | null)[] = [];
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('X-Request-Id', request.id);
    seen.push(holderOfInternalRequest(request.raw)?.id ?? null);
    done();
  });
  app.get('/health', async () => {
    if (!inside.listening) await once(inside.listen(0, '127.0.0.1'), 'listening');
    return { status: 'ok' };
  });
  try {
    await sendInternalRequest(app, { method: 'GET', path: '/health' }, holder);
    const { port } = inside.address() as AddressInfo;
    const headers = { connection: 'close' };
    await (await fetch(`http://127.0.0.1:${port}/health`, { headers })).text();
    expect(seen).toEqual(['fleet:ann', null]);
  } finally {
    inside.close();
    await app.close();
  }
});
