import { z } from 'zod';
import { DERIVED_LIMITS } from '../budget.ts';
import type { AgentUpdate } from '../provider.ts';

/** One subagent, as it is shown. */
interface Shown {
  text: string;
  /** The agent's id of the message that it said last. */
  message: string | undefined;
}

/**
 * What other sessions of an agent say over the connection of ours: those of its subagents. It is shown as theirs: what
 * they say is the output of a tool call for each of them, and their calls stand beside those of the agent itself.
 */
export class Subagents {
  readonly #shown = new Map<string, Shown>();

  /** A turn begins or ends: what is said from now on is shown by calls of its own. */
  clear(): void {
    this.#shown.clear();
  }

  /** An update of another session as it is shown; null for what is of that session alone. */
  read(session: string, update: AgentUpdate): AgentUpdate | null {
    switch (update.type) {
      case 'message':
        return this.#say(session, update.text, update.ref);
      case 'title':
        return this.#entitle(session, update.title);
      case 'tool':
        return { ...update, ref: refIn(session, update.ref) };
      case 'notice':
        return update;
      default:
        return null;
    }
  }

  #say(session: string, text: string, message: string | undefined): AgentUpdate | null {
    const shown = this.#shown.get(session);
    if (text === '' || (shown?.text.length ?? 0) >= DERIVED_LIMITS.text) return null;
    const before = shown?.message;
    const isNext = before !== undefined && message !== undefined && before !== message;
    const whole = `${shown?.text ?? ''}${isNext ? '\n\n' : ''}${text}`;
    this.#shown.set(session, { text: whole, message });
    return toolOf(session, {
      ...(shown ? {} : { title: `subagent ${session}` }),
      kind: 'think',
      status: 'running',
      output: whole,
    });
  }

  #entitle(session: string, title: string): AgentUpdate {
    if (!this.#shown.has(session)) this.#shown.set(session, { text: '', message: undefined });
    return toolOf(session, { title: `subagent: ${title}`, kind: 'think' });
  }
}

const about = z.looseObject({ sessionId: z.string() });

/** The session that a message is about, where it is not that of `ref`; `ref` is empty until that one is open. */
export function otherSession(params: unknown, ref: string): string | null {
  const { sessionId } = about.safeParse(params).data ?? {};
  return sessionId === undefined || ref === '' || sessionId === ref ? null : sessionId;
}

/** The id of a tool call of another session: it may be that of a call of ours. */
export function refIn(session: string | null, ref: string): string {
  return session === null ? ref : `${session}/${ref}`;
}

function toolOf(
  session: string,
  change: Extract<AgentUpdate, { type: 'tool' }>['change'],
): AgentUpdate {
  return { type: 'tool', ref: `subagent/${session}`, change };
}
