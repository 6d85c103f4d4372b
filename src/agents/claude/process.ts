import type { Child, Supervisor } from '../../core/children/supervisor.ts';
import type { Clock } from '../../core/lib/clock.ts';
import { endAgent, agentEndOf, lossOf, replyTo, startAgent, tailOf } from '../agent-process.ts';
import { Connection, type Handlers } from './connection.ts';

/** The time limit of control requests, which claude answers soon, also on a busy machine. */
const REQUEST_MS = 120_000;

export interface Start {
  command: string;
  args: readonly string[];
  cwd: string;
  env: Record<string, string>;
  /** For the ledger and the log. */
  what: string;
  supervisor: Supervisor;
  clock: Clock;
}

/** One `claude`, and the connection to it. */
export class ClaudeProcess {
  readonly pid: number;
  /** Resolves when it is gone and all its output was read, with why it ended. */
  readonly gone: Promise<string>;
  readonly isLost: () => boolean;
  readonly connection: Connection;
  readonly #child: Child;
  readonly #clock: Clock;
  readonly #stderr: () => string;

  private constructor(child: Child, clock: Clock, handlers: Handlers) {
    this.#child = child;
    this.#clock = clock;
    this.pid = child.pid;
    this.#stderr = tailOf(child.stderr);
    this.connection = new Connection(child, handlers);
    const { readProgress: heard, nonProtocol } = this.connection;
    this.isLost = lossOf(child, heard);
    this.gone = agentEndOf(child, { heard, stderr: () => this.stderr || nonProtocol.last, clock });
  }

  /** Throws {@link ProviderError} where it cannot be started. */
  static async start(start: Start, handlers: Handlers): Promise<ClaudeProcess> {
    const child = await startAgent(start.supervisor, start, 'claude: the agent');
    return new ClaudeProcess(child, start.clock, handlers);
  }

  /** Sends a control request that claude answers soon. Throws as `replyTo` does. */
  ask(subtype: string, more: object = {}): Promise<unknown> {
    const answer = this.connection.request(subtype, more);
    const limits = { ms: REQUEST_MS, clock: this.#clock, gone: this.gone };
    return replyTo({ provider: 'claude', method: subtype, answer }, limits);
  }

  /** Ends it and all it started. A turn goes on when the input ends, so a process that is at one is not waited for. */
  end(graceMs: number, isBusy: boolean): Promise<void> {
    return endAgent(this.#child, { graceMs, isIdle: !isBusy, clock: this.#clock });
  }

  /** The last lines of stderr: claude writes the reason of some failures there alone. */
  get stderr(): string {
    return this.#stderr();
  }
}
