import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { splitWords } from '../../../../src/server/work/processes/command.ts';
import { anyText } from '../../../support/any-text.ts';

function refusal(command: string): string {
  try {
    splitWords(command);
  } catch (error) {
    expect(error).toMatchObject({ name: 'AppError', code: 'invalid' });
    return (error as Error).message;
  }
  throw new Error(`it was taken: ${command}`);
}

test.for<[command: string, words: string[]]>([
  ['true', ['true']],
  ['  ls   -l\t/tmp ', ['ls', '-l', '/tmp']],
  [`echo 'two words' "and two"`, ['echo', 'two words', 'and two']],
  [`echo a'b'"c"d`, ['echo', 'abcd']],
  [`echo '' ""`, ['echo', '', '']],
  [String.raw`echo a\ b \"`, ['echo', 'a b', '"']],
  [String.raw`echo "\"\\\$" '\n'`, ['echo', String.raw`"\$`, String.raw`\n`]],
  [String.raw`echo "\n"`, ['echo', String.raw`\n`]],
  [`grep 'a|b;c>d' "*.ts"`, ['grep', 'a|b;c>d', '*.ts']],
  ['make -j4 CC=gcc é=漢', ['make', '-j4', 'CC=gcc', 'é=漢']],
])(
  'A command is split into words, and quotes and backslashes keep words together: %s.',
  ([command, words]) => {
    expect(splitWords(command)).toEqual(words);
  },
);

test.for('|&;<>()$`*?[]{}~#!\n'.split(''))(
  'A command that needs a shell is refused: %j.',
  (operator) => {
    const message = refusal(`echo a ${operator} b`);
    expect(message).toContain(`"${operator}" requires a shell, but processes.allow_shell is off`);
    const quote = operator === '"' ? "'" : '"';
    expect(splitWords(`echo ${quote}a ${operator} b${quote}`)).toEqual(['echo', `a ${operator} b`]);
    expect(splitWords(`echo \\${operator}`)).toEqual(['echo', operator]);
  },
);

test('A command with an open quote is refused with the position of the quote.', () => {
  expect(refusal(`echo 'a`)).toBe("command: the quote ' at position 6 is not closed");
  expect(refusal(`echo "a\\"`)).toBe('command: the quote " at position 6 is not closed');
});

test.for(['', '   ', `''`, `"" x`])('A command without a program is refused: %j.', (command) => {
  expect(refusal(command)).toBe('command: the command does not name a program');
});

test('Quoted words are split into the same words.', () => {
  const word = anyText({ maxLength: 20 });
  fc.assert(
    fc.property(fc.string({ minLength: 1 }), fc.array(word), (program, rest) => {
      const words = [program, ...rest];
      const single = words.map((one) => `'${one.replaceAll("'", String.raw`'\''`)}'`);
      const double = words.map((one) => `"${one.replaceAll(/["\\$`]/g, String.raw`\$&`)}"`);
      expect(splitWords(single.join(' '))).toEqual(words);
      expect(splitWords(double.join(' '))).toEqual(words);
    }),
  );
});

test('Any command either has a program or is refused with a reason.', () => {
  fc.assert(
    fc.property(fc.string(), (command) => {
      try {
        expect(splitWords(command)[0]).not.toBe('');
      } catch (error) {
        expect(error).toMatchObject({ code: 'invalid' });
      }
    }),
  );
});
