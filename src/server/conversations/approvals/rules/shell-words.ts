/** The words of one simple command, or why a text is not certainly one. */
export type Words = { words: readonly string[] } | { why: string };

/** Longer commands are read by nobody, so no rule decides them. Characters. */
const MAX_LENGTH = 8192;
const plain = /[\p{L}\p{M}\p{N}_@%+=:,./-]/u;
/** The characters that a shell reads literally between these quotes. Shells differ in the backslash, so it is missing. */
const quoted = { "'": /[^\\\p{C}\p{Zl}\p{Zp}]/u, '"': /[^\\$`!\p{C}\p{Zl}\p{Zp}]/u };

/**
 * Reads a text as a shell would read one simple command: words, and nothing that a shell acts on. All shells read what
 * passes here alike. Anything else (operators, substitutions, redirections, variables, globs, braces, escapes,
 * comments, assignments, other lines) has a reason instead. `sh -c TEXT` is read as its text, once: some agents run
 * every command in that form.
 */
export function readCommand(text: string): Words {
  const outer = wordsOf(text);
  const script = 'words' in outer ? scriptIn(outer.words) : null;
  return script === null ? outer : wordsOf(script);
}

/** Reads a text as {@link readCommand} does, and `sh -c TEXT` as the three words that it is. */
export function wordsOf(text: string): Words {
  if (text.length > MAX_LENGTH) return { why: 'the command is too long for rules to check' };
  const words: string[] = [];
  let word: string | null = null;
  let quote: "'" | '"' | null = null;
  for (const character of text) {
    if (quote !== null) {
      if (character === quote) quote = null;
      else if (quoted[quote].test(character)) word = (word ?? '') + character;
      else return notPlain(character);
    } else if (character === ' ' || character === '\t') {
      if (word !== null) words.push(word);
      word = null;
    } else if (character === "'" || character === '"') {
      quote = character;
      word ??= '';
    } else if (plain.test(character)) {
      // `=name` is the path of a program in zsh, also as `''=name`; `%self` is a number in fish.
      if ((word ?? '') === '' && (character === '=' || character === '%'))
        return notPlain(character);
      word = (word ?? '') + character;
    } else return notPlain(character);
  }
  if (quote !== null) return { why: 'the command has an unclosed quote' };
  if (word !== null) words.push(word);
  if (words.length === 0) return { why: 'the command is empty' };
  if (words[0]?.includes('=') === true) return { why: 'the command starts with an assignment' };
  return { words };
}

function notPlain(character: string): { why: string } {
  const name = /[\p{C}\p{Z}]/u.test(character)
    ? `the character U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
    : `"${character}"`;
  return { why: `the command is not one simple command, or is ambiguous: ${name}` };
}

export function isPlain(word: string): boolean {
  return Array.from(word).every((character) => plain.test(character));
}

/** Whether words are `sh -c TEXT`, which is read as its text. */
export function isScript(words: readonly string[]): boolean {
  return scriptIn(words) !== null;
}

const SHELL = /^(?:\/(?:usr\/)?(?:local\/)?bin\/)?(?:ba|z|da|k)?sh$/;

function scriptIn([shell = '', option, script, ...others]: readonly string[]): string | null {
  if (!SHELL.test(shell) || script === undefined || others.length > 0) return null;
  return option === '-c' || option === '-lc' ? script : null;
}
