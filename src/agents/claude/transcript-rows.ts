import { fieldOf } from '../lenient.ts';

/** Texts that commands of claude leave in a transcript as if a user had said them. */
const COMMAND = /^<(?:command-name|command-message|local-command|bash-(?:input|stdout|stderr))/;
const INTERRUPTED = /^\[Request interrupted by user/;

/** The content of a row of a transcript, as a list of blocks. */
export function blocksOf(row: unknown): readonly unknown[] {
  const content = fieldOf(fieldOf(row, 'message'), 'content');
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return Array.isArray(content) ? content : [];
}

/** The texts of a row, with a word for each image. */
export function textOf(row: unknown): string {
  return textIn(blocksOf(row));
}

export function textIn(blocks: readonly unknown[]): string {
  const texts = blocks.flatMap((block) => {
    const said = fieldOf(block, 'text');
    if (fieldOf(block, 'type') === 'image') return ['[image]'];
    return fieldOf(block, 'type') === 'text' && typeof said === 'string' ? [said] : [];
  });
  return texts.join('\n');
}

/** Whether a row belongs to the conversation itself, and not to a subagent. */
export function isSpoken(row: unknown): boolean {
  const type = fieldOf(row, 'type');
  return (type === 'user' || type === 'assistant') && fieldOf(row, 'isSidechain') !== true;
}

/** Whether a row is a prompt of a user: no result of a tool, summary, reminder or output of a command. */
export function isPrompt(row: unknown): boolean {
  if (fieldOf(row, 'type') !== 'user' || fieldOf(row, 'isSidechain') === true) return false;
  const marks = ['isMeta', 'isCompactSummary', 'toolUseResult', 'sourceToolAssistantUUID'];
  if (marks.some((name) => Boolean(fieldOf(row, name)))) return false;
  const text = textOf(row);
  return text !== '' && !COMMAND.test(text) && !INTERRUPTED.test(text);
}

export function isInterrupt(row: unknown): boolean {
  return fieldOf(row, 'type') === 'user' && INTERRUPTED.test(textOf(row));
}
