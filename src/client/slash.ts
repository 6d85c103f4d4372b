import type { AgentCommand } from '../api/commands.ts';
import { commonStart } from './file-mentions.ts';
import { oneLine } from '../core/lib/plain.ts';

/** The commands that a text may become: it is a slash and the beginning of their names. Else none. */
export function slashMatches(text: string, commands: readonly AgentCommand[]): AgentCommand[] {
  const [, typed] = /^\/(\S*)$/.exec(text) ?? [];
  if (typed === undefined) return [];
  return commands.filter(({ name }) => name.startsWith(typed) && !/[\s\p{Cc}]/u.test(name));
}

/** The text with as much of a command as all that match have in common; with a space behind it where only one does. */
export function slashCompleted(text: string, commands: readonly AgentCommand[]): string {
  const names = slashMatches(text, commands).map(({ name }) => name);
  const [first, ...others] = names;
  if (first === undefined) return text;
  return others.length === 0 ? `/${first} ` : `/${commonStart(names)}`;
}

/** A command with what may follow it, in one line. */
export function slashText({ name, hint }: AgentCommand): string {
  return oneLine(hint === null ? `/${name}` : `/${name} ${hint}`);
}
