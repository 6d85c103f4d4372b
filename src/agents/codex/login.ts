import path from 'node:path';
import { z } from 'zod';
import type { AuthStatus } from '../../api/providers.ts';
import { invalidError } from '../../api/errors.ts';
import { makeDirectory } from '../../core/lib/make-directory.ts';
import { replaceFile } from '../../core/lib/replace-file.ts';
import { loggedOut, type LoginSituation } from '../login-watch.ts';
import { ProviderError } from '../provider.ts';
import { type ProgramOptions, runProgram } from '../agent-process.ts';

const account = z.looseObject({
  account: z.looseObject({ type: z.string() }).nullish().catch(null),
  requiresOpenaiAuth: z.boolean().catch(true),
});

/** Whether codex has a login, as it says without a network: not whether the login is valid. */
export function readAccount(raw: unknown, login: LoginSituation): AuthStatus {
  const { data } = account.safeParse(raw);
  if (!data) {
    throw new ProviderError(
      'provider_unavailable',
      'codex: cannot read the login status: update codex',
    );
  }
  switch (data.account?.type) {
    case 'apiKey':
      return { authenticated: true, mode: 'api_key', detail: 'codex has an API key' };
    case 'chatgpt':
      return { authenticated: true, mode: 'account', detail: 'codex is logged in to an account' };
    case undefined:
      return nobody(data.requiresOpenaiAuth, login);
    default: {
      const detail = `codex uses ${data.account?.type} and its login`;
      return { authenticated: true, mode: 'agent_managed', detail };
    }
  }
}

function nobody(isNeeded: boolean, login: LoginSituation): AuthStatus {
  if (isNeeded) return loggedOut(login);
  const detail = 'the models in the configuration of codex do not need a codex login';
  return { authenticated: true, mode: 'not_needed', detail };
}

/**
 * The login that `codex login status` reports; null if it reports none, which its configuration may not need. Throws
 * {@link ProviderError} for an output that cannot be read.
 */
export async function askStatus(
  codex: ProgramOptions,
  limitMs: number,
): Promise<AuthStatus | null> {
  const what = 'codex login status';
  const { code, stdout, stderr } = await runProgram(codex, ['login', 'status'], { what, limitMs });
  if (/not logged in/i.test(stdout + stderr)) return null;
  if (code !== 0)
    throw new ProviderError('provider_unavailable', 'codex: cannot read the login status');
  return /api key/i.test(stdout + stderr)
    ? { authenticated: true, mode: 'api_key', detail: 'codex has an API key' }
    : { authenticated: true, mode: 'account', detail: 'codex is logged in to an account' };
}

const filled = z.string().min(1);
const authFile = z.union([
  z.looseObject({ OPENAI_API_KEY: filled }),
  z.looseObject({
    tokens: z.looseObject({ id_token: filled, access_token: filled, refresh_token: filled }),
  }),
]);

/** Makes a home that only its owner can enter. Throws {@link ProviderError}. */
export function makeHome(home: string): void {
  try {
    makeDirectory(home);
  } catch (error) {
    throw new ProviderError(
      'provider_unavailable',
      `codex: cannot create the home directory "${home}" (${(error as Error).message}): set providers.codex.home to a directory that is writable for the user who runs cadre`,
      { cause: error },
    );
  }
}

/** Writes a login that was made elsewhere into a home, in place of an older one. Throws AppError `invalid`. */
export function writeAuth(home: string, auth: object): void {
  if (!authFile.safeParse(auth).success) {
    throw invalidError(
      'body.auth_json: expected the content of the codex file auth.json, an object with OPENAI_API_KEY or tokens',
    );
  }
  makeHome(home);
  replaceFile(path.join(home, 'auth.json'), JSON.stringify(auth, null, 2));
}
