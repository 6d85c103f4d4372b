import type { MarkedToken, Token } from 'marked';
import type { Palette } from './palette.ts';

/** The text of inline Markdown, styled. The address of a link follows its text, unless the text is the address. */
export function inlineText(tokens: readonly Token[], palette: Palette): string {
  return tokens.map((token) => textOf(token as MarkedToken, palette)).join('');
}

function textOf(token: MarkedToken, palette: Palette): string {
  switch (token.type) {
    case 'strong':
      return palette.strong(inlineText(token.tokens, palette));
    case 'em':
      return palette.emphasis(inlineText(token.tokens, palette));
    case 'del':
      // Few terminals strike a text through, and without colours nothing else would tell.
      return `~${inlineText(token.tokens, palette)}~`;
    case 'codespan':
      return palette.on ? palette.code(token.text) : `\`${token.text}\``;
    case 'link': {
      const text = inlineText(token.tokens, palette);
      const isBare = token.href === token.text || token.href === `mailto:${token.text}`;
      return isBare ? palette.accent(text) : `${text} ${palette.faint(`(${token.href})`)}`;
    }
    case 'image':
      return `[image: ${token.text}] ${palette.faint(`(${token.href})`)}`;
    case 'br':
      return '\n';
    case 'text':
      return token.tokens ? inlineText(token.tokens, palette) : token.text;
    case 'escape':
      return token.text;
    default:
      return token.raw;
  }
}
