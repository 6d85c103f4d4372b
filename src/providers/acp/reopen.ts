import { z } from 'zod';
import { ProviderError } from '../provider.ts';
import { isAuthRequired } from './authenticate.ts';
import { agentError } from './connection.ts';
import { type OpenedSession, openedSession } from './options.ts';
import type { AcpProcess } from './process.ts';

/** An agent says by these codes, or in these words, that it does not have a session. Another failure may pass. */
const GONE_CODES = new Set([-32_601, -32_602, -32_002, 404]);
const GONE_WORDS = /not found|unknown session|no such|does not exist|gone/i;
/** A list of sessions has at most so many pages. */
const MAX_LIST_PAGES = 100;

/**
 * Has an agent take up a session. `untilSilent` waits for the end of the history that some agents replay. Throws
 * {@link ProviderError}: `resume_failed` where the agent does not have the session.
 */
export async function reopen(
  process: AcpProcess,
  params: { sessionId: string },
  untilSilent: () => Promise<void>,
): Promise<OpenedSession> {
  const { can } = process;
  if (!process.canResume) {
    const message = 'acp: this agent cannot resume sessions: open a new one';
    throw new ProviderError('resume_failed', message);
  }
  const load = async () => {
    const opened = openedIn(await process.ask('session/load', params)) ?? {};
    await untilSilent();
    return opened;
  };
  try {
    if (!can.resume) return await load();
    try {
      return openedIn(await process.ask('session/resume', params)) ?? {};
    } catch (error) {
      // Some agents can do one of the two only, whatever they say.
      const said = agentError((error as Error).cause);
      if (!can.load || !said || isAuthRequired(said)) throw error;
      return await load();
    }
  } catch (error) {
    throw goneError(error) ?? error;
  }
}

/** The error for an agent that says that it does not have a session; null for any other failure. */
function goneError(error: unknown): ProviderError | null {
  const said = agentError((error as Error).cause);
  if (
    !said ||
    isAuthRequired(said) ||
    !(GONE_CODES.has(said.code) || GONE_WORDS.test(said.message))
  )
    return null;
  const message = `acp: the agent cannot resume the session: ${said.message}`;
  return new ProviderError('resume_failed', message, { cause: error });
}

/** What an agent says of a session that it opened; null where it says nothing that can be read. */
export function openedIn(answer: unknown): OpenedSession | null {
  return openedSession.safeParse(answer).data ?? null;
}

const page = z.looseObject({
  sessions: z.array(z.looseObject({ sessionId: z.string() })),
  nextCursor: z.string().nullish(),
});

/** The refs of the sessions that an agent lists; null where it has no list, or could not resume what it lists. */
export async function listRefs(process: AcpProcess): Promise<ReadonlySet<string> | null> {
  if (!process.can.list || !process.canResume) return null;
  const found = new Set<string>();
  let cursor: string | null | undefined;
  for (let pages = 0; pages < MAX_LIST_PAGES; pages++) {
    const answer = page.safeParse(await process.ask('session/list', cursor ? { cursor } : {}));
    if (!answer.success) return null;
    for (const { sessionId } of answer.data.sessions) found.add(sessionId);
    const before = cursor;
    cursor = answer.data.nextCursor;
    if (!cursor || cursor === before) return found;
  }
  return found;
}
