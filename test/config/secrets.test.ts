import { describe, expect, test } from 'vitest';
import { configSchema } from '../../src/config/schema.ts';
import { masked, secretsOf } from '../../src/config/secrets.ts';

describe('the secrets of a configuration', () => {
  test('are its token, and the variables of agents whose names say so.', () => {
    const env = {
      OPENAI_API_KEY: 'k1',
      github_token: 't1',
      MY_SECRET: 's1',
      PASSWORD: '',
      LANG: 'C',
    };
    const auth = { token: 'a-token-of-my-own' };
    const config = configSchema.parse({ auth, providers: { acp: { env } } });
    expect(secretsOf(config)).toEqual(['a-token-of-my-own', 'k1', 't1', 's1']);
    expect(secretsOf(configSchema.parse({}))).toEqual([]);
    const agents = { mine: { env: { MY_KEY: 'k2', LANG: 'C' } } };
    expect(secretsOf(configSchema.parse({ providers: { acp: { agents } } }))).toEqual(['k2']);
  });

  test('are masked, and nothing else is.', () => {
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
});
