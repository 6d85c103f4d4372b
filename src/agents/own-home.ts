import { type LoginProviderId, providerKinds } from '../api/provider-kinds.ts';

/**
 * What to do where nobody is logged in. The agent's own command changes the home of the user, so it makes no login for
 * a home that is cadre's alone.
 */
export function loginHint(id: LoginProviderId, hasOwnHome: boolean): string {
  const { login } = providerKinds[id].login.commands;
  return hasOwnHome
    ? `run cadre providers login ${id}`
    : `run "${login}" as the user who runs cadre, or set providers.${id}.home and run cadre providers login ${id}`;
}

/** Why a provider whose agent refused its last turn for want of a login is not healthy; null for any other. */
export function logoutOf(
  id: LoginProviderId,
  isLoggedOut: boolean,
  hasOwnHome: boolean,
): string | null {
  return isLoggedOut ? `not logged in: ${loginHint(id, hasOwnHome)}` : null;
}
