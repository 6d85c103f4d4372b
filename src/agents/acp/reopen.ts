import { z } from 'zod';
import type { Clock } from '../../core/lib/clock.ts';
import { newUuid } from '../../core/lib/ids.ts';
import { ProviderError } from '../provider.ts';
import { maybeText } from '../lenient.ts';
import { agentError } from './connection.ts';
import { openedIn, type OpenedSession } from './options.ts';
import type { AcpProcess } from './process.ts';

/** The error of an agent that does not have the method at all, whatever it claims to be able to. */
const NO_METHOD = -32_601;
/** An agent without a list says by these codes, or in these words, that it does not have a session. */
const GONE_CODES = new Set([-32_602, -32_002, 404]);
const GONE_WORDS = /not found|unknown session|no such|does not exist|gone/i;
/** Words that may say so, too: then the agent is asked for a session that never was. */
const SESSION_WORDS = /session|conversation|thread|chat/i;
/** Some agents replay a history after they have said that it is loaded: a silence this long ends it. */
export const HISTORY_PAUSE_MS = 250;
const MAX_HISTORY_MS = 10_000;
/** So many pages of a list of sessions are read; a longer list is not known as a whole. */
const MAX_LIST_PAGES = 100;

/** Takes a `session/update` of the history that an agent replays. */
export type OnReplay = (update: unknown) => void;

/**
 * Makes an agent resume a session; with `isReplayed`, by the method that replays the history. `untilSilent` waits for the
 * end of the history. Throws {@link ProviderError}: `resume_failed` where the agent does not have the session.
 */
export async function reopen(
  process: AcpProcess,
  params: { sessionId: string; cwd: string },
  untilSilent: () => Promise<void>,
  isReplayed: boolean,
): Promise<OpenedSession> {
  const { can } = process;
  if (!process.canResume) {
    const message = 'acp: this agent cannot resume sessions: open a new session';
    throw new ProviderError('resume_failed', message);
  }
  const load = async () => {
    const opened = openedIn(await process.ask('session/load', params));
    await untilSilent();
    return opened;
  };
  try {
    if (isReplayed || !can.resume) return await load();
    try {
      return openedIn(await process.ask('session/resume', params));
    } catch (error) {
      // Some agents can do one of the two only, whatever they say.
      const failure = agentError((error as Error).cause);
      if (!can.load || !failure || process.login.refusalIn(error)) throw error;
      return await load();
    }
  } catch (error) {
    const failure = agentError((error as Error).cause);
    if (!failure || process.login.refusalIn(error) || !(await isGone(process, params, failure)))
      throw error;
    const message = `acp: the agent cannot resume the session: ${failure.message}`;
    throw new ProviderError('resume_failed', message, { cause: error });
  }
}

/** Resolves when the agent has sent nothing for a while, so that the replay of the history is complete. */
export async function untilSilent(opening: { lastHeardAt: number }, clock: Clock): Promise<void> {
  const began = clock.monotonic();
  opening.lastHeardAt = began;
  for (let now = began; now < began + MAX_HISTORY_MS; now = clock.monotonic()) {
    const rest = opening.lastHeardAt + HISTORY_PAUSE_MS - now;
    if (rest <= 0) break;
    await clock.sleep(rest);
  }
}

type AgentError = NonNullable<ReturnType<typeof agentError>>;

/**
 * Whether an agent that refused to take up a session has lost it; another failure may pass. Its list of sessions says so,
 * where it has one that can be read; else its code or words do, or the same answer to a session that never was.
 */
async function isGone(
  process: AcpProcess,
  params: { sessionId: string; cwd: string },
  failure: AgentError,
): Promise<boolean> {
  if (failure.code === NO_METHOD) return true;
  const refs = await listedAnywhere(process, params.cwd);
  if (refs) return !refs.has(params.sessionId);
  if (GONE_CODES.has(failure.code) || GONE_WORDS.test(failure.message)) return true;
  if (!SESSION_WORDS.test(failure.message)) return false;
  const never = { ...params, sessionId: newUuid() };
  try {
    await process.ask(process.can.load ? 'session/load' : 'session/resume', never);
    return false;
  } catch (error) {
    const other = agentError((error as Error).cause);
    const words = failure.message.replaceAll(params.sessionId, never.sessionId);
    return other?.code === failure.code && other.message === words;
  }
}

/**
 * Returns the sessions that an agent lists, for all directories and for one directory, because some agents list only
 * one of both.
 */
async function listedAnywhere(
  process: AcpProcess,
  cwd: string,
): Promise<ReadonlySet<string> | null> {
  const all = await listRefs(process).catch(() => null);
  const here = await listRefs(process, { cwd }).catch(() => null);
  return all || here ? new Set([...(all ?? []), ...(here ?? [])]) : null;
}

const listedSession = z.looseObject({
  sessionId: z.string(),
  cwd: maybeText,
  title: maybeText,
  updatedAt: maybeText,
});
export type ListedSession = z.output<typeof listedSession>;

const page = z.looseObject({
  sessions: z.array(listedSession),
  nextCursor: z.string().nullish(),
});

/**
 * The refs of the sessions that an agent lists; null where it has no list, one without an end, or could not resume what it
 * lists.
 */
export async function listRefs(
  process: AcpProcess,
  filter: object = {},
): Promise<ReadonlySet<string> | null> {
  if (!process.can.list || !process.canResume) return null;
  const found = await listedSessions(process, filter);
  return found && new Set(found.map(({ sessionId }) => sessionId));
}

/** The sessions that an agent lists, each once; null for a list without an end, or one that cannot be read. */
export async function listedSessions(
  process: AcpProcess,
  filter: object,
): Promise<ListedSession[] | null> {
  const found = new Map<string, ListedSession>();
  const cursors = new Set<string>();
  let cursor: string | null | undefined;
  for (let pages = 0; pages < MAX_LIST_PAGES; pages++) {
    const answer = page.safeParse(
      await process.ask('session/list', { ...filter, ...(cursor ? { cursor } : {}) }),
    );
    if (!answer.success) return null;
    for (const one of answer.data.sessions) found.set(one.sessionId, one);
    cursor = answer.data.nextCursor;
    // A cursor that has come before leads to pages that have been read.
    if (!cursor || cursors.has(cursor)) return [...found.values()];
    cursors.add(cursor);
  }
  return null;
}
