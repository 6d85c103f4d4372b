import path from 'node:path';
import { homeDirectory } from '../lib/home-directory.ts';

/** The configuration file that is read unless a flag names one. */
export function defaultConfigFile(env: NodeJS.ProcessEnv): string {
  return (
    // An empty variable counts as unset.
    expandHome(env.CADRE_CONFIG ?? '', env) ||
    path.join(baseDirectory(env, 'XDG_CONFIG_HOME', '.config'), 'cadre', 'config.toml')
  );
}

/** The data directory, unless the configuration or a flag names one. */
export function defaultDataDirectory(env: NodeJS.ProcessEnv): string {
  // An empty variable counts as unset.
  if (env.CADRE_DATA_ROOT_DIR) return expandHome(env.CADRE_DATA_ROOT_DIR, env);
  return path.join(baseDirectory(env, 'XDG_DATA_HOME', '.local/share'), 'cadre');
}

/**
 * The directory of what can be made again, and may be removed at any time. On macOS it is where the system itself makes
 * room, and leaves out of backups. Configuration and data have the same place on all systems: command line tools have
 * the former in ~/.config on macOS as well, and the latter holds worktrees, whose builds may stumble over the space in
 * "Application Support".
 */
export function cacheDirectory(
  env: NodeJS.ProcessEnv,
  platform: NodeJS.Platform = process.platform,
): string {
  const usual = platform === 'darwin' ? 'Library/Caches' : '.cache';
  return path.join(baseDirectory(env, 'XDG_CACHE_HOME', usual), 'cadre');
}

/** A path with the home directory instead of `~`, which no shell has replaced in files, in variables and after `=`. */
export function expandHome(name: string, env: NodeJS.ProcessEnv): string {
  return /^~(?=\/|$)/.test(name) ? path.join(homeDirectory(env), name.slice(1)) : name;
}

/**
 * A base directory of XDG, else `usual` below the home directory. The specification has a variable count as unset where
 * it is empty or a relative path, which would be another directory for each program.
 */
export function baseDirectory(env: NodeJS.ProcessEnv, variable: string, usual: string): string {
  const named = env[variable] ?? '';
  return path.isAbsolute(named) ? named : path.join(homeDirectory(env), usual);
}
