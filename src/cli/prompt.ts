import { text } from 'node:stream/consumers';
import { AppError } from '../errors.ts';

/** What to say to an agent: the argument, or all of stdin for `-`. Throws `usage` where that is nothing. */
export async function readPrompt(argument: string, stdin: NodeJS.ReadableStream): Promise<string> {
  const prompt = argument === '-' ? await text(stdin) : argument;
  if (prompt.trim() !== '') return prompt;
  throw new AppError('usage', 'there is nothing to send: give a text, or - and the text on stdin');
}
