import type { TurnSettings } from '../provider.ts';
import type { Choices, Step } from './choices.ts';
import { agentError } from './connection.ts';
import { type ChoiceName, choiceNames } from './options.ts';

type Ask = (method: string, params: object) => Promise<unknown>;

/**
 * Gives an agent what a turn wants, and what the session began with where the turn wants nothing. Each choice is judged by
 * what the agent offers after the one before. `ask` sends a request; `isReady` resolves with whether a choice is to be set
 * now. Returns what the agent did not go back to, in words for people. Throws ProviderError for what the turn wants and
 * cannot have: the next turn may want something else.
 */
export async function applySettings(
  choices: Choices,
  settings: TurnSettings,
  ask: Ask,
  isReady: (which: ChoiceName) => Promise<boolean>,
): Promise<string[]> {
  const left: string[] = [];
  for (const which of choiceNames) {
    if (!(await isReady(which))) continue;
    await setChoice(choices, which, settings, ask, (step, message) => {
      left.push(wordsFor(step, choices, message));
      choices.gaveUp(which);
    });
  }
  return left;
}

/**
 * Gives an agent one choice of a turn; resolves with its value, or with null where there was nothing to set. `onLeft` is
 * called where the agent refuses to go back to what the session began with. Throws ProviderError as `applySettings`.
 */
export async function setChoice(
  choices: Choices,
  which: ChoiceName,
  settings: TurnSettings,
  ask: Ask,
  onLeft: (step: Step, message: string) => void = () => undefined,
): Promise<string | null> {
  const step = choices.step(which, settings);
  if (!step) return null;
  try {
    choices.took(step, await ask(step.method, step.params));
    return step.value;
  } catch (error) {
    // An agent that is gone, or does not answer, has refused nothing.
    if (!agentError((error as Error).cause)) throw error;
    const { message } = error as Error;
    if (step.isNeeded) throw choices.refusal(which, settings, message);
    onLeft(step, message);
    return null;
  }
}

function wordsFor({ name, value }: Step, choices: Choices, message: string): string {
  const what = { model: 'model', thinkingEffort: 'thinking_effort', agentMode: 'mode' }[name];
  const now = choices.choice(name).current ?? 'default';
  return `the agent did not return to ${what} "${value}" and continues with "${now}": ${message}`;
}
