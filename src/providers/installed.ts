import { findProgram } from '../lib/find-program.ts';

/** Whether the command of an agent is there, where it would be looked for. */
export function isInstalled(agent: {
  command: string;
  env: Readonly<Record<string, string>>;
}): boolean {
  return findProgram(agent.command, agent.env.PATH ?? process.env.PATH) !== null;
}
