import { errors, type NatsConnection } from '@nats-io/transport-node';
import { expect, test } from 'vitest';
import { AppError } from '../../src/api/errors.ts';
import { Bucket } from '../../src/fleet/bucket.ts';
import { NatsRefusal, natsError, retryWhileUnavailable } from '../../src/fleet/nats-api.ts';
import { namesOf } from '../../src/fleet/names.ts';
import { ManualClock } from '../support/manual-clock.ts';

const names = namesOf('f');

/** NATS where nobody answers, except with `info` to a question for the stream. */
function natsConnection(info: unknown, { jetstream = true } = {}): NatsConnection {
  const connection = {
    info: { jetstream, server_name: 'n1' },
    isClosed: () => false,
    request: (subject: string) => {
      if (info !== null && subject.startsWith('$JS.API.STREAM.INFO.'))
        return Promise.resolve({ json: () => info });
      return Promise.reject(new errors.NoRespondersError(subject));
    },
  };
  return connection as unknown as NatsConnection;
}

const missing = { error: { code: 404, err_code: 10_059, description: 'stream not found' } };

test.for<[what: string, connection: NatsConnection, code: string, said: RegExp]>([
  ['a fleet that was not made', natsConnection(missing), 'not_found', /cadre fleet init$/],
  ['a stream without a leader', natsConnection(null), 'unreachable', /has no leader: .*try again/],
  [
    'a bucket without a leader',
    natsConnection({ state: {} }),
    'unreachable',
    /has no leader: .*try again/,
  ],
  [
    'a server whose JetStream is off',
    natsConnection(null, { jetstream: false }),
    'unreachable',
    /disk is full.*restart nats-server/,
  ],
])('The error of a bucket names its cause: %s.', async ([, connection, code, said]) => {
  const failure = await new Bucket(connection, names, names.nodes)
    .get('k')
    .catch((error: unknown) => error);
  expect(failure).toMatchObject({ code, message: expect.stringMatching(said) });
});

test.for([
  [10_002, 'storage_full'],
  [10_023, 'storage_full'],
  [10_047, 'storage_full'],
  [10_077, 'storage_full'],
  [10_008, 'unreachable'],
  [10_118, 'unreachable'],
  [10_059, 'not_found'],
] as const)('The refusal %i of NATS becomes the error %s.', ([err_code, code]) => {
  const refusal = new NatsRefusal({ err_code, description: 'x' });
  expect(natsError(refusal, natsConnection(null), names)).toMatchObject({ code });
});

test('A request that NATS does not answer is repeated until it does; a refusal is final.', async () => {
  const clock = new ManualClock();
  let asked = 0;
  const answer = retryWhileUnavailable(clock, async () => {
    if (++asked < 3) throw new AppError('unreachable', 'no leader');
    return asked;
  });
  clock.runFree();
  expect(await answer).toBe(3);
  const refused = retryWhileUnavailable(clock, () =>
    Promise.reject(new AppError('storage_full', 'full')),
  );
  await expect(refused).rejects.toMatchObject({ code: 'storage_full' });
});
