import { createHash } from 'node:crypto';
import type { Approval, ApprovalDetail } from '../../api/approvals.ts';
import { ARGUMENTS_MISSING, CONFIRMATION } from '../../core/lib/arguments-missing.ts';
import { diffHtml, textHtml } from '../../core/lib/html.ts';

/** The maximum part of a request that is shown, in UTF-16 code units; the page then says that there is more. */
const SHOWN_UNITS = 64 * 1024;
const LINE_UNITS = 500;

const STYLE = `:root{color-scheme:light dark;--line:#8886;--faint:#666;--good:#1a7f37;--bad:#b3261e;--add:#2da44e22;--del:#cf222e22;--accent:#6639ba}
@media(prefers-color-scheme:dark){:root{--faint:#a0a0a0;--good:#2ea043;--bad:#da3633;--accent:#d2a8ff}}
body{font:1rem/1.5 system-ui,sans-serif;max-width:46rem;margin:1.5rem auto;padding:0 1rem;overflow-wrap:anywhere}
h1{font-size:1.25rem;margin:0}h2{font-size:1rem;margin:1.25rem 0 .25rem}
.faint{color:var(--faint);margin:.25rem 0}.whole{white-space:pre-wrap}
pre{font:.9rem/1.45 ui-monospace,monospace;white-space:pre-wrap;margin:.25rem 0;padding:.6rem .75rem;border:1px solid var(--line);border-radius:.5rem}
form{display:flex;flex-wrap:wrap;gap:.75rem;margin:1.5rem 0 .75rem}
button{flex:1 1 9rem;min-height:3.25rem;font:inherit;font-weight:600;color:#fff;border:0;border-radius:.6rem}
.accept{background:var(--good)}.decline{background:var(--bad)}
form p{flex:1 1 100%;margin:0}input{font:inherit;padding:.5rem;width:100%;box-sizing:border-box}
.warn{font-weight:600;border-left:.25rem solid var(--bad);padding-left:.75rem}
.added{background:var(--add)}.removed{background:var(--del)}.accent{color:var(--accent)}.strong{font-weight:600}`;

/**
 * The headers of each of these pages: they load and run nothing, no other page may frame them, no other site learns
 * their address, and no cache keeps them.
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

export function askingPage(
  approval: Approval,
  { title, cwd }: { title: string | null; cwd: string },
): string {
  const objection = objectionToAccept(approval);
  const confirm = approval.arguments_missing
    ? `<p class="warn">${ARGUMENTS_MISSING} <label>Type ${CONFIRMATION} to accept the request: <input name="confirm" autocomplete="off"></label></p>\n`
    : '';
  const accept = `${confirm}<button class="accept" name="decision" value="accept">Accept</button>\n`;
  const asker = approval.kind === 'budget' ? 'cadre' : approval.provider;
  return page(
    'Approval request',
    [
      `<h1>${lineOf(asker)} requests your approval</h1>`,
      `<p class="faint">Session “${lineOf(title ?? approval.session_id)}”, in ${lineOf(cwd)}</p>`,
      ...shown(approval),
      objection === null ? '' : `<p class="warn">${objection}</p>`,
      `<form method="post">\n${objection === null ? accept : ''}<button class="decline" name="decision" value="decline">Decline</button>\n</form>`,
      objection === null ? `<p class="faint">${effectOf(approval)}</p>` : '',
      '<p class="faint">Only the first answer counts. After it, this link is not valid any more.</p>',
    ]
      .filter((part) => part !== '')
      .join('\n'),
  );
}

/** Describes the effect of both buttons. A link never accepts for the session. */
function effectOf({ kind }: Approval): string {
  if (kind === 'budget')
    return 'Accept allows further turns although the budget is used up. Decline allows no further turn.';
  return 'Accept allows exactly this request, once. With Decline, the agent continues without it.';
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

export function answeredPage({ status, title }: Pick<Approval, 'status' | 'title'>): string {
  const word = status === 'accepted' ? 'Accepted' : 'Declined';
  return page(word, `<h1>${word}</h1>\n<p>${lineOf(title)}</p>`);
}

/** The page of every invalid link, whatever the reason. */
export function invalidPage(): string {
  return page(
    'Invalid link',
    '<h1>This link is not valid</h1>\n<p>The link is incomplete, was already used or has expired, or the request was already answered. Open cadre to see the pending requests.</p>',
  );
}

/** The page of a request that cannot be answered now, or that no browser sends. */
export function refusalPage(message: string): string {
  return page('Not possible', `<h1>Not possible</h1>\n<p>${lineOf(message)}</p>`);
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

/** The request, once and as far as there is room; missing parts are named. */
function shown(approval: Approval): string[] {
  const { title, details, request } = approval;
  const lacking = details.flatMap((part) => (part.type === 'omitted' ? [part.name] : []));
  const isCut = textOfAll(approval).length > SHOWN_UNITS;
  const parts =
    details.length > 0 ? details : [{ type: 'input', name: 'request', value: request } as const];
  // The title repeats a command that is shown below it.
  const isTitled = details.every((part) => part.type !== 'command' || part.command !== title);
  return [
    ...(isTitled ? [`<h2>${lineOf(title)}</h2>`] : []),
    ...(isCut
      ? [
          `<pre>${textHtml(textOfAll(approval).slice(0, SHOWN_UNITS))}</pre>`,
          '<p class="warn">The request is longer than this page shows.</p>',
        ]
      : parts.map(partHtml)),
    ...lacking.map(
      (name) => `<p class="warn">Not shown, because it is too large: ${lineOf(name)}</p>`,
    ),
  ];
}

/** A part of the request, whole: it is accepted as it is shown. */
function partHtml(part: ApprovalDetail): string {
  switch (part.type) {
    case 'command':
      return `<h2>Command</h2>\n<pre>${textHtml(part.command)}</pre>${part.cwd === null ? '' : `\n<p class="faint whole">in ${textHtml(part.cwd)}</p>`}`;
    case 'diff':
      return `<h2 class="whole">${textHtml(part.path)}</h2>\n<pre>${diffHtml(part.diff)}</pre>`;
    case 'input':
      return `<h2 class="whole">${textHtml(part.name)}</h2>\n<pre>${textHtml(textOf(part.value))}</pre>`;
    case 'omitted':
      return '';
  }
}

/** All texts of the request, whose length the limit of the page counts. */
function textOfAll({ details, request }: Approval): string {
  const parts = details.length > 0 ? details.map(partOf) : [textOf(request)];
  return parts.filter((part) => part !== '').join('\n\n');
}

function partOf(part: ApprovalDetail): string {
  switch (part.type) {
    case 'command':
      return part.cwd === null ? part.command : `${part.command}\n(in ${part.cwd})`;
    case 'diff':
      return `${part.path}\n${part.diff}`;
    case 'input':
      return `${part.name}\n${textOf(part.value)}`;
    case 'omitted':
      return '';
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? null, null, 2);
}

/** Returns a text as one line of the page, with invisible characters as code points. */
function lineOf(text: string): string {
  const one = text.replaceAll(/\s+/g, ' ').trim();
  return textHtml(one.length > LINE_UNITS ? `${one.slice(0, LINE_UNITS)}…` : one);
}
