// Finds the prose of a Markdown page: everything but code, comments and the "Not" column of the glossary.
import { marked, type Token, type Tokens } from 'marked';
import type { Text } from './habits.ts';

export function textsOfMarkdown(file: string, source: string): Text[] {
  const texts: Text[] = [];
  let at = 0;
  for (const token of marked.lexer(source)) {
    const block = source.slice(at);
    const before = source.slice(0, at).split('\n').length;
    for (const { text, raw } of textsOf(token)) {
      // The line of the text in its block: lists and tables have many.
      const index = Math.max(0, block.indexOf(raw.split('\n')[0] ?? ''));
      const line = before + block.slice(0, index).split('\n').length - 1;
      texts.push({ kind: 'docs', file, line, text });
    }
    at += token.raw.length;
  }
  return texts;
}

function textsOf(token: Token): { text: string; raw: string }[] {
  switch (token.type) {
    case 'code':
    case 'html':
    case 'space':
    case 'hr':
      return [];
    case 'table': {
      const { header, rows } = token as Tokens.Table;
      const refused = header.findIndex(({ text }) => text === 'Not');
      return [header, ...rows]
        .flatMap((row) => row.filter((_, column) => column !== refused))
        .map(({ text, tokens }) => ({ text: plain(tokens), raw: text }));
    }
    case 'list':
      return (token as Tokens.List).items.flatMap(({ tokens }) => tokens.flatMap(textsOf));
    case 'blockquote':
      return ((token as Tokens.Blockquote).tokens ?? []).flatMap(textsOf);
    default: {
      const { tokens = [], raw } = token as Tokens.Generic;
      return tokens.length === 0 ? [] : [{ text: plain(tokens), raw: raw.replace(/^#+ /, '') }];
    }
  }
}

/** The words of inline tokens; code is `…`. */
function plain(tokens: readonly Token[]): string {
  return tokens
    .map((token) => {
      if (token.type === 'codespan') return '…';
      if (token.type === 'html' || token.type === 'image') return '';
      if (token.type === 'br') return '\n';
      const { tokens: below, text } = token as Tokens.Generic;
      return below ? plain(below) : String(text ?? '');
    })
    .join('');
}
