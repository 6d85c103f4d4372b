import { describe, expect, test } from 'vitest';
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

/** Headers as they came over the wire. */
function rawOf(headers: Record<string, string | undefined>) {
  const given = Object.entries(headers).filter(([, value]) => value !== undefined);
  return { url: '/', rawHeaders: given.flat() as string[] };
}

describe('hostName', () => {
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
  ])('of %j is %j.', ([header, name]) => {
    expect(hostName(header)).toBe(name);
  });
});

describe('who may enter', () => {
  const token = 'the-right-token-for-this';
  const made = new Map<string, TokenScope>([
    ['an-admin', 'admin'],
    ['a-reader', 'read'],
    ['a-caller', 'tools'],
  ]);
  /** All that a request has to pass, in order. */
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

  test('whoever addresses us, comes from where it may and has the token.', () => {
    expect(codeOf({ host: 'localhost', authorization })).toBe('welcome');
    expect(codeOf({ host: 'box.lan:1', origin: 'https://app.example', authorization })).toBe(
      'welcome',
    );
    expect(codeOf({ host: 'localhost' }, 'public')).toBe('welcome');
  });

  test('the host is looked at first, then the origin, then the token.', () => {
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

  test('a public route skips the token alone.', () => {
    expect(codeOf({ host: 'evil.example' }, 'public')).toBe('forbidden_host');
    expect(codeOf({ host: 'localhost', origin: 'https://evil.example' }, 'public')).toBe(
      'forbidden_origin',
    );
    expect(codeOf({ host: 'localhost', authorization: 'Bearer wrong' }, 'public')).toBe('welcome');
  });

  test('no page whose origin is null, whatever the configuration says.', () => {
    const open = { ...rules, allowedOrigins: () => ['null', 'https://app.example'] };
    const headers = { host: 'localhost', origin: 'null', authorization };
    expect(() => admit(headers, { access: 'token', method: 'GET' }, open)).toThrow(/"null"/);
  });

  test("the token of a session's agent: where the tools are, and nowhere else.", () => {
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
    'with %s, which is of the scope admin: everywhere, to do anything.',
    (given) => {
      const headers = { host: 'localhost', authorization: `Bearer ${given}` };
      for (const method of methods) {
        for (const access of ['public', 'token', 'admin'] as const)
          expect(codeOf(headers, access, method)).toBe('welcome');
      }
    },
  );

  test('with a token of the scope read: to read, but nothing that is for admins.', () => {
    const headers = { host: 'localhost', authorization: 'Bearer a-reader' };
    for (const method of methods) {
      const isReading = method === 'GET' || method === 'HEAD';
      expect(codeOf(headers, 'public', method)).toBe('welcome');
      expect(codeOf(headers, 'token', method)).toBe(isReading ? 'welcome' : 'forbidden_scope');
      expect(codeOf(headers, 'admin', method)).toBe('forbidden_scope');
    }
  });

  test('with a token of the scope tools: where the tools are, and nowhere else.', () => {
    const headers = { host: 'localhost', authorization: 'Bearer a-caller' };
    for (const method of ['GET', 'HEAD', 'POST']) {
      expect(codeOf(headers, 'gateway', method)).toBe('welcome');
      for (const access of ['token', 'admin'] as const)
        expect(codeOf(headers, access, method)).toBe('forbidden_scope');
    }
  });

  test('nobody with a token that is nearly one, or stands for something else.', () => {
    const near = ['an-admi', 'an-admin ', 'AN-ADMIN', 'an-admin\0', '__proto__', 'constructor'];
    for (const given of near) {
      const headers = { host: 'localhost', authorization: `Bearer ${given}` };
      expect([given, codeOf(headers)]).toEqual([given, 'unauthorized']);
    }
  });
});
