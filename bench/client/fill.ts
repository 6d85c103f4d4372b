import type { Server } from '../subject.ts';
import { createSession, sendTurn } from './http.ts';
import { endsTurn, Stream } from './stream.ts';

const AT_ONCE = 8;
/** How many tools a turn uses. Each leaves two events that stay in the log. */
const TOOLS = 400;

/**
 * Makes the log of a server long, through its interface: sessions that use tools, turn after turn. Resolves with the
 * number of the newest event, which is `events` or a little more.
 */
export async function fill(server: Server, directory: string, events: number): Promise<number> {
  let newest = 0;
  const tools = Math.min(TOOLS, Math.ceil(events / AT_ONCE / 4));
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (newest < events) {
        const session = await createSession(server, directory);
        const stream = await Stream.open(
          server,
          `/v1/sessions/${session}/events/stream?after_seq=0`,
        );
        for (let turn = 0; turn < 10 && newest < events; turn++) {
          const ended = stream.next(endsTurn);
          await sendTurn(server, session, `tools ${tools}`);
          newest = Math.max(newest, (await ended).seq);
        }
        stream.close();
      }
    }),
  );
  return newest;
}
