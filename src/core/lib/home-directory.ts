import path from 'node:path';

/**
 * Returns the home directory: HOME, which counts as unset where it is empty or a relative path, else the directory of the
 * user's account, else `/`, as container runtimes set it for a user without an account.
 */
export function homeDirectory(env: NodeJS.ProcessEnv): string {
  const named = env.HOME ?? '';
  return path.isAbsolute(named) ? named : homeOfAccount();
}

function homeOfAccount(): string {
  // Loaded here: most commands never need it.
  const os = process.getBuiltinModule('node:os');
  try {
    return path.resolve('/', os.userInfo().homedir);
  } catch {
    return '/';
  }
}
