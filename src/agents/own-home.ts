import { type LoginProviderId, providerKinds } from '../api/provider-kinds.ts';

/**
 * What to do where nobody is logged in. The agent's own command changes the home of the user, so it makes no login for
 * a home that is cadre's alone.
 */
export function loginHint(id: LoginProviderId, hasOwnHome: boolean): string {
  const { login } = providerKinds[id].login.commands;
  return hasOwnHome
    ? `give cadre a key for ${id}, which has a home of its own (providers.${id}.home)`
    : `run "${login}" as the user who runs cadre, or set providers.${id}.home and give cadre a key for ${id}`;
}

/** Why a provider whose agent refused its last turn for want of a login is not healthy; null for any other. */
export function logoutOf(
  id: LoginProviderId,
  isLoggedOut: boolean,
  hasOwnHome: boolean,
): string | null {
  return isLoggedOut ? `nobody is logged in: ${loginHint(id, hasOwnHome)}` : null;
}
