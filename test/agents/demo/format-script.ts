import type { Command } from '../../../src/agents/demo/script.ts';

/** Writes a script that reads as these commands: the inverse of `parseScript`. */
export function formatScript(commands: readonly Command[]): string {
  return commands.map((command) => formatCommand(command).replaceAll(';', '\\;')).join('\n');
}

function formatCommand(command: Command): string {
  switch (command.name) {
    case 'tool':
      return `tool ${command.title}${command.output ? ` => ${command.output}` : ''}`;
    case 'plan':
    case 'commands':
    case 'question':
      return `${command.name} ${command.entries.join(' | ')}`;
    case 'ask-all':
      return `ask-all ${command.titles.join(' | ')}`;
    case 'edit':
      return `edit ${command.path} => ${command.text}`;
    default:
      // The other commands are written with their arguments in the order of their fields.
      return Object.values(command).join(' ');
  }
}
