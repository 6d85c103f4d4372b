import { type LoginProviderId, providerKinds } from '../api/provider-kinds.ts';

/** How an agent is logged in, and which variables its processes get. */
export interface LoginSituation {
  id: LoginProviderId;
  /** Whether the agent has a home that is cadre's alone. */
  hasOwnHome: boolean;
  /** The environment of the server. */
  from: NodeJS.ProcessEnv;
  /** The environment of the agent. */
  given: Readonly<Record<string, string>>;
}

/**
 * Returns the advice for an agent that nobody is logged in to. The agent's own command changes the home of the user, so it makes no login for
 * a home that is cadre's alone. A key or an address in the server's environment that the agent does not get is named.
 */
export function loginHint({ id, hasOwnHome, from, given }: LoginSituation): string {
  const { commands, variables } = providerKinds[id].login;
  const way = hasOwnHome
    ? `run cadre providers login ${id}`
    : `run "${commands.login}" as the user who runs cadre, or set providers.${id}.home and run cadre providers login ${id}`;
  const held = variables.filter((name) => from[name] && given[name] === undefined);
  return held.length === 0 ? way : `${way}; or use ${heldBack(id, held)}`;
}

/** Returns the advice for an agent whose own configuration names a variable for its key, which the agent does not get. */
export function missingVariable({ id, from }: LoginSituation, name: string): string {
  const set = from[name] ? '' : 'set the variable where the server runs, and then ';
  return `${set}${passingLine(id, [name])}`;
}

/** Why a provider whose agent refused its last turn for want of a login is not healthy; null for any other. */
export function logoutOf(situation: LoginSituation, isLoggedOut: boolean): string | null {
  return isLoggedOut ? `not logged in: ${loginHint(situation)}` : null;
}

function heldBack(id: LoginProviderId, names: readonly string[]): string {
  const are = names.length === 1 ? 'is' : 'are';
  return `${names.join(' and ')}, which ${are} set where the server runs and not passed on: ${passingLine(id, names)}`;
}

function passingLine(id: LoginProviderId, names: readonly string[]): string {
  return `add pass_env = ${JSON.stringify(names).replaceAll(',', ', ')} to [providers.${id}]`;
}
