import { findProgram } from '../lib/find-program.ts';

/** How an agent that the user has installed is configured. */
interface Installed {
  /** Null: where it is installed. */
  enabled: boolean | null;
  command: string;
  env: Readonly<Record<string, string>>;
}

/** Whether the command of an agent is there, where it would be looked for. */
export function isInstalled({ command, env }: Omit<Installed, 'enabled'>): boolean {
  return findProgram(command, env.PATH ?? process.env.PATH) !== null;
}

/** Why no agent of `providers.<id>` could start, and what to install for it; null where one could. */
export function problemOf(id: string, product: string, settings: Installed): string | null {
  if (settings.enabled === false) return `disabled: set providers.${id}.enabled to true`;
  if (isInstalled(settings)) return null;
  return `the command "${settings.command}" is not installed, or not on PATH: install ${product}, or set providers.${id}.command`;
}
