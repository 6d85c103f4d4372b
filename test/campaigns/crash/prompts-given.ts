import fs from 'node:fs';
import path from 'node:path';
import type { Violations } from './checks.ts';

/**
 * Asks the agents' own notes which prompts they were given: each at most once, though the server died at any
 * moment, and each that was completed. The prompts differ. Prompts that are not `relevant` are left out.
 */
export function checkPromptsGiven(
  directory: string,
  completed: readonly string[],
  relevant: (prompt: string) => boolean = () => true,
): Violations {
  const notes = path.join(directory, 'demo-agent');
  const prompts = fs
    .readdirSync(notes)
    .filter((name) => name.endsWith('.json'))
    .flatMap((name) => {
      const { turns } = JSON.parse(fs.readFileSync(path.join(notes, name), 'utf8')) as {
        turns: { prompt: string }[];
      };
      return turns.map(({ prompt }) => prompt).filter(relevant);
    });
  const given = new Set(prompts);
  const twice = prompts.filter((prompt, i) => prompts.indexOf(prompt) !== i);
  const never = completed.filter((prompt) => !given.has(prompt));
  return [
    ...twice.map((prompt) => `an agent was given a prompt twice: ${prompt}`),
    ...never.map((prompt) => `a completed turn was given to no agent: ${prompt}`),
  ];
}
