import { describe, expect, test } from 'vitest';
import { assertMayEnter, hostName } from '../../../src/http/auth.ts';

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
  const rules = {
    token: () => token,
    allowedHosts: ['box.lan'],
    allowedOrigins: ['https://app.example'],
  };
  const codeOf = (headers: Record<string, string | undefined>, isPublic = false) => {
    try {
      assertMayEnter(headers, isPublic, rules);
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
    expect(codeOf({ host: 'localhost' }, true)).toBe('welcome');
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
    expect(codeOf({ host: 'evil.example' }, true)).toBe('forbidden_host');
    expect(codeOf({ host: 'localhost', origin: 'https://evil.example' }, true)).toBe(
      'forbidden_origin',
    );
    expect(codeOf({ host: 'localhost', authorization: 'Bearer wrong' }, true)).toBe('welcome');
  });

  test('the token is the one of just now.', () => {
    let now = 'first-token-first-token';
    const changing = { ...rules, token: () => now };
    const enter = (given: string) => () =>
      assertMayEnter({ host: 'localhost', authorization: `Bearer ${given}` }, false, changing);
    expect(enter('first-token-first-token')).not.toThrow();
    now = 'second-token-second-token';
    expect(enter('first-token-first-token')).toThrow(/^missing or invalid bearer token$/);
    expect(enter('second-token-second-token')).not.toThrow();
  });
});
