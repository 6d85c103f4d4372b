import { expect, test } from 'vitest';
import { testRuntime } from '../../support/runtime.ts';
import {
  type Asked,
  expectRefusal,
  send,
  sendBytes,
  unauthorized,
} from '../../support/http/request.ts';
import { sharedAuthRuntime } from '../../support/http/shared-auth-runtime.ts';

const on = sharedAuthRuntime();

/** The mistakes of a request, in the order of the checks. */
const faults: {
  name: string;
  status: number;
  body: object;
  put: (asked: Asked & { headers: Record<string, string> }) => void;
}[] = [
  {
    name: 'Host',
    status: 403,
    body: {
      error: 'the host "evil.example" is not allowed: add the host to server.allowed_hosts',
      code: 'forbidden_host',
    },
    put: (asked) => (asked.headers.host = 'evil.example'),
  },
  {
    name: 'Origin',
    status: 403,
    body: {
      error:
        'the origin "https://evil.example" is not allowed: add the origin to server.allowed_origins',
      code: 'forbidden_origin',
    },
    put: (asked) => (asked.headers.origin = 'https://evil.example'),
  },
  {
    name: 'token',
    status: 401,
    body: unauthorized,
    put: (asked) => (asked.headers.authorization = 'Bearer not-the-token-at-all'),
  },
  {
    name: 'route',
    status: 404,
    body: {
      error: expect.stringMatching(
        /^the route (POST|PUT) \/v1\/nope does not exist: see \/openapi\.yaml$/,
      ),
      code: 'not_found',
    },
    put: (asked) => (asked.path = '/v1/nope'),
  },
  {
    name: 'method',
    status: 405,
    body: {
      error: 'the route /v1/sessions does not support the method PUT: use POST, GET, HEAD',
      code: 'method_not_allowed',
    },
    put: (asked) => (asked.method = 'PUT'),
  },
  {
    name: 'content type',
    status: 415,
    body: {
      error: 'the request body has to be JSON, with the header Content-Type: application/json',
      code: 'unsupported_media_type',
    },
    put: (asked) => (asked.headers['content-type'] = 'text/plain'),
  },
  {
    name: 'size',
    status: 413,
    body: { error: 'the request body is larger than this route allows', code: 'payload_too_large' },
    put: (asked) => (asked.body = '['.repeat(256 * 1024 + 1)),
  },
  {
    name: 'body',
    status: 400,
    body: {
      error: expect.stringMatching(/^the request body is not valid JSON: /),
      code: 'invalid',
    },
    put: (asked) => (asked.body ??= '{"provider":'),
  },
];

function requestWith(token: string, wrong: typeof faults): Asked {
  const asked = {
    method: 'POST',
    path: '/v1/sessions',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
  };
  for (const { put } of wrong) put(asked);
  return asked;
}

test.for(faults.map((fault, at) => ({ ...fault, at })))(
  'The order of checks refuses a wrong $name with $status, whether all that is looked at later is right or wrong.',
  async ({ at, status, body }) => {
    const { url, token } = on();
    for (const wrong of [faults.slice(at), faults.slice(at, at + 1)]) {
      const reply = await send(url, requestWith(token, wrong));
      expect(reply.json()).toEqual(body);
      expect(reply.status).toBe(status);
      expectRefusal(reply);
    }
  },
);

test('The order of checks refuses an unknown route before its body is read: not as JSON, not for its size.', async () => {
  const { url, token } = on();
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  for (const body of ['{', 'x'.repeat(300_000)]) {
    const reply = await send(url, { method: 'POST', path: '/v1/nope', headers, body });
    expect(reply.status).toBe(404);
  }
});

test('Host may be any loopback name, a configured one or the host of public_base_url, with any port and in any case.', async () => {
  const { url } = await testRuntime({
    config: {
      server: { bind_address: '127.0.0.1:0', allowed_hosts: ['box.lan'] },
      public_base_url: 'https://pub.example/cadre',
    },
  });
  const good = [
    'localhost',
    'LOCALHOST:1',
    '127.0.0.1:99',
    '[::1]:80',
    'box.lan',
    'pub.example:443',
  ];
  for (const host of good) {
    const { status } = await send(url, { path: '/health', headers: { host } });
    expect([host, status]).toEqual([host, 200]);
  }
});

test('Host is compared without regard to how the configuration writes it.', async () => {
  const { url } = await testRuntime({
    config: { server: { bind_address: '127.0.0.1:0', allowed_hosts: ['MyBox.LAN'] } },
  });
  const reply = await send(url, { path: '/health', headers: { host: 'mybox.lan' } });
  expect(reply.status).toBe(200);
});

test('The token has to be a bearer token, whole and as it is; the scheme is read in any case.', async () => {
  const { url, token } = on();
  const status = async (authorization: string) =>
    (await send(url, { path: '/v1/version', headers: { authorization } })).status;
  expect(await status(`Bearer ${token}`)).toBe(200);
  expect(await status(`bearer ${token}`)).toBe(200);
  const basic = Buffer.from(`x:${token}`).toString('base64');
  const wrong = ['', 'Bearer', 'Bearer ', token, `Basic ${basic}`, `Bearer ${token}x`];
  wrong.push(`Bearer ${token.slice(0, -1)}`, `Bearer ${token.toUpperCase()}`, `Token ${token}`);
  for (const authorization of wrong) {
    expect([authorization, await status(authorization)]).toEqual([authorization, 401]);
  }
});

test('The token is not taken from a query string or a cookie.', async () => {
  const { url, token } = on();
  const path = `/v1/version?token=${token}&access_token=${token}`;
  const reply = await send(url, { path, headers: { cookie: `token=${token}` } });
  expect(reply.status).toBe(401);
  expect(reply.json()).toEqual(unauthorized);
});

const widest = '\u{1d873}';
test.for([
  {
    name: 'of the greatest length',
    at: '/v1/sessions/sess_nope/files?path=',
    times: 4096,
    status: 404,
  },
  {
    name: 'that is too long',
    at: '/v1/sessions/sess_nope/files?path=',
    times: 4097,
    status: 400,
  },
  { name: 'with too long a word', at: '/v1/search?q=', times: 1000, status: 400 },
])(
  'A text $name in a query reaches its route, whatever its characters.',
  async ({ at, times, status }) => {
    const { url, token } = on();
    const path = `${at}${encodeURIComponent(widest.repeat(times))}`;
    const reply = await send(url, { path, headers: { authorization: `Bearer ${token}` } });
    expect(reply.status).toBe(status);
  },
);

test.for([
  { name: 'bytes that are not HTTP', status: 400, bytes: 'GARBAGE\r\n\r\n' },
  {
    name: 'headers without end',
    status: 431,
    bytes: `GET /health HTTP/1.1\r\nHost: localhost\r\nX-Long: ${'x'.repeat(70_000)}\r\n\r\n`,
  },
])('A connection with $name gets a refusal with the usual body.', async ({ status, bytes }) => {
  const { url } = on();
  const answer = await sendBytes(url, bytes);
  expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  const body = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n'))) as object;
  expect(Object.keys(body).toSorted()).toEqual(['code', 'error']);
});
