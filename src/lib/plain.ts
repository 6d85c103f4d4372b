/** The terminator of a string sequence: BEL, or the string terminator in one of its two forms. */
const END = '(?:\\u0007|\\u001b\\\\|\\u009c)';
/**
 * The control sequences of terminals: strings (titles, clipboard), those with parameters (colours, the cursor), and
 * the short ones. No match extends over the beginning of another sequence, so the search takes linear time for any
 * text. Node's own `stripVTControlCharacters` takes quadratic time.
 */
const SEQUENCES = new RegExp(
  `(?:\\u001b[\\]PX^_]|[\\u0090\\u0098\\u009d-\\u009f])[^\\u0007\\u001b\\u009c]*${END}` +
    '|(?:\\u001b\\[|\\u009b)[0-?]*[ -/]*[@-~]' +
    '|\\u001b[ -/]*[0-~]',
  'g',
);

/**
 * Removes the control sequences and control characters from a text of an agent or process, except tabs and line feeds.
 */
export function plain(text: string): string {
  // Sequences first: without their escape character they would no longer be recognised.
  return text
    .replaceAll(SEQUENCES, '')
    .replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '');
}
