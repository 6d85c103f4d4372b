import os from 'node:os';
import path from 'node:path';

/** The configuration file that is read unless a flag names one. */
export function defaultConfigFile(env: NodeJS.ProcessEnv): string {
  return env.CADRE_CONFIG ?? path.join(configBase(env), 'cadre', 'config.toml');
}

/** The directory below which programs have their configuration. */
export function configBase(env: NodeJS.ProcessEnv): string {
  return baseOf(env.XDG_CONFIG_HOME, path.join(home(env), '.config'));
}

/** The data directory, unless the configuration or a flag names one. */
export function defaultDataDirectory(env: NodeJS.ProcessEnv): string {
  const { CADRE_DATA_ROOT_DIR: own, XDG_DATA_HOME: base } = env;
  return own ?? path.join(baseOf(base, path.join(home(env), '.local', 'share')), 'cadre');
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
  return path.join(baseOf(env.XDG_CACHE_HOME, path.join(home(env), usual)), 'cadre');
}

/** A file that the configuration names: absolute, below the home directory with `~/`, else beside the configuration. */
export function configuredFile(name: string, configFile: string, env: NodeJS.ProcessEnv): string {
  if (name.startsWith('~/')) return path.join(home(env), name.slice(2));
  return path.resolve(path.dirname(configFile), name);
}

/** XDG has it that a variable which is empty, or a relative path, counts as not set. */
function baseOf(value: string | undefined, usual: string): string {
  return value && path.isAbsolute(value) ? value : usual;
}

function home(env: NodeJS.ProcessEnv): string {
  return env.HOME ?? os.homedir();
}
