import type { Command } from 'commander';
import { AppError } from '../../api/errors.ts';

/**
 * A refusal of the server in words of the command line: `query.limit: has to be at least 1` becomes `--limit: …`. Other
 * errors, and fields that no flag or argument of the command sets, stay as they are.
 */
export function inFlags(error: AppError, command: Command): AppError {
  const [, field, problem] =
    /^(?:body|query)\.([\w.]+?)(?:\.\d+)?: (.*)$/s.exec(error.message) ?? [];
  if (error.code !== 'invalid' || field === undefined) return error;
  const words = field.split(/[._]/).flatMap((word) => [word, ...(synonyms[word] ?? [])]);
  const flag = nameOf(words, command);
  return flag === null ? error : new AppError(error.code, `${flag}: ${problem}`, { cause: error });
}

/** The words of flags and arguments for words in the names of fields. */
const synonyms: Readonly<Record<string, readonly string[]>> = {
  // The words of a search are `q` in its URL.
  q: ['words'],
  expected: ['expect'],
  input: ['text', 'prompt'],
  recipient: ['member', 'to'],
  sender: ['from'],
};

/** The flag or argument whose words are all in the field's name; of several, the one with the most words. */
function nameOf(words: readonly string[], command: Command): string | null {
  const flags = command.options.flatMap(({ long }) =>
    long ? [{ name: long, text: long.slice(2) }] : [],
  );
  const operands = command.registeredArguments.map((one) => ({
    name: `<${one.name()}>`,
    text: one.name(),
  }));
  const fits = [...flags, ...operands]
    .map(({ name, text }) => ({ name, parts: text.split('-') }))
    .filter(({ parts }) => parts.every((part) => words.includes(part)))
    .toSorted((a, b) => b.parts.length - a.parts.length);
  return fits[0]?.name ?? null;
}
