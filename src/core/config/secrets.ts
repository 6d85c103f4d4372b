import { providerIds } from '../../api/provider-kinds.ts';
import type { Config } from './schema.ts';

/** The variables that the configuration sets for the agents of all providers. */
export function agentVariables({ providers }: Config): [string, string][] {
  const sections = providerIds.map((id) => providers[id]);
  const agents = Object.values(providers.acp?.agents ?? {});
  return [...sections, ...agents].flatMap((section) => Object.entries(section?.env ?? {}));
}

/** Returns the values that no log may contain: the token, and the secret variables that are long enough. */
export function secretsOf(config: Config): string[] {
  const values = secretVariables(config).map(([, value]) => value);
  return [config.auth.token ?? '', ...values].filter(isRedactable);
}

/** The variables of agents whose names mark them as secrets, and whose values are not switches. */
export function secretVariables(config: Config): [string, string][] {
  return agentVariables(config).filter(
    ([name, value]) => isSecretName(name) && !SWITCH.test(value),
  );
}

/** Reports whether a secret is replaced in log lines: a shorter text, or a number, also stands in lines that do not mean it. */
export function isRedactable(secret: string): boolean {
  return secret.length >= MIN_SECRET_LENGTH && !NUMBER.test(secret);
}

/** The minimum length of a secret, in characters. */
export const MIN_SECRET_LENGTH = 8;

const SWITCH = /^\s*([01]|true|false|yes|no|on|off)?\s*$/i;
const NUMBER = /^\s*[-+]?[\d._,]+(e[-+]?\d+)?\s*$/i;

/** The value of a key with its secrets masked. */
export function masked(name: string, value: unknown): unknown {
  if (value === null) return null;
  if (name === 'auth.token') return MASK;
  if (name.endsWith('.env')) return maskedVariables(value as Record<string, string>);
  if (name !== 'providers.acp.agents') return value;
  const agents = Object.entries(value as Record<string, { env: Record<string, string> }>);
  return Object.fromEntries(
    agents.map(([name, agent]) => [name, { ...agent, env: maskedVariables(agent.env) }]),
  );
}

function maskedVariables(variables: Record<string, string>): Record<string, string> {
  const entries = Object.entries(variables);
  return Object.fromEntries(
    entries.map(([name, text]) => [name, isSecretName(name) ? MASK : text]),
  );
}

const MASK = '[secret]';

/** Reports whether a word of the name marks a secret. `KEYRING` and `TOKENS`, a number of them, are other words. */
export function isSecretName(variable: string): boolean {
  return variable.split(/[^A-Za-z0-9]+|(?<=[a-z\d])(?=[A-Z])/).some((word) => SECRET.test(word));
}

const SECRET =
  /^(KEYS?|TOKEN|PAT|CREDENTIALS?|(API|ACCESS|AUTH|PRIVATE)(KEYS?|TOKEN)|[A-Z\d]*(SECRET|PASSWORD|PASSWD|PASSPHRASE)S?)\d*$/i;
