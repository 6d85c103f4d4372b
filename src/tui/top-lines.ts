import type { Approval } from '../api/approvals.ts';
import type { Process } from '../api/processes.ts';
import { byAttention, type Overview, type SessionNow } from './overview.ts';

/** A line of the overview: a heading, or an approval, a session or a process, which can be chosen. */
export type Line =
  | { heading: string }
  | { key: string; approval: Approval }
  | { key: string; now: SessionNow }
  | { key: string; process: Process };
export type Choice = Exclude<Line, { heading: string }>;

/** The lines of the overview: approvals, then sessions, then processes. */
export function linesOf(overview: Overview): Line[] {
  const approvals = [...overview.approvals.values()].map((approval) => ({
    key: approval.id,
    approval,
  }));
  const sessions = byAttention(overview).map((now) => ({ key: now.session.id, now }));
  const processes = [...overview.processes.values()].map((process) => ({
    key: process.process_id,
    process,
  }));
  return [
    ...section('waits for an answer', approvals),
    ...section('sessions', sessions),
    ...section('processes', processes),
  ];
}

function section(heading: string, choices: readonly Choice[]): Line[] {
  return choices.length === 0 ? [] : [{ heading: `${heading} ${choices.length}` }, ...choices];
}

/** The lines that can be chosen. */
export function choicesOf(lines: readonly Line[]): Choice[] {
  return lines.filter((line) => 'key' in line);
}

/** The `height` lines around the chosen one. */
export function linesAround(
  lines: readonly Line[],
  chosen: string | undefined,
  height: number,
): readonly Line[] {
  const at = lines.findIndex((line) => 'key' in line && line.key === chosen);
  const last = Math.max(0, lines.length - height);
  const from = Math.max(0, Math.min(last, at - Math.floor(height / 2)));
  return lines.slice(from, from + height);
}
