import fs from 'node:fs/promises';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import type { AuthStatus } from '../../api/providers.ts';
import type { Supervisor } from '../../core/children/supervisor.ts';
import type { Clock } from '../../core/lib/clock.ts';
import { readForeignFile } from '../../core/lib/foreign-file.ts';
import { makeDirectory } from '../../core/lib/make-directory.ts';
import { replaceFile } from '../../core/lib/replace-file.ts';
import { parsed } from '../json-lines.ts';
import { loginHint, type LoginSituation } from '../own-home.ts';
import { ProviderError } from '../provider.ts';

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

/** How claude is started. */
interface ClaudeCommand {
  command: string;
  args: readonly string[];
  env: Record<string, string>;
  supervisor: Supervisor;
  clock: Clock;
}

const status = z.looseObject({
  loggedIn: z.boolean(),
  authMethod: z.string().catch(''),
  apiProvider: z.string().catch('firstParty'),
});

/** Whether claude has a login, as it says without a network: not whether the login is valid. */
export async function askStatus(claude: ClaudeCommand, login: LoginSituation): Promise<AuthStatus> {
  // The exit code is not looked at: it is 1 where nobody is logged in.
  const { said } = await run(claude, ['auth', 'status', '--json']);
  const { data } = status.safeParse(parsed(said));
  if (!data) {
    throw new ProviderError(
      'provider_unavailable',
      'claude: cannot read the output of "claude auth status --json": update Claude Code',
    );
  }
  if (!data.loggedIn) {
    const detail = `not logged in: ${loginHint(login)}`;
    return { authenticated: false, mode: 'not_configured', detail };
  }
  if (data.apiProvider !== 'firstParty') {
    const detail = `claude uses ${data.apiProvider} and its login`;
    return { authenticated: true, mode: 'agent_managed', detail };
  }
  return data.authMethod === 'api_key'
    ? { authenticated: true, mode: 'api_key', detail: 'claude has an API key' }
    : { authenticated: true, mode: 'account', detail: 'claude is logged in to an account' };
}

/** Ends the login that claude itself keeps. Throws {@link ProviderError}. */
export async function endLogin(claude: ClaudeCommand): Promise<void> {
  const { code } = await run(claude, ['auth', 'logout']);
  if (code === 0) return;
  throw new ProviderError(
    'provider_unavailable',
    `claude: "claude auth logout" exited with code ${code}`,
  );
}

/** Runs a command of claude to its end. */
async function run(
  { command, args, env, supervisor, clock }: ClaudeCommand,
  words: readonly string[],
): Promise<{ code: number | null; said: string }> {
  const what = `claude ${words.join(' ')}`;
  const child = await supervisor.start({
    command,
    args: [...args, ...words],
    cwd: process.cwd(),
    env,
    what,
    stdin: 'none',
  });
  const limit = clock.after(ANSWER_MS, () => void child.end(0));
  try {
    child.stderr.resume();
    const [said, { code }] = await Promise.all([text(child.stdout), child.exited]);
    return { code, said };
  } finally {
    limit[Symbol.dispose]();
    await child.end(0);
  }
}
