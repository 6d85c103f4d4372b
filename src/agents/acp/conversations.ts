import type {
  ConversationQuery,
  Conversations,
  StoredConversation,
  StoredTurns,
  TurnQuery,
} from '../conversations.ts';
import { storedTitle } from '../conversations.ts';
import { unavailable } from '../provider.ts';
import type { AcpAgent } from './agent.ts';
import type { AcpProcess, AgentAbilities } from './process.ts';
import { type ListedSession, listedSessions } from './reopen.ts';
import { ReplayedTurns } from './replayed-turns.ts';

/** So many conversations are remembered for the requests that follow a list. */
const MAX_REMEMBERED = 5000;

interface AcpConversationsDeps {
  program: () => string;
  /** Starts an agent for a question alone, and ends it. `cwd`: null: the directory of the server. */
  ask: <T>(
    what: string,
    cwd: string | null,
    signal: AbortSignal,
    question: (agent: AcpAgent) => Promise<T>,
  ) => Promise<T>;
}

/** The conversations that an agent lists and replays over the protocol. Each call starts an agent. */
export class AcpConversations implements Conversations {
  readonly startsAgent = true;
  readonly #deps: AcpConversationsDeps;
  readonly #remembered = new Map<string, StoredConversation>();

  constructor(deps: AcpConversationsDeps) {
    this.#deps = deps;
  }

  /** An agent that does not offer its conversations has none here. */
  async list(
    { cwd, limit }: ConversationQuery,
    signal: AbortSignal,
  ): Promise<StoredConversation[]> {
    const found = await this.#listed(cwd, signal, ({ can }) => missingIn(can) === null);
    return found.slice(0, limit);
  }

  async find(ref: string, signal: AbortSignal): Promise<StoredConversation | null> {
    // Some agents list only the conversations of one directory, which a list has named before.
    const known = this.#remembered.get(ref);
    if (known) return known;
    const all = await this.#listed(null, signal, assertOffered);
    return all.find((one) => one.ref === ref) ?? null;
  }

  async #listed(
    cwd: string | null,
    signal: AbortSignal,
    isOffered: (process: AcpProcess) => boolean,
  ): Promise<StoredConversation[]> {
    const ask = async ({ process }: AcpAgent) =>
      isOffered(process) ? listedSessions(process, cwd === null ? {} : { cwd }) : [];
    const listed = await this.#deps.ask('started to list its conversations', null, signal, ask);
    if (!listed) throw unavailable('acp: the list of sessions of the agent cannot be read');
    if (this.#remembered.size > MAX_REMEMBERED) this.#remembered.clear();
    const found = listed
      .map((one) => this.#conversationOf(one))
      // Some agents ignore the directory.
      .filter((one) => cwd === null || one.cwd === null || one.cwd === cwd)
      .toSorted((a, b) => b.changedAt - a.changedAt);
    for (const one of found) this.#remembered.set(one.ref, one);
    return found;
  }

  turns(ref: string, { after, max, cwd }: TurnQuery, signal: AbortSignal): Promise<StoredTurns> {
    const directory = cwd ?? this.#remembered.get(ref)?.cwd ?? null;
    return this.#deps.ask('started to read a conversation', directory, signal, async (agent) => {
      assertOffered(agent.process);
      const replayed = new ReplayedTurns(this.#deps.program(), max);
      await agent.resume(ref, null, (update) => replayed.add(update));
      return replayed.after(after);
    });
  }

  /** The protocol does not say which process has a conversation open. */
  async holders(): Promise<() => null> {
    return () => null;
  }

  /** Each agent has its own way to continue a conversation, which the protocol does not name. */
  command(): string[] {
    return [];
  }

  #conversationOf({ sessionId, cwd, title, updatedAt }: ListedSession): StoredConversation {
    const changedAt = Date.parse(updatedAt ?? '');
    return {
      ref: sessionId,
      title: storedTitle(title),
      cwd,
      program: this.#deps.program(),
      branch: null,
      begunAt: null,
      changedAt: Number.isFinite(changedAt) ? Math.max(0, changedAt) : 0,
      bytes: null,
    };
  }
}

/** Returns the methods that an agent does not announce; null if it offers its conversations. */
function missingIn({ list, load }: AgentAbilities): string | null {
  const missing = [...(list ? [] : ['session/list']), ...(load ? [] : ['session/load'])];
  return missing.length === 0 ? null : missing.join(' and no ');
}

/** Throws {@link ProviderError} unless the agent announces that it lists and loads sessions. */
function assertOffered({ can }: AcpProcess): true {
  const missing = missingIn(can);
  if (missing === null) return true;
  throw unavailable(`acp: the agent does not offer its conversations: it has no ${missing}`);
}
