import { z } from 'zod';
import type { AgentUpdate } from '../provider.ts';
import { blockText } from './blocks.ts';
import { arrayOf } from '../lenient.ts';

const text = z.string().nullish().catch(null);
const notice = z.looseObject({ severity: text, title: z.string(), description: text });

/** The severities that have a code of their own. */
const SEVERITIES = new Set(['warning', 'error']);

/** What an agent tells the user outside of the conversation. */
export function readNotice(raw: unknown): AgentUpdate | 'unknown' {
  const { data } = notice.safeParse(raw);
  if (!data) return 'unknown';
  const { severity, title, description } = data;
  const code = SEVERITIES.has(severity ?? '') ? String(severity) : 'notice';
  return { type: 'notice', code, message: description ? `${title}: ${description}` : title };
}

const compaction = z.looseObject({
  compactionId: z.string(),
  status: z.string(),
  summary: arrayOf(z.unknown()).nullish().catch(null),
  error: text,
});

/** That an agent makes its context shorter, as far as it has come. */
export function readCompaction(raw: unknown): AgentUpdate | 'unknown' {
  const { data } = compaction.safeParse(raw);
  if (!data) return 'unknown';
  const summary = (data.summary ?? []).map((block) => blockText(block) ?? '').join('');
  const more = data.error || summary.trim();
  const what = states[data.status] ?? `context compaction: ${data.status}`;
  return { type: 'notice', code: 'compaction', message: more ? `${what}: ${more}` : what };
}

const states: Readonly<Record<string, string>> = {
  in_progress: 'compacting the context',
  completed: 'context compacted',
  failed: 'context compaction failed',
  cancelled: 'context compaction cancelled',
};
