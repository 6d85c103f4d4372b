/** What a string sequence ends with: BEL, or the string terminator in one of its two forms. */
const END = '(?:\\u0007|\\u001b\\\\|\\u009c)';
/**
 * The control sequences of terminals: strings (titles, clipboard), those with parameters (colours, the cursor), and
 * the short ones. None reaches over the beginning of another, so that a text is looked through once, whatever it is:
 * Node's own `stripVTControlCharacters` needs a time that grows with the square of it.
 */
const SEQUENCES = new RegExp(
  `(?:\\u001b[\\]PX^_]|[\\u0090\\u0098\\u009d-\\u009f])[^\\u0007\\u001b\\u009c]*${END}` +
    '|(?:\\u001b\\[|\\u009b)[0-?]*[ -/]*[@-~]' +
    '|\\u001b[ -/]*[0-~]',
  'g',
);

/** Text of agents and processes, without what would move the cursor, change colours or write a clipboard. */
export function plain(text: string): string {
  // Sequences first, then the single control characters that are left, but for tab and line ends.
  return text
    .replaceAll(SEQUENCES, '')
    .replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '');
}
