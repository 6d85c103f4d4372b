import { expect } from 'vitest';

/** Matches an error with a code, whose message contains a text or matches a pattern. */
export function anError(code: string, words: string | RegExp): { code: string; message: unknown } {
  const message =
    typeof words === 'string' ? expect.stringContaining(words) : expect.stringMatching(words);
  return { code, message };
}

/** Expects that a promise rejects with such an error. */
export function expectError(
  failing: Promise<unknown>,
  code: string,
  words: string | RegExp = '',
): Promise<void> {
  return expect(failing).rejects.toMatchObject(anError(code, words));
}
