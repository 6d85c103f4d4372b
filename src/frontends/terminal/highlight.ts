import { parse, type TokenType } from 'sugar-high/core';
import { lang, languages } from 'sugar-high/lang';
import type { Palette } from './palette.ts';

/** Longer code is not coloured, because that would take too long. In UTF-16 code units. */
const LONGEST = 20_000;

/** Code in the colours of its language; in one colour where the language is unknown or the code is very long. */
export function highlighted(code: string, language: string, palette: Palette): string {
  const lines = palette.on ? partsOfCode(code, language) : null;
  if (lines === null) return palette.code(code);
  return lines
    .map((parts) => parts.map(({ text, style }) => palette[style](text)).join(''))
    .join('\n');
}

/** The style of a part of code. */
export type CodeStyle = 'code' | 'keyword' | 'string' | 'comment' | 'title';

/** The lines of code in parts, each with its style; null where the language is unknown or the code is very long. */
export function partsOfCode(
  code: string,
  language: string,
): { text: string; style: CodeStyle }[][] | null {
  const id = lang(language);
  const config = languages.find((one) => one.id === id)?.config;
  if (config === undefined || code.length > LONGEST) return null;
  return parse(code, config).lines.map(({ tokens }) =>
    tokens.map(({ type, value }) => ({ text: value, style: styles[type] ?? 'code' })),
  );
}

const styles: Partial<Record<TokenType, CodeStyle>> = {
  keyword: 'keyword',
  string: 'string',
  comment: 'comment',
  class: 'title',
  property: 'title',
  entity: 'title',
};
