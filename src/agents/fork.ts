import type { AgentSink } from './provider.ts';

/**
 * Reports that an agent could not fork the conversation and starts an empty one, so the first prompt contains a record of
 * the history.
 */
export async function reportNoFork(sink: AgentSink, why: string): Promise<void> {
  const message = `the first prompt contains a record of the history, because ${why}`;
  await sink.update({ type: 'notice', code: 'forked_by_record', message });
}
