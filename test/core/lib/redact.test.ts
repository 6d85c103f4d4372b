import { describe, expect, test } from 'vitest';
import { mapTexts, redactor } from '../../../src/core/lib/redact.ts';

const redact = redactor(['hunter2-hunter2', 'hunter2-hunter2-longer'], '/home/ana');
const letters = 'abcdefghijklmnopqrstuvwxyz0123456789';

describe('A redactor', () => {
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
  ])('replaces the secret %s and leaves the words around it.', (secret) => {
    expect(redact(`before ${secret} after`)).toBe('before [redacted] after');
  });

  test.each([
    ['Authorization: Bearer abc.def', 'Authorization: Bearer [redacted]'],
    ['{"api_key": "abcdef123"}', '{"api_key": "[redacted]"}'],
    ['export DB_PASSWORD=swordfish', 'export DB_PASSWORD=[redacted]'],
    ['git clone https://ana:swordfish@host/x', 'git clone https://ana:[redacted]@host/x'],
    ['cd /home/ana/shop && ls /home/anabel', 'cd ~/shop && ls /home/anabel'],
  ])('turns "%s" into "%s".', (text, redacted) => {
    expect(redact(text)).toBe(redacted);
  });

  test.each([
    'the token is missing',
    'tokens: 1200 of 2000',
    'const key = keys[0]',
    'password = getPassword()',
    'https://example.org/a:b@c',
    'a risk-free sk-ip',
  ])('leaves the text "%s" as it is.', (text) => {
    expect(redact(text)).toBe(text);
  });

  test('changes every text of a JSON value and no name of a field.', () => {
    const value = { 'sk-name': [1, null, { a: 'x' }], b: 'x' };
    expect(mapTexts(value, (text) => `${text}!`)).toEqual({
      'sk-name': [1, null, { a: 'x!' }],
      b: 'x!',
    });
  });
});
