import fs from 'node:fs';
import { AppError } from '../errors.ts';

/** The home of an agent that is cadre's alone. Throws `provider_managed` where it has the user's, with its commands. */
export function ownHome(
  id: string,
  home: string | null,
  { login, logout }: { login: string; logout: string },
): string {
  if (home !== null) return home;
  throw new AppError(
    'provider_managed',
    `${id} uses the login of the user who runs cadre, which cadre does not change: run "${login}" or "${logout}" ` +
      `as that user, or give ${id} a home of its own with providers.${id}.home`,
  );
}

/**
 * What to do where nobody is logged in. A home of cadre's own takes no login that is made by the agent's own command,
 * which changes the home of the user.
 */
export function loginHint(id: string, hasOwnHome: boolean, login: string): string {
  return hasOwnHome
    ? `give cadre a key for ${id}, which has a home of its own (providers.${id}.home)`
    : `run "${login}" as the user who runs cadre, or set providers.${id}.home and give cadre a key for ${id}`;
}

/** Writes a file that is readable for nobody else at any moment; it replaces the one before as a whole. */
export function writePrivately(file: string, text: string): void {
  const next = `${file}.new`;
  fs.rmSync(next, { force: true });
  fs.writeFileSync(next, text, { mode: 0o600, flag: 'wx' });
  fs.renameSync(next, file);
}
