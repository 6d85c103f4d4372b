import { Parser, Renderer, type Tokens } from 'marked';
import { escapeHtml } from '../../../core/lib/html.ts';
import { partsOfCode } from '../../terminal/highlight.ts';
import { tokensOf } from '../../terminal/markdown.ts';

/**
 * A Markdown text of an agent as HTML. HTML in the text is shown as text, images as links, and links lead only to web
 * and mail addresses, so that nothing of the text is run or loaded.
 */
export function markdownHtml(text: string): string {
  return new Parser({ renderer: new SafeRenderer() }).parse(tokensOf(text));
}

class SafeRenderer extends Renderer {
  override html({ text }: Tokens.HTML | Tokens.Tag): string {
    return escapeHtml(text);
  }

  override text(token: Tokens.Text | Tokens.Escape): string {
    return 'tokens' in token && token.tokens
      ? this.parser.parseInline(token.tokens)
      : escapeHtml(token.text);
  }

  override code({ text, lang = '' }: Tokens.Code): string {
    return `<pre><code>${codeHtml(text, lang)}</code></pre>\n`;
  }

  override link({ href, tokens }: Tokens.Link): string {
    return linkHtml(href, this.parser.parseInline(tokens));
  }

  override image({ href, text }: Tokens.Image): string {
    return linkHtml(href, escapeHtml(text === '' ? href : text));
  }
}

function linkHtml(href: string, content: string): string {
  if (!/^(?:https?:\/\/|mailto:)/i.test(href)) return content;
  return `<a href="${escapeHtml(href)}" rel="noopener noreferrer">${content}</a>`;
}

/** Code with its parts in spans; without them where the language is unknown. */
function codeHtml(code: string, language: string): string {
  const lines = partsOfCode(code, language);
  if (lines === null) return escapeHtml(code);
  return lines
    .map((parts) =>
      parts
        .map(({ text, style }) =>
          style === 'code' ? escapeHtml(text) : `<span class="${style}">${escapeHtml(text)}</span>`,
        )
        .join(''),
    )
    .join('\n');
}
