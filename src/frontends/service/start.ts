import fs from 'node:fs';
import path from 'node:path';

/** How a service manager starts the server. It holds no secret. */
export interface ServiceStart {
  /** Absolute path of the program, then its arguments. */
  command: readonly [file: string, ...words: string[]];
  /** Variables for the server, which a service manager does not take from a shell. */
  variables: Readonly<Record<string, string>>;
  /** A file with more variables, which may have secrets and need not be there. */
  variablesFile: string;
  /** The file for what the server prints, where the manager keeps no log. */
  log: string;
  /** Whether agents may outlive the server (`server.reattach_ms`). */
  agentsOutlive: boolean;
}

/** Where things lie. Every other setting belongs into the configuration file, and secrets nowhere else. */
const CARRIED = [
  'XDG_CONFIG_HOME',
  'XDG_DATA_HOME',
  'XDG_CACHE_HOME',
  'CADRE_CONFIG',
  'CADRE_DATA_ROOT_DIR',
  'NODE_EXTRA_CA_CERTS',
  'SSL_CERT_DIR',
  'SSL_CERT_FILE',
] as const;

/** The variables of a shell that the service gets: PATH, so that it finds the same agents, and where things lie. */
export function variablesOf(env: NodeJS.ProcessEnv): Record<string, string> {
  const entries = CARRIED.flatMap((name) => {
    const value = env[name] ?? '';
    // Programs ignore a relative path in a variable of XDG.
    const isUnset = value === '' || (name.startsWith('XDG_') && !path.isAbsolute(value));
    return isUnset ? [] : [[name, path.resolve(value)]];
  });
  return {
    PATH: lastingPath(env.PATH),
    ...(Object.fromEntries(entries) as Record<string, string>),
  };
}

/** The settings of cadre in a shell that the service does not get. */
export function settingsLeftBehind(env: NodeJS.ProcessEnv): string[] {
  const carried: ReadonlySet<string> = new Set(CARRIED);
  return Object.keys(env).filter((name) => name.startsWith('CADRE_') && !carried.has(name));
}

/**
 * The path by which a program is found on PATH, where that leads to this file: an upgrade replaces what a link leads to.
 * Else the file itself.
 */
export function lastingFile(file: string, searchPath: string | undefined): string {
  const candidates = directoriesOf(searchPath)
    .filter((directory) => !isPassing(directory))
    .map((directory) => path.join(directory, path.basename(file)));
  return candidates.find((candidate) => realPath(candidate) === file) ?? file;
}

/** PATH with absolute directories only. A link that exists only during the login is replaced by its target. */
function lastingPath(searchPath: string | undefined): string {
  const lasting = directoriesOf(searchPath).map((directory) =>
    isPassing(directory) ? (realPath(directory) ?? directory) : directory,
  );
  return [...new Set(lasting)].join(':') || '/usr/local/bin:/usr/bin:/bin';
}

function directoriesOf(searchPath = ''): string[] {
  return searchPath.split(':').filter((directory) => path.isAbsolute(directory));
}

/** Whether a directory is one of a login or of a shell alone, as fnm makes one for each shell. */
function isPassing(directory: string): boolean {
  return directory.startsWith('/run/user/') || directory.includes('/fnm_multishells/');
}

function realPath(file: string): string | null {
  try {
    return fs.realpathSync(file);
  } catch {
    return null;
  }
}
