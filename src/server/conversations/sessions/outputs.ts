import type { Session, Turn, Usage } from '../../../api/sessions.ts';
import { isAppError } from '../../../api/errors.ts';
import type { Agent, AgentSink, AgentUpdate } from '../../../agents/provider.ts';
import type { AttachedTurn } from '../../../agents/attached-turn.ts';
import type { AgentRows } from '../../../agents/read-position.ts';
import type { ServerParts } from '../../../core/events/server-parts.ts';
import type { Writer } from '../../../core/store/transaction.ts';
import type { LiveAgent } from './running-turn.ts';
import {
  type AgentReadPositions,
  type StoredReadPosition,
  TurnReadPosition,
} from './agent-read-positions.ts';
import type { ApprovalBroker } from '../approvals/approval-broker.ts';
import { attachedTurn, type SurvivingTurn, outputOf, unpromptedTurns } from './attach-turn.ts';
import type { Blobs } from './blobs.ts';
import type { Inbox } from '../inbox/inbox.ts';
import { TurnOutput } from './output.ts';
import type { StoredOutput } from './stored-output.ts';
import { amendedUsage } from './known-usage.ts';
import { amendUsage, titledByAgent } from './session.ts';
import type { SessionStore } from './store.ts';

/** The budgets, as turns report their usage to them. Each method runs in the transaction that stores the usage. */
export interface TurnBudgets {
  turnUses: (tx: Writer, turn: { session_id: string; turn_id: string }, usage: Usage) => void;
  /** Counts the usage that an agent reports after the end of a turn. `before`: the usage that it had reported. */
  turnAmended: (tx: Writer, turn: Turn, before: Usage | null) => void;
}

interface AgentOutputsDeps extends Pick<ServerParts, 'db' | 'log' | 'clock' | 'ids'> {
  store: SessionStore;
  inbox: Inbox;
  blobs: Blobs;
  budgets: TurnBudgets;
  /** Absent if no other server can continue the turns of this one. */
  readers?: AgentReadPositions;
}

export interface OutputOptions {
  /** Called when a write fails. */
  onError: (error: unknown) => void;
  /** Returns the agent that is at the turn. */
  agentOf?: () => Pick<Agent, 'pid' | 'output'> | undefined;
  /** The row and the output of an earlier server. */
  stored?: { reader: StoredReadPosition; output: StoredOutput };
}

/** Opens the outputs of live agents: one for each turn, and one for updates outside any turn. */
export class AgentOutputs {
  readonly #deps: AgentOutputsDeps;

  constructor(deps: AgentOutputsDeps) {
    this.#deps = deps;
  }

  /** Opens the output of a turn, or, with null, one outside any turn. */
  open(
    session: Session,
    turn: Pick<Turn, 'turn_id' | 'started_at'> | null,
    { onError, agentOf, stored }: OutputOptions,
  ): TurnOutput {
    const { db, store, log, inbox, readers } = this.#deps;
    const turnId = turn?.turn_id ?? null;
    const usage = db.peek((rx) => store.sessions.get(rx, session.id)?.usage);
    const isAgain = turn !== null && turn.started_at !== null;
    const usedBefore = isAgain
      ? db.peek((rx) => log.lastUsage(rx, session.id, turn.turn_id))
      : null;
    return new TurnOutput({
      ...this.#deps,
      scope: { session_id: session.id, turn_id: turnId },
      costBefore: usage?.cost_usd ?? null,
      isAgain,
      usedBefore,
      ...(stored && { stored: stored.output, usedBefore: stored.output.saved.usedBefore }),
      reader:
        turnId !== null && readers
          ? new TurnReadPosition({
              readers,
              sessionId: session.id,
              turnId,
              agentOf: () => agentOf?.(),
              stored: stored?.reader,
            })
          : null,
      onError,
      onToolEnded: (tx: Writer) => inbox.atBoundary(tx, session.id),
      onUsage: (tx: Writer, reported: Usage) => {
        if (turnId !== null)
          this.#deps.budgets.turnUses(tx, { session_id: session.id, turn_id: turnId }, reported);
      },
    });
  }

  /** Stores that an agent is about to see a turn, so that another server knows if it did not get the prompt. */
  begin(tx: Writer, turn: Turn, agent: Pick<Agent, 'output'>): void {
    if (agent.output) this.#deps.readers?.begin(tx, turn);
  }

  /** The turns that have begun, and whose agents did not get the prompt. */
  unprompted(): ReadonlySet<string> {
    const { db, readers } = this.#deps;
    return readers ? db.peek((rx) => unpromptedTurns(rx, readers)) : new Set();
  }

  /** Opens the output of a turn that an earlier server has left, and returns the turn for its agent. */
  reopen(
    left: SurvivingTurn,
    options: OutputOptions,
    broker: ApprovalBroker,
  ): { output: TurnOutput; attached: AttachedTurn } {
    const { readers } = this.#deps;
    if (!readers) throw new Error('this server takes over no turns');
    const stored = outputOf(left, this.#deps);
    const { session, turn, reader } = left;
    const output = this.open(session, turn, { ...options, stored: { reader, output: stored } });
    const parts = { ...this.#deps, readers, broker };
    return { output, attached: attachedTurn(left, { output: stored, row: output.reader }, parts) };
  }

  /** Returns the sink of an agent, whose requests `ask` puts to people. */
  sinkFor(live: LiveAgent, ask: AgentSink['ask']): AgentSink {
    return {
      update: (update) => this.#accept(live, update),
      ...(this.#deps.readers && { rows: rowsOf(live) }),
      saveFile: (data) => this.#deps.blobs.saveFile(data).catch(() => null),
      ask: (...asked) =>
        ask(...asked).catch((error: unknown) => {
          if (!isAppError(error, 'too_many')) throw error;
          return { decision: 'decline', reason: error.message };
        }),
    };
  }

  /** Stores an update of an agent. If too many writes are pending, returns a promise that the agent has to wait for. */
  #accept(live: LiveAgent, update: AgentUpdate): Promise<void> | undefined {
    const { id } = live.session;
    if (update.type === 'title') return this.#write((tx) => this.#entitle(tx, id, update.title));
    if (update.type === 'commands')
      return this.#write((tx) => this.#deps.store.setCommands(tx, id, update.commands));
    if (update.type === 'usage' && !live.output && live.last)
      return this.#amendUsage(live.last, update);
    return this.#of(live).accept(update);
  }

  /** Returns a function that stores as a notice of a turn why it waits for an agent. */
  waitNotice({ session_id, turn_id }: Pick<Turn, 'session_id' | 'turn_id'>) {
    return (why: string): void => {
      const payload = {
        code: 'waits_for_agent',
        message: `the turn has not started, because no agent is available yet: ${why}`,
      };
      void this.#write((tx) =>
        this.#deps.log.append(tx, { kind: 'session.notice', session_id, turn_id, payload }),
      );
    };
  }

  #of(live: LiveAgent): TurnOutput {
    if (live.output) return live.output;
    // After a failed write it stores nothing more.
    if (live.aside?.broken) live.aside = undefined;
    live.aside ??= this.open(live.session, null, { onError: () => undefined });
    return live.aside;
  }

  #entitle(tx: Writer, sessionId: string, title: string): void {
    const { store, clock } = this.#deps;
    const before = store.session(tx, sessionId);
    const after = titledByAgent(before, title, clock.now());
    if (after !== before) store.updateSession(tx, after, 'session.updated');
  }

  /** Adds what an agent says after the answer to a prompt to what that turn has used: some agents say it only then. */
  #amendUsage(
    { turn_id, output }: NonNullable<LiveAgent['last']>,
    update: Extract<AgentUpdate, { type: 'usage' }>,
  ): Promise<void> | undefined {
    if (!output.closed) return output.accept(update);
    const { store } = this.#deps;
    return this.#write((tx) => {
      const turn = store.turns.get(tx, turn_id);
      if (!turn || turn.trimmed) return;
      const usage = amendedUsage(turn.usage, output.usageWith(update.usage));
      output.writeNotices(tx);
      const session = amendUsage(store.session(tx, turn.session_id), turn.usage, usage);
      store.amendUsage(tx, session, { ...turn, usage });
      this.#deps.budgets.turnAmended(tx, { ...turn, usage }, turn.usage);
    });
  }

  /** A lost write is ignored: agents repeat these updates, or the turn does not need them. */
  async #write(change: (tx: Writer) => void): Promise<void> {
    await this.#deps.db.transact(change).catch(() => undefined);
  }

  /** Closes the output outside any turn. Must be called before the agent's next turn, and when the agent has exited. */
  async closeAside(live: LiveAgent): Promise<void> {
    const { aside } = live;
    live.aside = undefined;
    if (!aside || aside.broken) return;
    await this.#deps.db.transact((tx) => aside.close(tx, 'completed')).catch(() => undefined);
  }
}

/** The rows of the turn that an agent is at. Outside a turn, messages to the agent are sent at once. */
function rowsOf(live: LiveAgent): AgentRows {
  return {
    savePosition: () => void live.output?.store(),
    queue(message) {
      const { output } = live;
      const isStored = output?.store((tx) => output.reader?.queue(tx, message));
      if (isStored) return;
      message.onStored();
      void message.send();
    },
  };
}
