import { commands } from './commands.ts';

/** The reply to a prompt without commands: it says what the agent is and what it can do. */
export function greeting(prompt: string): string {
  return [
    `Hello! I am cadre's demo agent. I have no model, so I can only repeat${echo(prompt)}`,
    'I can run a script, with one command per line or commands separated by ";". For example:',
    '  think about it; tool read README.md => 12 lines; say Done.',
    'My commands are:',
    ...Object.values(commands).map(({ usage }) => `  ${usage}`),
  ].join('\n');
}

function echo(prompt: string): string {
  const words = prompt.split(/\s+/u).filter(Boolean);
  if (words.length === 0) return ' what you write.';
  const shown = words.slice(0, 8).join(' ').slice(0, 200);
  return `: "${shown}${words.length > 8 ? ' ...' : ''}"`;
}
