import * as fc from 'fast-check';
import { paletteFor } from '../../../src/frontends/terminal/palette.ts';
import { anyText } from '../../support/any-text.ts';

/** Parts that are hard to measure, to wrap or to make safe. */
const hard = [
  '\u001b',
  '\u001b[',
  '\u009d',
  '\u001b\\',
  '\u001b[31m',
  '\u001b]0;title\u0007',
  '\u009b2J',
  '\u202e',
  '\u2066',
  '\u200b',
  '\u200d',
  '\ufe0f',
  '\u{e0061}',
  '\ufeff',
  '\u00ad',
  '\u2028',
  '\r',
  '\t',
  '\n',
  '漢字',
  'かな',
  'e\u0301',
  'a\u0300\u0301\u0302\u0303',
  '\u{1f468}\u200d\u{1f469}\u200d\u{1f467}',
  '\u2764\ufe0f',
  '\u{1f1e9}\u{1f1ea}',
  '한글',
  'नमस्ते',
  'averylongwordwithoutanyspaceinit',
  '    ',
];
/** Parts of Markdown. */
const marks = [
  '# ',
  '- ',
  '1. ',
  '> ',
  '```ts\n',
  '```\n',
  '\n\n',
  '**',
  '_',
  '`',
  '| a | b |\n|---|---|\n| ',
  ' | ',
  '[x](http://x.y)',
  '- [x] ',
  '---\n',
  '    ',
];
const parts = (some: readonly string[]) =>
  fc
    .array(fc.oneof(fc.constantFrom(...some), fc.string({ unit: 'grapheme', maxLength: 8 })), {
      maxLength: 24,
    })
    .map((all) => all.join(''));

/** Any text that an agent could print. */
export const text = fc.oneof(parts(hard), anyText());
/** Any text that an agent could mean as Markdown. */
export const markdown = parts([...hard, ...marks]);
export const columns = fc.integer({ min: 2, max: 100 });

export const colors = paletteFor({ isTTY: true }, {});

const pictograph = '\\p{Extended_Pictographic}[\\ufe0e\\ufe0f]?\\p{Emoji_Modifier}?';
const flag = '\\u{1f3f4}[\\u{e0020}-\\u{e007e}]+\\u{e007f}';
const emoji = new RegExp(`${flag}|${pictograph}(?:\\u200d${pictograph})*|\\p{RGI_Emoji}`, 'gv');

/** Whether a text contains a character that changes a terminal or hides, outside an emoji and but for line feeds. */
export function hasUnsafe(shown: string): boolean {
  const rest = shown.replaceAll(emoji, '');
  return /(?![\t\n])\p{Cc}|\p{Cf}|\p{Default_Ignorable_Code_Point}|\p{Cs}|[\u2028\u2029]/u.test(
    rest,
  );
}

export { withoutColors } from '../../../src/frontends/terminal/palette.ts';
