import type { Approval, ApprovalDetail, Question } from '../../api/approvals.ts';
import { ARGUMENTS_MISSING } from '../../core/lib/arguments-missing.ts';
import { revealed } from '../../core/lib/plain.ts';
import { diffLines } from './diff.ts';
import { type LineShape, same } from './palette.ts';
import { wrapped } from './width.ts';

export type ApprovalToShow = Pick<
  Approval,
  'kind' | 'title' | 'request' | 'questions' | 'details' | 'session_allows' | 'arguments_missing'
>;

/**
 * The whole request of an approval, as lines of at most `columns` columns. Nothing is cut: long lines are wrapped,
 * and characters that a terminal would obey or hide are shown as their code points.
 */
export function approvalText(approval: ApprovalToShow, shape: LineShape): string[] {
  const { kind, title, details, questions, request, session_allows: allows } = approval;
  const parts = [
    ...(questions ?? []).map((question) => questionLines(question, shape)),
    ...details
      .filter((detail) => !isInHeading(detail, title))
      .map((detail) => detailLines(detail, shape)),
  ];
  if (approval.arguments_missing)
    parts.unshift(shown(ARGUMENTS_MISSING, shape, '', shape.palette.warn));
  // Without details the request is all that is known of it.
  if (details.length === 0 && !questions?.length) parts.push(inputLines('request', request, shape));
  if (allows !== null) parts.push(shown(`Approval for the session allows: ${allows}`, shape, ''));
  const heading = shown(`${kind}: ${title}`, shape, '', shape.palette.strong);
  return [heading, ...parts].flatMap((lines, at) => (at === 0 ? lines : ['', ...lines]));
}

/** Whether a detail is the title of the tool call, with which the heading begins. */
function isInHeading(detail: ApprovalDetail, heading: string): boolean {
  if (detail.type !== 'input' || detail.name !== 'title') return false;
  return heading === detail.value || heading.startsWith(`${String(detail.value)}: `);
}

function detailLines(detail: ApprovalDetail, shape: LineShape): string[] {
  const { faint, accent } = shape.palette;
  switch (detail.type) {
    case 'command': {
      const where = detail.cwd === null ? [] : shown(`in ${detail.cwd}`, shape, '', faint);
      return [...where, ...shown(detail.command, shape, '  ')];
    }
    case 'diff':
      return [...shown(detail.path, shape, '', accent), ...diffLines(detail.diff, shape)];
    case 'input':
      return inputLines(detail.name, detail.value, shape);
    case 'omitted':
      return shown(
        `NOT SHOWN (too large): ${detail.name} (${detail.bytes} bytes)`,
        shape,
        '',
        shape.palette.warn,
      );
  }
}

function inputLines(name: string, value: unknown, shape: LineShape): string[] {
  const text = typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? 'undefined');
  return [...shown(`${name}:`, shape, '', shape.palette.accent), ...shown(text, shape, '  ')];
}

function questionLines(
  { question, header, options, multiple }: Question,
  shape: LineShape,
): string[] {
  const choices = options.flatMap(({ label, description }) =>
    shown(description === null ? `- ${label}` : `- ${label}: ${description}`, shape, '  '),
  );
  return [
    ...(header === null ? [] : shown(header, shape, '', shape.palette.accent)),
    ...shown(multiple ? `${question} (multiple answers allowed)` : question, shape, ''),
    ...choices,
  ];
}

/** The lines of a text, all of it, behind an indent. */
function shown(
  text: string,
  { columns, palette }: LineShape,
  indent: string,
  style = same,
): string[] {
  const lines = wrapped(revealed(text, palette.warn), columns - indent.length);
  return lines.map((line) => indent + style(line));
}
