import { expect } from 'vitest';

/** Matches an error with a code, whose message contains a text or matches a pattern. */
export function anError(code: string, words: string | RegExp): { code: string; message: unknown } {
  const message =
    typeof words === 'string' ? expect.stringContaining(words) : expect.stringMatching(words);
  return { code, message };
}
