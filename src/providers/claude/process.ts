import type { Child, Supervisor } from '../../children/supervisor.ts';
import type { Clock } from '../../lib/clock.ts';
import { answered, endOf, exitsWithin, tailOf } from '../agent-process.ts';
import { ProviderError } from '../provider.ts';
import { Connection, type Handlers, Refusal } from './connection.ts';

/** Anything but a turn is answered soon, also on a machine that is busy. */
const REQUEST_MS = 120_000;
/** One that is at no turn goes by itself when it reads the end of its input. */
const IDLE_EXIT_MS = 500;

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
  /** Resolves when it is gone and all it said was heard, with what is known of why. */
  readonly gone: Promise<string>;
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
    const { heard, strays } = this.connection;
    const stderr = () => this.#stderr() || strays.last;
    this.gone = endOf(child, { heard, stderr, clock });
  }

  /** Throws {@link ProviderError} where it cannot be started. */
  static async start(given: Start, handlers: Handlers): Promise<ClaudeProcess> {
    try {
      return new ClaudeProcess(await given.supervisor.start(given), given.clock, handlers);
    } catch (error) {
      throw new ProviderError(
        'provider_unavailable',
        `claude: it could not be started in ${given.cwd}`,
        { cause: error },
      );
    }
  }

  /** Asks it for something that it answers at once. Throws {@link ProviderError}, caused by its refusal if it did. */
  async ask(subtype: string, more: object = {}): Promise<unknown> {
    const limits = { ms: REQUEST_MS, clock: this.#clock, gone: this.gone };
    try {
      return await answered(this.connection.request(subtype, more), limits);
    } catch (error) {
      const { message } = error as Error;
      const said = error instanceof Refusal ? `it refused: ${message}` : message;
      throw new ProviderError('provider_unavailable', `claude: ${subtype} failed: ${said}`, {
        cause: error,
      });
    }
  }

  /** Ends it and all it started. A turn goes on when the input ends: one that is at a turn is told to end at once. */
  async end(graceMs: number, isBusy: boolean): Promise<void> {
    this.#child.stdin.end();
    if (graceMs > 0 && !isBusy)
      await exitsWithin(this.#child, Math.min(graceMs, IDLE_EXIT_MS), this.#clock);
    await this.#child.end(graceMs);
  }

  /** Last lines of stderr: the only place where some failures are told. */
  get stderr(): string {
    return this.#stderr();
  }
}
