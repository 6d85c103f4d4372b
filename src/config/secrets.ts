import { providerIds } from '../api/provider-kinds.ts';
import type { Config } from './schema.ts';

/** The variables that agents are given by the configuration, of whatever provider. */
export function agentVariables({ providers }: Config): [string, string][] {
  return providerIds.flatMap((id) => Object.entries(providers[id]?.env ?? {}));
}

/** What must not stand in a log: the token, and the values of variables whose names say so. */
export function secretsOf(config: Config): string[] {
  const variables = agentVariables(config).filter(([name]) => isSecret(name));
  return [config.auth.token ?? '', ...variables.map(([, value]) => value)].filter(Boolean);
}

/** The value of a key as it may be shown. */
export function masked(name: string, value: unknown): unknown {
  if (value === null) return null;
  if (name === 'auth.token') return MASK;
  if (!name.endsWith('.env')) return value;
  const variables = Object.entries(value as Record<string, string>);
  return Object.fromEntries(variables.map(([name, text]) => [name, isSecret(name) ? MASK : text]));
}

const MASK = '[secret]';

function isSecret(variable: string): boolean {
  return /KEY|TOKEN|SECRET|PASSWORD/i.test(variable);
}
