import type { Approval } from '../../../api/approvals.ts';
import { endpoints } from '../../../api/index.ts';
import type { BodyInputOf } from '../../../api/endpoint.ts';
import type { Client } from '../../../client/client.ts';
import { AppError } from '../../../api/errors.ts';
import { plain, shortId } from '../output.ts';
import type { CommandIo } from '../command-io.ts';
import type { TurnOutput } from './turn-output.ts';

/**
 * The answer of somebody at the terminal; null where there is none, because the terminal has gone. `later` leaves the
 * request open, and `leave` the command as well.
 */
export type Answer = BodyInputOf<typeof endpoints.decideApproval> | 'later' | 'leave' | null;

/** Puts one approval to somebody at the terminal. Rejects with the signal's reason if it is withdrawn. */
export type Asking = (approval: Approval, more: AskingMore) => Promise<Answer>;

export interface AskingMore {
  /** How many approvals wait after this one. */
  waiting: () => number;
  /** Withdraws the question. */
  signal: AbortSignal;
}

/**
 * Asks for approvals one after the other: each gets an answer of its own, and what else comes is held back meanwhile.
 * Where nobody is there to be asked it prints the command that answers.
 */
export class ApprovalAsker {
  readonly #deps: Dependencies;
  /** All that were ever taken, so that none is asked twice. */
  readonly #taken = new Set<string>();
  readonly #waiting: Approval[] = [];
  /** Ids of requests that somebody here has left open. */
  readonly #leftOpen = new Set<string>();
  #shown: Shown | null = null;
  #asking: Promise<void> | null = null;

  constructor(deps: Dependencies) {
    this.#deps = deps;
  }

  /**
   * Takes the approval of an event. The question is read from the server, because an event may be cut or out of date.
   */
  requested({ id, kind, title, session_id }: Requested): void {
    if (this.#deps.ask) return this.askedIn(session_id);
    if (this.#isKnown(id)) return;
    this.#deps.turnOutput.status(
      `\n[${kind}] the agent requests approval: ${plain(title)}\n` +
        `  answer with: cadre approvals accept ${id}   (or decline)\n`,
    );
  }

  /** Takes all that waits in a session. Returns before it is answered. */
  askedIn(session_id: string): void {
    const { client, turnOutput } = this.#deps;
    const query = { status: 'pending' as const };
    client.call(endpoints.listSessionApprovals, { params: { session_id }, query }).then(
      (pending) => {
        for (const approval of pending.toReversed()) this.#take(approval);
      },
      (error: unknown) =>
        turnOutput.status(`cadre: cannot read approval requests: ${String(error)}\n`),
    );
  }

  /** Takes note of how an approval was resolved, and withdraws its question. */
  resolved({ id, status, title }: Pick<Approval, 'id' | 'status' | 'title'>): void {
    const { ask, turnOutput } = this.#deps;
    if (!ask) return turnOutput.status(`  ${status}\n`);
    const how = status === 'accepted' || status === 'declined' ? `${status} elsewhere` : status;
    const at = this.#waiting.findIndex((one) => one.id === id);
    if (at >= 0) this.#waiting.splice(at, 1);
    if (at >= 0 || this.#leftOpen.delete(id)) {
      turnOutput.status(`[${how}] ${plain(title)}\n`);
    } else if (this.#shown?.id === id && !this.#shown.isAnswered) {
      this.#shown.resolved = how;
      this.#shown.withdrawal.abort();
    }
  }

  /** Resolves once all that was taken is answered or withdrawn. */
  async idle(): Promise<void> {
    await this.#asking;
  }

  #take(approval: Approval): void {
    const { ask } = this.#deps;
    if (!ask) return this.requested(approval);
    if (this.#isKnown(approval.id)) return;
    this.#waiting.push(approval);
    this.#asking ??= this.#askAll(ask);
  }

  /** Whether an approval was taken before; from now on it was. */
  #isKnown(id: string): boolean {
    if (this.#taken.has(id)) return true;
    this.#taken.add(id);
    return false;
  }

  async #askAll(ask: Asking): Promise<void> {
    const { turnOutput, stopped } = this.#deps;
    try {
      using _held = turnOutput.hold();
      for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) {
        if (stopped.aborted) return;
        await this.#askOne(next, ask);
      }
    } catch (error) {
      turnOutput.status(`cadre: cannot ask about an approval request: ${String(error)}\n`);
    } finally {
      this.#asking = null;
    }
  }

  #leaveOpen(approval: Approval, how: 'later' | 'leave'): void {
    const { io, onLeave, leavesWithLater = false } = this.#deps;
    this.#leftOpen.add(approval.id);
    io.stderr.write(`  left open: ${howToAnswer(approval)}\n`);
    if (how === 'leave' || leavesWithLater) onLeave();
  }

  async #askOne(approval: Approval, ask: Asking): Promise<void> {
    const { io, client, stopped } = this.#deps;
    const shown: Shown = { id: approval.id, withdrawal: new AbortController(), isAnswered: false };
    this.#shown = shown;
    const signal = AbortSignal.any([shown.withdrawal.signal, stopped]);
    try {
      const body = await ask(approval, { waiting: () => this.#waiting.length, signal });
      if (body === null) return;
      if (body === 'later' || body === 'leave') return this.#leaveOpen(approval, body);
      shown.isAnswered = true;
      const params = { session_id: approval.session_id, approval_id: approval.id };
      const { status } = await client.call(endpoints.decideApproval, { params, body });
      io.stderr.write(`  ${status}${body.scope === 'session' ? ' for this session' : ''}\n`);
    } catch (error) {
      if (shown.resolved) io.stderr.write(`  ${shown.resolved}\n`);
      if (signal.aborted) return;
      if (!(error instanceof AppError)) throw error;
      io.stderr.write(`cadre: ${error.message}\n`);
      // It still waits, and is asked again once the server is back.
      if (['unreachable', 'shutting_down'].includes(error.code)) this.#taken.delete(approval.id);
    } finally {
      this.#shown = null;
    }
  }
}

function howToAnswer({ id }: Pick<Approval, 'id'>): string {
  return `answer it with cadre approvals accept ${shortId(id)} (or decline), or on the screen`;
}

type Requested = Pick<Approval, 'id' | 'kind' | 'title' | 'session_id'>;

interface Shown {
  id: string;
  withdrawal: AbortController;
  /** Whether an answer was given here. */
  isAnswered: boolean;
  /** How it was resolved elsewhere. */
  resolved?: string;
}

interface Dependencies {
  io: CommandIo;
  client: Client;
  turnOutput: TurnOutput;
  /** Null where nobody is there to be asked. */
  ask: Asking | null;
  /** Ends the command, and leaves the turn to the server. It aborts `stopped`. */
  onLeave: () => void;
  /** Whether the command has nothing else to do than to wait for the answer. */
  leavesWithLater?: boolean;
  /** Withdraws every question, and all that wait, once it aborts. */
  stopped: AbortSignal;
}
