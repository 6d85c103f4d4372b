import { endpoints } from '../../../api/index.ts';
import type { Client } from '../../../client/client.ts';
import { readLogs } from '../../../client/log-stream.ts';
import type { Clock } from '../../../core/lib/clock.ts';
import { conversationMarkdown } from '../../terminal/conversation.ts';
import { ConversationPages } from './conversation-pages.ts';
import { emptyConversation, withEvents } from './conversation-state.ts';
import { type Output, outputs } from './log-state.ts';

/** The whole text of a conversation or log. */
export interface WholeText {
  text: string;
  /** How many bytes of it the server no longer stores. */
  missing: number;
}

/** Reads all turns of a session, as Markdown. Throws an AppError. */
export async function wholeConversation(client: Client, sessionId: string): Promise<WholeText> {
  const pages = new ConversationPages(client, sessionId);
  const { blocks, seq, open } = await pages.next();
  const pieces = open.length === 0 ? [] : await pages.pieces(open, seq);
  const read = [withEvents({ ...emptyConversation, blocks }, pieces).blocks];
  while (!pages.isAtStart) read.push((await pages.next()).blocks);
  return { text: conversationMarkdown(read.toReversed().flat()), missing: 0 };
}

/** Reads the output of a process up to now: stdout, then stderr. Throws an AppError. */
export async function wholeLog(
  client: Client,
  clock: Clock,
  processId: string,
): Promise<WholeText> {
  const params = { process_id: processId };
  const ends = await client.call(endpoints.getProcessLogs, { params, query: { tail_lines: 1 } });
  const texts: Partial<Record<Output, string>> = {};
  let missing = 0;
  for (const stream of outputs) {
    const { offset, bytes } = ends[stream] ?? { offset: 0, bytes: 0 };
    const to = offset + bytes;
    if (to === 0) continue;
    const { signal } = new AbortController();
    const { text } = await readLogs({ client, clock, processId, stream, from: 0, to, signal });
    texts[stream] = text;
    missing += Math.max(0, to - Buffer.byteLength(text));
  }
  const { stdout = '', stderr } = texts;
  const gap = stdout === '' || stdout.endsWith('\n') ? '' : '\n';
  return {
    text: stderr === undefined ? stdout : `${stdout}${gap}--- stderr ---\n${stderr}`,
    missing,
  };
}
