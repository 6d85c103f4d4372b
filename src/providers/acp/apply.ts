import type { TurnSettings } from '../provider.ts';
import type { Choices, Step } from './choices.ts';
import { agentError } from './connection.ts';
import { choiceNames } from './options.ts';

/**
 * Gives an agent what a turn wants, and what the session began with where the turn wants nothing. Each choice is judged by
 * what the agent offers after the one before. `ask` sends a request. Returns what the agent did not go back to, in words
 * for people. Throws ProviderError for what the turn wants and cannot have: the next turn may want something else.
 */
export async function applySettings(
  choices: Choices,
  settings: TurnSettings,
  ask: (method: string, params: object) => Promise<unknown>,
): Promise<string[]> {
  const left: string[] = [];
  for (const which of choiceNames) {
    const step = choices.step(which, settings);
    if (!step) continue;
    try {
      choices.took(step, await ask(step.method, step.params));
    } catch (error) {
      // An agent that is gone, or does not answer, has refused nothing.
      if (!agentError((error as Error).cause)) throw error;
      const { message } = error as Error;
      if (step.isWished) throw choices.refusal(which, settings, message);
      left.push(wordsFor(step, choices, message));
      choices.gaveUp(which);
    }
  }
  return left;
}

function wordsFor({ name, value }: Step, choices: Choices, message: string): string {
  const what = name === 'model' ? 'model' : 'thinking_effort';
  const now = choices.choice(name).current ?? 'its own';
  return `the agent did not go back to the ${what} "${value}" and goes on with "${now}": ${message}`;
}
