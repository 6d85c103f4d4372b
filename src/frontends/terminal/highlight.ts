import { parse, type TokenType } from 'sugar-high/core';
import { lang, languages } from 'sugar-high/lang';
import type { Palette } from './palette.ts';

/** Longer code is not coloured, because that would take too long. In UTF-16 code units. */
const LONGEST = 20_000;

/** Code in the colours of its language; in one colour where the language is unknown or the code is very long. */
export function highlighted(code: string, language: string, palette: Palette): string {
  const id = lang(language);
  const config = languages.find((one) => one.id === id)?.config;
  if (!palette.on || config === undefined || code.length > LONGEST) return palette.code(code);
  return parse(code, config)
    .lines.map(({ tokens }) =>
      tokens.map(({ type, value }) => palette[styles[type] ?? 'code'](value)).join(''),
    )
    .join('\n');
}

const styles: Partial<Record<TokenType, Exclude<keyof Palette, 'on'>>> = {
  keyword: 'keyword',
  string: 'string',
  comment: 'comment',
  class: 'title',
  property: 'title',
  entity: 'title',
};
