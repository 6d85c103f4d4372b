import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { configSchema } from '../../../src/core/config/schema.ts';
import {
  loadOrCreateToken,
  readToken,
  tokenFileOf,
  withToken,
} from '../../../src/core/config/token.ts';
import { tempDirectory, testDirectory } from '../../support/temp.ts';

const mode = (file: string) => fs.statSync(file).mode & 0o777;

test('The token is 32 random bytes in base64url, in a file of mode 0600 in a directory of mode 0700.', async () => {
  const tokenFile = path.join(testDirectory(), 'auth', 'token');
  const token = loadOrCreateToken(tokenFile);
  expect(token).toMatch(/^[\w-]{43}$/);
  expect(Buffer.from(token, 'base64url')).toHaveLength(32);
  expect(fs.readFileSync(tokenFile, 'utf8')).toBe(`${token}\n`);
  expect([mode(tokenFile), mode(path.dirname(tokenFile))]).toEqual([0o600, 0o700]);
});

test('An existing token file is reused, and another path gets another token.', async () => {
  await using place = tempDirectory();
  const [one, other] = [path.join(place.path, 'one'), path.join(place.path, 'other')];
  const token = loadOrCreateToken(one);
  expect(loadOrCreateToken(one)).toBe(token);
  expect(loadOrCreateToken(other)).not.toBe(token);
});

test('A configured token takes precedence over the file, which is not created.', async () => {
  await using place = tempDirectory();
  const tokenFile = path.join(place.path, 'token');
  const config = configSchema.parse({
    auth: { token: 'a-configured-token', token_file: tokenFile },
  });
  expect(withToken(config, place.path).auth).toEqual({
    token: 'a-configured-token',
    token_file: null,
  });
  expect(fs.existsSync(tokenFile)).toBe(false);
});

test('The token is not written through a symbolic link.', async () => {
  await using place = tempDirectory();
  const [link, target] = [path.join(place.path, 'token'), path.join(place.path, 'theirs')];
  fs.symlinkSync(target, link);
  expect(() => loadOrCreateToken(link)).toThrow(Error);
  expect(fs.existsSync(target)).toBe(false);
});

test.for([0o640, 0o604, 0o620, 0o601, 0o660, 0o644, 0o777])(
  'A token file of mode %o is refused with the command that fixes it.',
  (bits) => {
    const tokenFile = path.join(testDirectory(), 'token');
    const token = loadOrCreateToken(tokenFile);
    fs.chmodSync(tokenFile, bits);
    const attempt = () => loadOrCreateToken(tokenFile);
    expect(attempt).toThrow(expect.objectContaining({ name: 'AppError', code: 'invalid' }));
    expect(attempt).toThrow(/chmod 600/);
    expect(attempt).not.toThrow(token);
  },
);

test.for(['', '\n', 'short', '   fifteen-chars   '])(
  'A token that is too short is refused: %j.',
  (text) => {
    const tokenFile = path.join(testDirectory(), 'token');
    fs.writeFileSync(tokenFile, text, { mode: 0o600 });
    expect(() => readToken(tokenFile)).toThrow(
      /contains no token of at least 16 characters: delete the file/,
    );
  },
);

test('The token is read without surrounding whitespace, also from a file of mode 0400.', async () => {
  const tokenFile = path.join(testDirectory(), 'token');
  fs.writeFileSync(tokenFile, '  0123456789abcdef \r\n', { mode: 0o400 });
  expect(readToken(tokenFile)).toBe('0123456789abcdef');
});

test('The token is auth.token, else the one in auth.token_file, else the one in the data directory.', async () => {
  await using place = tempDirectory();
  const own = path.join(place.path, 'own');
  const usual = path.join(place.path, 'auth', 'token');
  const fileOf = (auth: object) => tokenFileOf(configSchema.parse({ auth }), place.path);
  expect(fileOf({})).toBe(usual);
  expect(fileOf({ token_file: own })).toBe(own);
  expect(fileOf({ token_file: own, token: 'configured-token' })).toBeNull();
  const { auth } = withToken(configSchema.parse({ auth: { token_file: own } }), place.path);
  expect(auth).toEqual({ token: readToken(own), token_file: own });
});
