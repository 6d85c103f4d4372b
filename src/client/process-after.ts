import type { EventOf, KindIn } from '../api/events.ts';
import type { Process } from '../api/processes.ts';

/** The kinds that change the record of a process; `process.output` does not. */
export const processKinds = [
  'process.queued',
  'process.started',
  'process.completed',
  'process.failed',
  'process.timed_out',
  'process.killed',
] as const;

/** Returns a process after an event of it; null where that changes none that is known. */
export function processAfter(
  known: Process | undefined,
  event: EventOf<KindIn<'process'>>,
): Process | null {
  if (event.kind === 'process.output') return null;
  if (event.kind === 'process.queued') return event.payload.process;
  return known ? { ...known, ...event.payload.process } : null;
}
