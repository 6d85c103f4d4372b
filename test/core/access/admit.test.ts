import { expect, test } from 'vitest';
import type { Endpoint } from '../../../src/api/endpoint.ts';
import type { TokenScope } from '../../../src/api/tokens.ts';
import {
  type AccessRules,
  assertAddressed,
  assertScope,
  type Bearer,
  hostName,
  identify,
} from '../../../src/core/access/admit.ts';

/** Returns a request with these headers in raw form. */
function rawOf(headers: Record<string, string | undefined>) {
  const given = Object.entries(headers).filter(([, value]) => value !== undefined);
  return { url: '/', rawHeaders: given.flat() as string[] };
}

test.for<[header: string | undefined, name: string | null]>([
  ['localhost', 'localhost'],
  ['LocalHost', 'localhost'],
  ['localhost:7433', 'localhost'],
  ['127.0.0.1', '127.0.0.1'],
  ['127.0.0.1:0', '127.0.0.1'],
  ['[::1]', '[::1]'],
  ['[::1]:7433', '[::1]'],
  ['[0:0:0:0:0:0:0:1]:80', '[0:0:0:0:0:0:0:1]'],
  ['[::ffff:127.0.0.1]', '[::ffff:127.0.0.1]'],
  ['a-b.c_d.example:65535', 'a-b.c_d.example'],
  ['localhost.', 'localhost.'],
  [undefined, null],
  ['', null],
  [':80', null],
  ['localhost:', null],
  ['localhost:x', null],
  ['localhost:80:80', null],
  ['localhost:123456', null],
  ['::1', null],
  ['[::1', null],
  ['[localhost]', null],
  ['user@localhost', null],
  ['localhost/evil', null],
  ['localhost#evil', null],
  ['localhost?evil', null],
  ['localhost evil', null],
  ['localhost,evil.example', null],
  ['localhost\n', null],
  ['löcalhost', null],
  ['evil.example\\localhost', null],
  ['%6cocalhost', null],
])('The host name of the header %j is %j.', ([header, name]) => {
  expect(hostName(header)).toBe(name);
});

const token = 'the-right-token-for-this';
const made = new Map<string, TokenScope>([
  ['an-admin', 'admin'],
  ['a-reader', 'read'],
  ['a-caller', 'tools'],
]);
/** Runs all checks of a request, in order. */
const admit = (
  headers: Record<string, string | undefined>,
  { access, method }: { access: Endpoint['access']; method: string },
  given: AccessRules,
): Bearer | null => {
  assertAddressed({ headers, raw: rawOf(headers) }, given);
  if (access === 'public') return null;
  const bearer = identify(headers.authorization, given);
  assertScope(bearer, method, access);
  return bearer;
};
const { signal: ended } = new AbortController();
const rules = {
  holderOf(given: string) {
    const scope = given === token ? 'admin' : made.get(given);
    return scope === undefined
      ? null
      : { id: `tok_of_${given}`, scope, permissionMode: null, ended };
  },
  sessionOf: (given: string) => (given === 'an-agent' ? 'sess_1' : null),
  allowedHosts: () => ['box.lan'],
  allowedOrigins: () => ['https://app.example'],
  linkOrigin: () => null,
};
const codeOf = (
  headers: Record<string, string | undefined>,
  access: Endpoint['access'] = 'token',
  method = 'GET',
) => {
  try {
    admit(headers, { access, method }, rules);
    return 'welcome';
  } catch (error) {
    return (error as { code: string }).code;
  }
};
const authorization = `Bearer ${token}`;

test('A request with an allowed host, an allowed origin and the token is admitted.', () => {
  expect(codeOf({ host: 'localhost', authorization })).toBe('welcome');
  expect(codeOf({ host: 'box.lan:1', origin: 'https://app.example', authorization })).toBe(
    'welcome',
  );
  expect(codeOf({ host: 'localhost' }, 'public')).toBe('welcome');
});

test('An allowed IPv6 address matches with and without brackets.', () => {
  for (const one of ['2001:DB8::1', '[2001:db8::1]']) {
    const headers = { host: '[2001:db8::1]:7433' };
    const allowed = { ...rules, allowedHosts: () => [one] };
    expect(() => assertAddressed({ headers, raw: rawOf(headers) }, allowed)).not.toThrow();
  }
});

test('A request is checked for its host first, then for its origin, then for its token.', () => {
  const wrong = {
    host: 'evil.example',
    origin: 'https://evil.example',
    authorization: 'Bearer wrong',
  };
  expect(codeOf(wrong)).toBe('forbidden_host');
  expect(codeOf({ ...wrong, host: 'localhost' })).toBe('forbidden_origin');
  expect(codeOf({ ...wrong, host: 'localhost', origin: undefined })).toBe('unauthorized');
  expect(codeOf({ ...wrong, host: undefined })).toBe('forbidden_host');
});

test('A public route skips only the check of the token.', () => {
  expect(codeOf({ host: 'evil.example' }, 'public')).toBe('forbidden_host');
  expect(codeOf({ host: 'localhost', origin: 'https://evil.example' }, 'public')).toBe(
    'forbidden_origin',
  );
  expect(codeOf({ host: 'localhost', authorization: 'Bearer wrong' }, 'public')).toBe('welcome');
});

test('A page with the origin null is refused, whatever the configuration allows.', () => {
  const open = { ...rules, allowedOrigins: () => ['null', 'https://app.example'] };
  const headers = { host: 'localhost', origin: 'null', authorization };
  expect(() => admit(headers, { access: 'token', method: 'GET' }, open)).toThrow(/"null"/);
});

test('The token of an agent is accepted for tool routes only.', () => {
  const headers = { host: 'localhost', authorization: 'Bearer an-agent' };
  expect(codeOf(headers, 'public')).toBe('welcome');
  for (const method of ['GET', 'POST']) {
    expect(codeOf(headers, 'gateway', method)).toBe('welcome');
    for (const access of ['token', 'admin'] as const)
      expect(codeOf(headers, access, method)).toBe('forbidden_scope');
  }
  expect(admit(headers, { access: 'gateway', method: 'POST' }, rules)).toEqual({
    scope: 'agent',
    id: 'sess_1',
  });
});

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'QUERY'];

test.for([token, 'an-admin'])(
  'The token %s with the scope admin is accepted for every route and method.',
  (given) => {
    const headers = { host: 'localhost', authorization: `Bearer ${given}` };
    for (const method of methods) {
      for (const access of ['public', 'token', 'admin'] as const)
        expect(codeOf(headers, access, method)).toBe('welcome');
    }
  },
);

test('A token with the scope read may read, except routes for admins.', () => {
  const headers = { host: 'localhost', authorization: 'Bearer a-reader' };
  for (const method of methods) {
    const isReading = method === 'GET' || method === 'HEAD';
    expect(codeOf(headers, 'public', method)).toBe('welcome');
    expect(codeOf(headers, 'token', method)).toBe(isReading ? 'welcome' : 'forbidden_scope');
    expect(codeOf(headers, 'admin', method)).toBe('forbidden_scope');
  }
});

test('A token with the scope tools is accepted for tool routes only.', () => {
  const headers = { host: 'localhost', authorization: 'Bearer a-caller' };
  for (const method of ['GET', 'HEAD', 'POST']) {
    expect(codeOf(headers, 'gateway', method)).toBe('welcome');
    for (const access of ['token', 'admin'] as const)
      expect(codeOf(headers, access, method)).toBe('forbidden_scope');
  }
});

test('A token that is almost a valid one is refused.', () => {
  const near = ['an-admi', 'an-admin ', 'AN-ADMIN', 'an-admin\0', '__proto__', 'constructor'];
  for (const given of near) {
    const headers = { host: 'localhost', authorization: `Bearer ${given}` };
    expect([given, codeOf(headers)]).toEqual([given, 'unauthorized']);
  }
});
