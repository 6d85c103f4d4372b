import { expect, test } from 'vitest';
import { mapTexts, redactor } from '../../../src/core/lib/redact.ts';

const redact = redactor(['hunter2-hunter2', 'hunter2-hunter2-longer'], '/home/ana');
const letters = 'abcdefghijklmnopqrstuvwxyz0123456789';

test.each([
  `sk-ant-${letters}`,
  `sk-proj-${letters}`,
  `ghp_${letters}`,
  `github_pat_${letters}`,
  `glpat-${letters}`,
  `xoxb-${letters}`,
  'AKIAABCDEFGHIJKLMNOP',
  `AIza${letters}`,
  `npm_${letters}`,
  `hf_${letters}`,
  `sk_live_${letters}`,
  `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.${letters}`,
  `-----BEGIN OPENSSH PRIVATE KEY-----\n${letters}\n-----END OPENSSH PRIVATE KEY-----`,
  'hunter2-hunter2',
  'hunter2-hunter2-longer',
])('The secret %s is replaced, and the words around it stay.', (secret) => {
  expect(redact(`before ${secret} after`)).toBe('before [redacted] after');
});

test.each([
  ['Authorization: Bearer abc.def', 'Authorization: Bearer [redacted]'],
  ['{"api_key": "abcdef123"}', '{"api_key": "[redacted]"}'],
  ['export DB_PASSWORD=swordfish', 'export DB_PASSWORD=[redacted]'],
  ['AWS_SECRET_ACCESS_KEY=abc/def+123', 'AWS_SECRET_ACCESS_KEY=[redacted]'],
  ['secret_key = "two words here"', 'secret_key = "[redacted]"'],
  ['x-api-key: abcdef123', 'x-api-key: [redacted]'],
  ['login --password swordfish now', 'login --password [redacted] now'],
  ['password=pa$$word1', 'password=[redacted]'],
  [String.raw`{\"token\": \"plainsecret\"}`, String.raw`{\"token\": \"[redacted]\"}`],
  ['https://ana:p@ss/word@host/x', 'https://ana:[redacted]@host/x'],
  ['git clone https://ana:swordfish@host/x', 'git clone https://ana:[redacted]@host/x'],
  ['cd /home/ana/shop && ls /home/anabel', 'cd ~/shop && ls /home/anabel'],
])('The text "%s" becomes "%s".', (text, redacted) => {
  expect(redact(text)).toBe(redacted);
});

test.each([
  'the token is missing',
  'tokens: 1200 of 2000',
  'const key = keys[0]',
  'password = getPassword()',
  'TOKEN=$GITHUB_TOKEN',
  'a password and a token',
  'https://example.org/a:b@c',
  'a risk-free sk-ip',
])('The text "%s" is not changed.', (text) => {
  expect(redact(text)).toBe(text);
});

test('The time for a text of spaces, quotes or names grows in proportion to its length.', () => {
  for (const piece of [' ', '\n', '"', 'token ', 'a_', '://a:', 'password= '])
    expect(redact(piece.repeat(200_000)).length).toBeGreaterThan(0);
});

test('The text of a field is replaced if its name marks a secret.', () => {
  const isSecret = (name: string) => name === 'token';
  const value = { token: 'plain', tokens: 'x', deep: [{ token: 'plain', count: 1 }] };
  expect(mapTexts(value, (text) => text, isSecret)).toEqual({
    token: '[redacted]',
    tokens: 'x',
    deep: [{ token: '[redacted]', count: 1 }],
  });
});

test('Every text of a JSON value is mapped, and no field name.', () => {
  const value = { 'sk-name': [1, null, { a: 'x' }], b: 'x' };
  expect(mapTexts(value, (text) => `${text}!`)).toEqual({
    'sk-name': [1, null, { a: 'x!' }],
    b: 'x!',
  });
});
