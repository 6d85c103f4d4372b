import type { UserInfo } from 'node:os';
import path from 'node:path';

/**
 * Returns the value of HOME. If HOME is unset, empty or a relative path, returns the home directory of the user's account.
 * If the user has no account, as in some containers, returns `/`.
 */
export function homeDirectory(env: NodeJS.ProcessEnv): string {
  const named = env.HOME ?? '';
  return path.isAbsolute(named) ? named : path.resolve('/', account()?.homedir ?? '');
}

/** Returns the name of the user's account; null if the user has none. */
export function accountName(): string | null {
  return account()?.username ?? null;
}

function account(): UserInfo<string> | null {
  // Loaded here, because most commands do not need it.
  const os = process.getBuiltinModule('node:os');
  try {
    return os.userInfo();
  } catch {
    return null;
  }
}
