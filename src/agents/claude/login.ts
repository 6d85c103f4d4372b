import fs from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import type { AuthStatus } from '../../api/providers.ts';
import { readForeignFile } from '../../core/lib/foreign-file.ts';
import { makeDirectory } from '../../core/lib/make-directory.ts';
import { replaceFile } from '../../core/lib/replace-file.ts';
import { parsed } from '../json-lines.ts';
import { loggedOut, type LoginSituation } from '../login-watch.ts';
import { ProviderError } from '../provider.ts';
import { type ProgramOptions, runProgram } from '../agent-process.ts';

/** The file of the API key, beside claude's own files in a home that is cadre's alone. */
const KEY_FILE = 'cadre-api-key';
const ANSWER_MS = 30_000;

/** The API key that cadre was given, or null. It is read for each process, so the next one has a new key. */
export async function readKey(home: string): Promise<string | null> {
  const key = await readForeignFile(home, KEY_FILE, { maxBytes: MAX_KEY_BYTES });
  return key?.toString('utf8').trim() || null;
}

const MAX_KEY_BYTES = 64 * 1024;

export function writeKey(home: string, key: string): void {
  makeDirectory(home);
  replaceFile(path.join(home, KEY_FILE), `${key}\n`);
}

export async function removeKey(home: string): Promise<void> {
  await fs.rm(path.join(home, KEY_FILE), { force: true });
}

const status = z.looseObject({
  loggedIn: z.boolean(),
  authMethod: z.string().catch(''),
  apiProvider: z.string().catch('firstParty'),
});

/** Whether claude has a login, as it says without a network: not whether the login is valid. */
export async function askStatus(
  claude: ProgramOptions,
  login: LoginSituation,
  limitMs = ANSWER_MS,
): Promise<AuthStatus> {
  const what = 'claude auth status --json';
  // The exit code is not looked at: it is 1 where nobody is logged in.
  const { stdout } = await runProgram(claude, ['auth', 'status', '--json'], { what, limitMs });
  const { data } = status.safeParse(parsed(stdout));
  if (!data) {
    throw new ProviderError(
      'provider_unavailable',
      'claude: cannot read the output of "claude auth status --json": update Claude Code',
    );
  }
  if (!data.loggedIn) return loggedOut(login);
  if (data.apiProvider !== 'firstParty') {
    const detail = `claude uses ${data.apiProvider} and its login`;
    return { authenticated: true, mode: 'agent_managed', detail };
  }
  return data.authMethod === 'api_key'
    ? { authenticated: true, mode: 'api_key', detail: 'claude has an API key' }
    : { authenticated: true, mode: 'account', detail: 'claude is logged in to an account' };
}

/** Ends the login that claude itself keeps. Throws {@link ProviderError}. */
export async function endLogin(claude: ProgramOptions): Promise<void> {
  const what = 'claude auth logout';
  const { code } = await runProgram(claude, ['auth', 'logout'], { what, limitMs: ANSWER_MS });
  if (code === 0) return;
  throw new ProviderError(
    'provider_unavailable',
    `claude: "claude auth logout" exited with code ${code}`,
  );
}
