import { isDiff } from '../../../core/lib/diff-lines.ts';
import { diffHtml, lineHtml, textHtml, escapeHtml } from '../../../core/lib/html.ts';
import { plain } from '../../../core/lib/plain.ts';
import {
  approvalText,
  type Block,
  endText,
  inputFields,
  locationsText,
  noticeText,
  promptSpeaker,
  toolMarks,
  toolText,
} from '../../terminal/conversation.ts';
import { Parser, Renderer, type Tokens } from 'marked';
import { partsOfCode } from '../../terminal/highlight.ts';
import { tokensOf } from '../../terminal/markdown.ts';

/** The exported conversation of a session, or of a team with the turns of its members in order. */
export interface Exported {
  title: string;
  /** Facts below the title, each with its name. */
  facts: readonly (readonly [name: string, value: string])[];
  turns: readonly ExportedTurn[];
}

export interface ExportedTurn {
  /** The session that speaks, in a team; null where there is only one. */
  speaker: string | null;
  blocks: readonly Block[];
}

/** The parts of an HTML document of a conversation: it is complete in itself, loads nothing and runs no script. */
export function* exportHtml({ title, facts, turns }: Exported): Generator<string> {
  yield head(title, facts);
  for (const turn of turns) yield turnHtml(turn);
  yield '</main>\n</body>\n</html>\n';
}

function head(title: string, facts: Exported['facts']): string {
  const rows = facts.map(
    ([name, value]) => `<dt>${lineHtml(name)}</dt><dd>${lineHtml(value)}</dd>`,
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="generator" content="cadre">
<title>${lineHtml(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<header>
<h1>${lineHtml(title)}</h1>
<dl>${rows.join('')}</dl>
</header>
<main>
`;
}

function turnHtml({ speaker, blocks }: ExportedTurn): string {
  const name = speaker === null ? '' : `<h2>${lineHtml(speaker)}</h2>\n`;
  return `<section>\n${name}${blocks.map(blockHtml).join('')}</section>\n`;
}

function blockHtml(block: Block): string {
  switch (block.type) {
    case 'prompt':
      return promptHtml(block);
    case 'message':
      return `<div class="message">${markdownHtml(block.text)}</div>\n`;
    case 'thought':
      return folded('Reasoning', `<div class="faint">${markdownHtml(block.text)}</div>`);
    case 'tool':
      return toolHtml(block);
    case 'plan':
      return `<ul class="plan">${block.entries.map(planHtml).join('')}</ul>\n`;
    case 'approval':
      return `<p class="note">? ${lineHtml(approvalText(block.approval))}</p>\n`;
    case 'notice':
      return `<p class="note">! ${lineHtml(noticeText(block))}</p>\n`;
    case 'end':
      return `<p class="${block.status === 'failed' ? 'failed' : 'note'}">${lineHtml(endText(block))}</p>\n`;
  }
}

function promptHtml(prompt: Extract<Block, { type: 'prompt' }>): string {
  const { at, text } = prompt;
  const time = new Date(at).toISOString();
  const shown = `${time.slice(0, 10)} ${time.slice(11, 16)} UTC`;
  return `<div class="prompt"><p class="who">${promptSpeaker(prompt)} <time datetime="${time}">${shown}</time></p><pre>${textHtml(text)}</pre></div>\n`;
}

function planHtml({ content, status }: { content: string; status: string }): string {
  const mark = status === 'completed' ? '☑' : status === 'in_progress' ? '▶' : '☐';
  return `<li>${mark} ${lineHtml(content)}</li>`;
}

/** A tool call in one line, which opens to its input and output. A change of files is open from the start. */
function toolHtml(tool: Extract<Block, { type: 'tool' }>): string {
  const output = plain(tool.output).replace(/\s+$/, '');
  const isChange = isDiff(output);
  const locations = locationsText(tool.locations);
  const parts = [
    ...inputHtml(tool.input),
    locations === '' ? '' : `<p class="faint">at ${lineHtml(locations)}</p>`,
    output === '' ? '' : `<pre>${isChange ? diffHtml(output) : textHtml(output)}</pre>`,
  ];
  const mark = `<span class="${tool.status}">${toolMarks[tool.status]}</span>`;
  return folded(`${mark} ${lineHtml(toolText(tool))}`, parts.join('\n'), isChange);
}

function inputHtml(input: unknown): string[] {
  return inputFields(input, 2).map(
    ([name, text]) => `<p class="faint">${lineHtml(name)}</p><pre>${textHtml(text)}</pre>`,
  );
}

/** Something that is one line until it is opened. `summary` and `content` are HTML. */
function folded(summary: string, content: string, isOpen = false): string {
  if (content.trim() === '') return `<p class="folded">${summary}</p>\n`;
  return `<details${isOpen ? ' open' : ''}><summary>${summary}</summary>\n${content}\n</details>\n`;
}

const STYLE = `:root{color-scheme:light dark;--line:#8884;--faint:#767676;--good:#1a7f37;--bad:#cf222e;--warn:#9a6700;--add:#2da44e22;--del:#cf222e22;--key:#8250df;--str:#0a6640}
@media(prefers-color-scheme:dark){:root{--good:#3fb950;--bad:#f85149;--warn:#d29922;--key:#d2a8ff;--str:#7ee787}}
body{font:1rem/1.55 system-ui,sans-serif;max-width:54rem;margin:2rem auto;padding:0 1rem;overflow-wrap:anywhere}
h1{font-size:1.5rem;margin:0}h2{font-size:1rem;margin:0 0 .5rem;color:var(--key)}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem;color:var(--faint);font-size:.9rem}dd{margin:0}
section{border-top:1px solid var(--line);padding:1rem 0}
pre{font:.85rem/1.45 ui-monospace,monospace;white-space:pre-wrap;margin:.3rem 0;padding:.5rem .75rem;border:1px solid var(--line);border-radius:.4rem;overflow-x:auto}
code{font:.9em ui-monospace,monospace}pre code{font:inherit}
table{border-collapse:collapse}td,th{border:1px solid var(--line);padding:.2rem .6rem}
.prompt{background:#8881;border-radius:.5rem;padding:.5rem .75rem}.prompt pre{border:0;padding:0;font:inherit}
.who{margin:0;font-weight:600}time,.faint{color:var(--faint);font-weight:400;font-size:.85rem}
.faint{margin:.4rem 0 0}.note{color:var(--warn);margin:.3rem 0}.failed{color:var(--bad)}
details,.folded{margin:.3rem 0;border-left:2px solid var(--line);padding-left:.75rem}summary{cursor:pointer}
summary,.folded{font:.9rem ui-monospace,monospace}.completed{color:var(--good)}.interrupted{color:var(--bad)}
.plan{list-style:none;padding-left:.5rem}
.added{background:var(--add)}.removed{background:var(--del)}.accent,.keyword{color:var(--key)}.strong{font-weight:600}
.string{color:var(--str)}.comment{color:var(--faint)}.title{color:var(--key)}`;

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
