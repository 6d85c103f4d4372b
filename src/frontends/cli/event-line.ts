import type { RuntimeEventRecord } from '../../api/events.ts';
import { summarizeEvent } from '../../client/event-summary.ts';
import { shorten } from '../../core/lib/shorten.ts';
import { shortId } from './output.ts';

export function eventLine(event: RuntimeEventRecord): string {
  const { seq, kind, session_id, process_id, team_id, created_at } = event;
  const summary = summarizeEvent(event);
  const cut = shorten(summary, LINE_CHARACTERS);
  const time = new Date(created_at).toISOString().slice(11, 23);
  const whose = session_id ?? process_id ?? team_id;
  const who = whose ? shortId(whose) : '-'.padEnd(8);
  return `${String(seq).padStart(6)}  ${time}  ${who}  ${kind.padEnd(20)}  ${cut}`.trimEnd();
}

const LINE_CHARACTERS = 100;
