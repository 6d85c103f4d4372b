import { Writable } from 'node:stream';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { configSchema } from '../../../src/core/config/schema.ts';
import { masked, secretsOf } from '../../../src/core/config/secrets.ts';
import { createLog } from '../../../src/core/lib/log.ts';

test('The secrets are the token, and the variables of agents with a word for a secret in their names.', () => {
  const secret = (name: string) => [name, `the value of ${name}`] as const;
  const names = [
    'OPENAI_API_KEY',
    'github_token',
    'MY_SECRET',
    'PGPASSWORD',
    'apiKey',
    'KEY_2',
    'MYSQL_PASSWD',
    'rootPasswd',
    'SSH_PASSPHRASE',
    'AWS_CREDENTIALS',
    'DB_CREDENTIAL',
    'GITHUB_PAT',
    'azurePat',
  ];
  const others = [
    'GOOSE_DISABLE_KEYRING',
    'MAX_TOKENS',
    'MONKEY',
    'KEYBOARD_LAYOUT',
    'LANG',
    'PATH',
    'FILE_PATTERN',
    'OLDPATH',
    'CREDENTIALED',
  ];
  const env: Record<string, string> = {
    ...Object.fromEntries([...names, ...others].map(secret)),
    PASSWORD: '',
  };
  const auth = { token: 'a-token-of-my-own' };
  const config = configSchema.parse({ auth, providers: { acp: { env } } });
  expect(secretsOf(config)).toEqual(['a-token-of-my-own', ...names.map((name) => env[name])]);
  expect(secretsOf(configSchema.parse({}))).toEqual([]);
  const agents = { mine: { env: { MY_KEY: 'mine-alone', LANG: 'C' } } };
  expect(secretsOf(configSchema.parse({ providers: { acp: { agents } } }))).toEqual(['mine-alone']);
});

test('A secret has at least 8 characters, and is not a number or a boolean.', () => {
  const values = ['0', '1', 'true', 'seven77', '12345678', '1.5e10', '2026', 'eight888'];
  const env = Object.fromEntries(values.map((value, at) => [`A_${at}_KEY`, value]));
  expect(secretsOf(configSchema.parse({ providers: { claude: { env } } }))).toEqual(['eight888']);
});

test('Variables shorter than 8 characters change no line of the log.', () => {
  const line = { route: '/v1/sessions/:session_id', said: 'no 1 is true', reqId: 'req_0190ab' };
  const write = (secrets: string[]) => {
    let text = '';
    const destination = new Writable({ write: (part, _e, done) => ((text += part), done()) });
    createLog({ level: 'info', destination, pretty: false, secrets: () => secrets }).info(line);
    return { ...(JSON.parse(text) as object), time: null };
  };
  const whole = write([]);
  const name = fc.constantFrom('A_KEY', 'A_TOKEN', 'A_SECRET', 'PASSWORD', 'apiKey');
  const short = fc.oneof(
    fc.string({ maxLength: 7 }),
    fc.constantFrom('0', '1', 'true', 'v1', 'info', 'req_', 'pid', ':', '"', 'session'),
  );
  fc.assert(
    fc.property(fc.dictionary(name, short), (env) => {
      expect(write(secretsOf(configSchema.parse({ providers: { codex: { env } } })))).toEqual(
        whole,
      );
    }),
  );
});

test('Only secrets are masked.', () => {
  expect(masked('auth.token', 'a-token-of-my-own')).toBe('[secret]');
  expect(masked('auth.token', null)).toBeNull();
  expect(masked('auth.token_file', '/a')).toBe('/a');
  expect(masked('providers.acp.env', { A_KEY: 'k1', LANG: 'C' })).toEqual({
    A_KEY: '[secret]',
    LANG: 'C',
  });
  const mine = { command: 'm', env: { A_KEY: 'k1', LANG: 'C' } };
  expect(masked('providers.acp.agents', { mine })).toEqual({
    mine: { command: 'm', env: { A_KEY: '[secret]', LANG: 'C' } },
  });
});
