import { providerIds } from '../api/provider-kinds.ts';
import type { Config } from './schema.ts';

/** The variables that the configuration sets for the agents of all providers. */
export function agentVariables({ providers }: Config): [string, string][] {
  const sections = providerIds.map((id) => providers[id]);
  const agents = Object.values(providers.acp?.agents ?? {});
  return [...sections, ...agents].flatMap((section) => Object.entries(section?.env ?? {}));
}

/** The values that no log may contain: the token, and variables whose names mark them as secrets. */
export function secretsOf(config: Config): string[] {
  const variables = agentVariables(config).filter(([name]) => isSecret(name));
  return [config.auth.token ?? '', ...variables.map(([, value]) => value)].filter(Boolean);
}

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
  return Object.fromEntries(entries.map(([name, text]) => [name, isSecret(name) ? MASK : text]));
}

const MASK = '[secret]';

function isSecret(variable: string): boolean {
  return /KEY|TOKEN|SECRET|PASSWORD/i.test(variable);
}
