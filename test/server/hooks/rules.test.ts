import { expect, test } from 'vitest';
import { configSchema } from '../../../src/core/config/schema.ts';
import { leadsTo, objectionToAddress } from '../../../src/server/hooks/send-post.ts';
import { definitionsOf } from '../../../src/server/hooks/definition.ts';
import { Throttle } from '../../../src/server/hooks/throttle.ts';
import { pauseAfter } from '../../../src/server/hooks/runner.ts';
import { signatureHeaders } from '../../../src/server/hooks/signature.ts';

const good = { name: 'phone', kinds: ['turn.completed'], command: 'true' };
const post = { name: 'post', kinds: ['turn.*'], secret_file: '/secret' };
const parsed = (hook: object) => configSchema.safeParse({ hooks: [hook] });
const objection = (hook: object) => parsed(hook).error?.issues[0]?.message ?? null;
const definitions = (...hooks: object[]) => definitionsOf(configSchema.parse({ hooks }));

test.for([
  good,
  { ...post, url: 'https://example.com/x?y=z' },
  { ...post, url: 'http://127.0.0.1:8080/' },
  { ...post, url: 'http://[::1]:8080/' },
  { ...post, url: 'http://localhost:8080/' },
  { ...good, kinds: ['*'], session: 'sess_1' },
])('The hook %o is accepted.', (hook) => {
  expect(objection(hook)).toBe(null);
});

test.for([
  [{ ...good, url: 'https://example.com' }, /a command or a url/],
  [{ name: 'phone', kinds: ['*'] }, /a command or a url/],
  [{ name: 'post', kinds: ['*'], url: 'https://example.com' }, /each POST is signed/],
  [{ ...post, url: 'http://example.com' }, /https:/],
  [{ ...post, url: 'http://127.0.0.1.example.com' }, /https:/],
  [{ ...post, url: 'http://169.254.169.254/latest' }, /https:/],
  [{ ...post, url: 'file:///etc/passwd' }, /https:/],
  [{ ...post, url: 'https://user:word@example.com' }, /user name/],
  [{ ...good, name: 'a b' }, /lowercase letters/],
  [{ ...good, name: 'notify_command' }, /\[approvals\]/],
  [{ ...good, kinds: [] }, /too small|at least/i],
  [{ ...good, kinds: ['turn completed'] }, /has to be a kind/],
  [{ ...good, session: 'sess_1', team: 'team_1' }, /one of session/],
] as const)('The hook %o is refused.', ([hook, why]) => {
  expect(objection(hook)).toMatch(why);
});

test('Two hooks may not have the same name.', () => {
  expect(configSchema.safeParse({ hooks: [good, good] }).success).toBe(false);
});

test('A hook gets no events of hooks and no streaming text.', () => {
  const [all] = definitions({ ...good, kinds: ['*'] });
  const kinds = [...(all?.scope.kinds ?? [])];
  expect(kinds.filter((kind) => /^hook\.|delta/.test(kind))).toEqual([]);
  expect(kinds).toContain('approval.requested');
});

test.for([
  ['turn.complete', /"turn.complete" matches no event kind/],
  ['hook.failing', /cannot be delivered/],
  ['message.delta', /is a streaming delta/],
] as const)('A hook with the event kind %s reports its problem.', ([kind, why]) => {
  expect(definitions({ ...good, kinds: [kind] })[0]?.problem).toMatch(why);
});

test('The notify_command of approvals is a hook that is tried once.', () => {
  const config = configSchema.parse({ approvals: { notify_command: 'true' } });
  expect(definitionsOf(config)).toMatchObject([
    {
      name: 'notify_command',
      retries: false,
      body: 'approval',
      patterns: ['approval.requested'],
    },
  ]);
});

const https = new URL('https://receiver.example/');
const http = new URL('http://localhost:8080/');

test.for([
  '169.254.169.254',
  '::ffff:169.254.169.254',
  'fd00:ec2::254',
  'fd20:ce::254',
  'fd00:42::42',
  'fd00:c1::a9fe:a9fe',
  'fd00:a9fe:a9fe::1',
  'fe80::1',
  '0.0.0.0',
  '::',
  '255.255.255.255',
  '224.0.0.1',
  '100.100.100.200',
  '64:ff9b::a9fe:a9fe',
  '64:ff9b:1::a9fe:a9fe',
  '2002:a9fe:a9fe::1',
  '::ffff:0:169.254.169.254',
])('The address %s gets nothing, however it is reached.', (address) => {
  expect(objectionToAddress(address, https)).toMatch(/an address that hooks may not use/);
  expect(objectionToAddress(address, http)).not.toBe(null);
});

test('An address on another machine gets only encrypted requests.', () => {
  expect(objectionToAddress('192.168.1.2', http)).toMatch(/not this machine/);
  expect(objectionToAddress('192.168.1.2', https)).toBe(null);
  expect(objectionToAddress('127.0.0.1', http)).toBe(null);
  expect(objectionToAddress('::1', http)).toBe(null);
});

test('The address of the server itself is recognized, however it is written.', () => {
  const own = 'http://127.0.0.1:7433';
  for (const url of [
    'http://127.0.0.1:7433/x',
    'http://localhost:7433',
    'http://[::1]:7433',
    'http://127.1.1.1:7433',
  ])
    expect(leadsTo(own, new URL(url))).toBe(true);
  expect(leadsTo(own, new URL('http://127.0.0.1:7434'))).toBe(false);
  expect(leadsTo(own, new URL('https://receiver.example:7433'))).toBe(false);
});

test('A failed attempt is repeated after a delay that doubles up to five minutes.', () => {
  expect([1, 2, 3, 9, 10, 1000].map(pauseAfter)).toEqual([
    1000, 2000, 4000, 256_000, 300_000, 300_000,
  ]);
});

test('A hook that triggers itself is limited to one round a second, and a quiet one is not.', () => {
  const pace = new Throttle(0);
  let now = 0;
  for (let round = 0; round < 1000; round++) now += pace.begin(now) + 1;
  expect(now).toBeGreaterThan(930_000);
  expect(pace.slowedAt).not.toBe(null);
  expect(pace.begin(now + 120_000)).toBe(0);
  expect(pace.slowedAt).toBe(null);
});

test('The signature is the one of Standard Webhooks.', () => {
  // The example of its specification.
  const key = Buffer.from('MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'base64');
  const body = '{"test": 2432232314}';
  const id = 'msg_p5jXN8AQM9LWM0D4loKWxJek';
  expect(signatureHeaders(key, { id, now: 1_614_265_330_000, body })).toEqual({
    'webhook-id': id,
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  });
});
