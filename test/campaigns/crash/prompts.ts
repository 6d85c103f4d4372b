import { parseScript } from '../../../src/agents/demo/script.ts';
import type { Random } from './random.ts';

/** An item as the script of a prompt makes it. */
export interface ExpectedItem {
  kind: 'message' | 'reasoning' | 'tool';
  text: string;
}

/** A prompt for the demo agent; a `heavy` one writes enough to fill the write-ahead log. */
export function randomPrompt(random: Random, heavy: boolean): string {
  if (heavy) return `flood ${random.between(200, 400)} 2000; say flooded`;
  const word = () =>
    random.pick(['anchor', 'ballast', 'cadence', 'draft', 'ebb', 'é', '漢字', '🙂']);
  const words = (most: number) => Array.from({ length: random.between(1, most) }, word).join(' ');
  const steps = [
    () => `say ${words(12)}`,
    () => `think ${words(8)}`,
    () => `tool run: ${word()} => ${words(20)}`,
    () => `repeat ${random.between(3, 40)} ${random.between(1, 15)} ${word()}`,
    () => `flood ${random.between(10, 120)} ${random.between(16, 400)}`,
    // A process that has left the agent's group: which the search for leftovers after a kill finds.
    () => 'spawn 300000',
  ];
  return Array.from({ length: random.between(1, 6) }, () => random.pick(steps)()).join('; ');
}

/** Items of an agent that completes the whole prompt. */
export function expectedItems(prompt: string): ExpectedItem[] {
  return parseScript(prompt).map((command): ExpectedItem => {
    switch (command.name) {
      case 'say':
        return { kind: 'message', text: command.text };
      case 'think':
        return { kind: 'reasoning', text: command.text };
      case 'tool':
        return { kind: 'tool', text: command.output ?? '' };
      case 'repeat':
        return { kind: 'message', text: command.text.repeat(command.count) };
      case 'flood':
        return { kind: 'message', text: flooded(command.count, command.bytes) };
      case 'spawn':
        return { kind: 'message', text: 'spawned' };
      default:
        throw new Error(`the campaign does not know what "${command.name}" says`);
    }
  });
}

/** A text without the one thing in it that no prompt foretells, the number of a process. */
export function expectedText(text: string): string {
  return text.replace(/^spawned \d*$/, 'spawned');
}

function flooded(count: number, bytes: number): string {
  return Array.from({ length: count }, (_, i) => `${i} `.padEnd(bytes, '.').slice(0, bytes)).join(
    '',
  );
}
