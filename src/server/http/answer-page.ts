import { createHash } from 'node:crypto';
import type { Approval, ApprovalDetail } from '../../api/approvals.ts';
import { ARGUMENTS_MISSING, CONFIRMATION } from '../../core/lib/arguments-missing.ts';
import { revealed } from '../../core/lib/plain.ts';

/** How much of what a request would do is shown, in UTF-16 code units; the page then says that there is more. */
const SHOWN_UNITS = 64 * 1024;
const LINE_UNITS = 500;

const STYLE = `:root{color-scheme:light dark}
body{font:1rem/1.5 system-ui,sans-serif;max-width:42rem;margin:2rem auto;padding:0 1rem;overflow-wrap:anywhere}
pre{white-space:pre-wrap;border:1px solid #888;padding:.5rem;max-height:60vh;overflow:auto}
button{font:inherit;padding:.75rem 1.5rem;margin:0 1rem 1rem 0}
.warn{font-weight:bold}`;

/**
 * The headers of each of these pages: nothing is loaded or run, no other page may show it in a frame, its address is
 * told to no other site, and nobody keeps it.
 */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': [
    "default-src 'none'",
    `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    'sandbox allow-forms allow-same-origin',
  ].join('; '),
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
  // Not `no-referrer`: the form would then be sent with the origin `null`, as pages that hide theirs do.
  'referrer-policy': 'same-origin',
  'cache-control': 'no-store',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'interest-cohort=()',
  'x-robots-tag': 'noindex, nofollow, noarchive',
};

/** The page of a request that is to be answered. */
export function askingPage(
  approval: Approval,
  { title, cwd }: { title: string | null; cwd: string },
): string {
  const canAccept = objectionToAccept(approval) === null;
  const confirm = approval.arguments_missing
    ? `<p class="warn">${ARGUMENTS_MISSING} <label>Type ${CONFIRMATION} to accept the request: <input name="confirm" autocomplete="off"></label></p>\n`
    : '';
  const accept = `${confirm}<button name="decision" value="accept">Accept</button>\n`;
  return page(
    'Approval request',
    [
      '<h1>An agent requests your approval</h1>',
      `<p>${line(approval.provider)}, session “${line(title ?? approval.session_id)}”, in ${line(cwd)}</p>`,
      `<h2>${line(approval.title)}</h2>`,
      ...shown(approval),
      canAccept ? '' : `<p class="warn">${objectionToAccept(approval)}</p>`,
      `<form method="post">\n${canAccept ? accept : ''}<button name="decision" value="decline">Decline</button>\n</form>`,
      '<p>Only the first answer counts. The link cannot be used again after it.</p>',
    ].join('\n'),
  );
}

/** Returns why the page cannot accept an approval; null if it can. Nobody accepts by a page what it does not show. */
export function objectionToAccept(approval: Approval): string | null {
  if (!approval.scopes.includes('once'))
    return 'The agent does not offer to accept this request once.';
  const isCut = textOfAll(approval).length > SHOWN_UNITS;
  if (isCut || approval.details.some(({ type }) => type === 'omitted'))
    return 'This page does not show the whole request, so you cannot accept it here: accept it in cadre.';
  return null;
}

/** The page after an answer. */
export function answeredPage({ status, title }: Pick<Approval, 'status' | 'title'>): string {
  const word = status === 'accepted' ? 'Accepted' : 'Declined';
  return page(word, `<h1>${word}</h1>\n<p>${line(title)}</p>`);
}

/** The one page of every link that is good for nothing, whatever the reason. */
export function invalidPage(): string {
  return page(
    'Invalid link',
    '<h1>This link is not valid</h1>\n<p>The link is incomplete, was already used or has expired, or the request was already answered. Open cadre to see the pending requests.</p>',
  );
}

/** The page of a request that cannot be answered now, or is no request of a browser. */
export function refusalPage(message: string): string {
  return page('Not possible', `<h1>Not possible</h1>\n<p>${line(message)}</p>`);
}

function page(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>${STYLE}</style>
</head>
<body>
${body}
</body>
</html>
`;
}

/** All that the request would do, as far as there is room; what is missing is said. */
function shown(approval: Approval): string[] {
  const { details } = approval;
  const lacking = details.flatMap((part) => (part.type === 'omitted' ? [part.name] : []));
  const text = textOfAll(approval);
  const isCut = text.length > SHOWN_UNITS;
  return [
    `<pre>${escaped(revealed(text.slice(0, SHOWN_UNITS)))}</pre>`,
    ...(isCut ? ['<p class="warn">The request is longer than this page shows.</p>'] : []),
    ...lacking.map(
      (name) => `<p class="warn">Not shown, because it is too large: ${line(name)}</p>`,
    ),
  ];
}

function textOfAll({ details, request }: Approval): string {
  const parts = details.length > 0 ? details.map(partOf) : [asJson(request)];
  return parts.filter((part) => part !== '').join('\n\n');
}

function partOf(part: ApprovalDetail): string {
  switch (part.type) {
    case 'command':
      return part.cwd === null ? part.command : `${part.command}\n(in ${part.cwd})`;
    case 'omitted':
      return '';
    default:
      return textOf(part);
  }
}

/** A detail by its fields: texts as they are, each below its name. */
function textOf(part: object): string {
  return Object.entries(part)
    .filter(([name, value]) => name !== 'type' && value !== null && value !== undefined)
    .map(([name, value]) => {
      const text = typeof value === 'string' ? value : asJson(value);
      return text.includes('\n') ? `${name}:\n${text}` : `${name}: ${text}`;
    })
    .join('\n');
}

function asJson(value: unknown): string {
  return JSON.stringify(value ?? null, null, 2);
}

/** A text as one line of a page, with what is invisible in it shown as code points. */
function line(text: string): string {
  const one = text.replaceAll(/\s+/g, ' ').trim();
  const cut = one.length > LINE_UNITS ? `${one.slice(0, LINE_UNITS)}…` : one;
  return escaped(revealed(cut));
}

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
