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
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;
/** Characters that change the order of a text or show nothing: bidi controls, zero-width characters, tags, selectors. */
const INVISIBLE = '[\\p{Cf}\\p{Default_Ignorable_Code_Point}]';
const hasInvisible = new RegExp(`${INVISIBLE}|[\\u2028\\u2029]`, 'u');
/** One pictograph with its selector and skin colour. */
const PICTOGRAPH = '\\p{Extended_Pictographic}[\\ufe0e\\ufe0f]?\\p{Emoji_Modifier}?';
/** The emoji that need invisible characters: keycaps, flags of regions, and pictographs that joiners combine. */
const EMOJI =
  '[#*0-9]\\ufe0f\\u20e3' +
  '|\\u{1f3f4}[\\u{e0030}-\\u{e0039}\\u{e0061}-\\u{e007a}]{1,8}\\u{e007f}' +
  `|${PICTOGRAPH}(?:\\u200d${PICTOGRAPH})*`;
const emojiOrInvisible = new RegExp(`(${EMOJI})|${INVISIBLE}`, 'gu');
const emojiOrUnseen = new RegExp(
  `(${EMOJI})|${INVISIBLE}|[\\u2028\\u2029]|(?![\\t\\n])\\p{Cc}`,
  'gu',
);

/**
 * Removes the control sequences, control characters and invisible characters from a text of an agent or process,
 * except tabs and line feeds. The invisible characters within an emoji stay. Elsewhere joiners and selectors go too:
 * Persian and Indic text is then joined in other places, but nothing can hide in a text. Line and paragraph separators
 * become line feeds, and half a surrogate pair becomes U+FFFD.
 */
export function plain(text: string): string {
  // Sequences first: without their escape character they would no longer be recognised.
  const readable = text.replaceAll(SEQUENCES, '').replaceAll(CONTROLS, '').toWellFormed();
  if (!hasInvisible.test(readable)) return readable;
  return readable
    .replaceAll(/[\u2028\u2029]/g, '\n')
    .replaceAll(emojiOrInvisible, (_all, emoji: string | undefined) => emoji ?? '');
}

/** The beginning of an emoji at the end of a text: more of it may follow. */
const begunEmoji = new RegExp(
  '(?:[#*0-9]\\ufe0f?' +
    '|\\u{1f3f4}[\\u{e0030}-\\u{e0039}\\u{e0061}-\\u{e007a}]{1,8}' +
    `|${PICTOGRAPH}(?:\\u200d${PICTOGRAPH})*\\u200d?)$`,
  'u',
);
/** More UTF-16 code units than any emoji has. */
export const EMOJI_UNITS = 64;

/**
 * A piece of a text without what `plain` removes, where the text is shown piece by piece. An emoji may be cut between two
 * pieces, so `before` is what comes before this piece: its last EMOJI_UNITS UTF-16 code units are enough.
 */
export function plainAfter(before: string, piece: string): string {
  const [begun = ''] = begunEmoji.exec(before.slice(-EMOJI_UNITS)) ?? [];
  return plain(begun + piece).slice(plain(begun).length);
}

/** A text as one line without control characters. Invisible ones stay: words of some languages and emoji need them. */
export function lineWithoutControls(text: string): string {
  return text.replaceAll(SEQUENCES, '').replaceAll(CONTROLS, '').replaceAll(/\s+/g, ' ').trim();
}

/** A text as one line, without what `plain` removes. */
export function oneLine(text: string): string {
  return plain(text).replaceAll(/\s+/g, ' ').trim();
}

/**
 * A text with each character that `plain` would remove, or change, as its code point: `<U+202E>`. Nothing of the text
 * is missing. `mark` styles what stands for a character.
 */
export function revealed(text: string, mark: (code: string) => string = (code) => code): string {
  return text.toWellFormed().replaceAll(emojiOrUnseen, (found, emoji: string | undefined) => {
    const code = (found.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
    return emoji ?? mark(`<U+${code}>`);
  });
}

/** The same on one line. */
export function revealedLine(text: string): string {
  return revealed(text).replaceAll('\n', '<U+000A>');
}
