import { findProgram } from '../../lib/find-program.ts';

/** How the agent is configured: the section `[providers.acp]`. */
export interface AcpSettings {
  enabled: boolean;
  command: string | null;
  args: readonly string[];
  env: Readonly<Record<string, string>>;
  transport: string;
  /** How long the agent may take to answer anything but a prompt. */
  request_timeout_ms: number;
}

/** Why no agent could start, and what to do about it; null where one could. `settings` is null without a section. */
export function problemOf(settings: AcpSettings | null): string | null {
  if (!settings) return 'not configured: add a section [providers.acp] with a command';
  const { enabled, command, transport, env } = settings;
  if (!enabled) return 'disabled: set providers.acp.enabled to true';
  if (transport !== 'stdio') return `transport "${transport}" is not supported: use "stdio"`;
  if (!command) return 'no command is configured: set providers.acp.command';
  if (!findProgram(command, env.PATH ?? process.env.PATH)) {
    return `the command "${command}" is not installed, or not on PATH: set providers.acp.command`;
  }
  return null;
}
