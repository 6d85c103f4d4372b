import { notifyManager } from '../../core/children/notify.ts';
import type { Clock } from '../../core/lib/clock.ts';
import { findProgram } from '../../core/lib/find-program.ts';
import { plain } from '../../core/lib/plain.ts';

/** The variables that a service manager passes to the server only: a child with them could pose as the server. */
const VARIABLES = [
  'NOTIFY_SOCKET',
  'WATCHDOG_USEC',
  'WATCHDOG_PID',
  'LISTEN_FDS',
  'LISTEN_FDNAMES',
  'LISTEN_PID',
] as const;

interface Needs {
  clock: Clock;
  /** Called with the reason if a message does not reach the manager. */
  onTrouble: (message: string) => void;
}

/** The environment without what a service manager has handed to this process. */
export function withoutManager(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const taken: ReadonlySet<string> = new Set(VARIABLES);
  return Object.fromEntries(Object.entries(env).filter(([name]) => !taken.has(name)));
}

/** Reports the state of the server to a service manager with the protocol of systemd. Messages arrive in order. */
export class Notifier {
  readonly #send: (assignments: readonly string[]) => Promise<void>;
  readonly #needs: Needs;
  /** Half the time after which the manager takes the server for hung, in milliseconds; null without a watchdog. */
  readonly #pingMs: number | null;
  #last: Promise<void> = Promise.resolve();

  /** Takes the variables of the manager out of `env`; null if no manager expects messages. */
  static takenFrom(env: NodeJS.ProcessEnv, needs: Needs): Notifier | null {
    const { NOTIFY_SOCKET: socket, WATCHDOG_USEC: usec, WATCHDOG_PID: pid } = env;
    for (const name of VARIABLES) delete env[name];
    if (!socket) return null;
    const program = findProgram('systemd-notify', env.PATH);
    if (program === null) {
      needs.onTrouble(
        'systemd-notify not found on PATH: the service manager is not notified when the server is ready',
      );
      return null;
    }
    const isOurs = pid === undefined || Number(pid) === process.pid;
    const watchdogMs = isOurs ? Number(usec) / 1000 : 0;
    return new Notifier(
      (assignments) => notifyManager(program, socket, assignments),
      watchdogMs,
      needs,
    );
  }

  private constructor(
    send: (assignments: readonly string[]) => Promise<void>,
    watchdogMs: number,
    needs: Needs,
  ) {
    this.#send = send;
    this.#needs = needs;
    this.#pingMs = watchdogMs > 0 ? watchdogMs / 2 : null;
  }

  ready(status: string): Promise<void> {
    return this.#notify('READY=1', statusOf(status));
  }

  /** Before the configuration is read again; `ready` follows. */
  reloading(): Promise<void> {
    return this.#notify('RELOADING=1');
  }

  /** The server stops, which takes at most `ms`. */
  stopping(ms: number): Promise<void> {
    return this.#notify(
      'STOPPING=1',
      `EXTEND_TIMEOUT_USEC=${Math.ceil(ms) * 1000}`,
      statusOf('stopping'),
    );
  }

  /** The server could not start, and will end. */
  failed(why: string): Promise<void> {
    return this.#notify(statusOf(why));
  }

  /**
   * Pings the manager as long as the event loop turns and `prove` resolves: where either hangs, the manager ends the
   * server and starts it again. Disposing it ends that.
   */
  watch(prove: () => Promise<void>, status: () => string): Disposable {
    if (this.#pingMs === null) return { [Symbol.dispose]: () => undefined };
    let isProving = false;
    return this.#needs.clock.every(this.#pingMs, () => {
      if (isProving) return;
      isProving = true;
      void prove()
        .then(() => this.#notify('WATCHDOG=1', statusOf(status())))
        .catch((error: unknown) =>
          this.#needs.onTrouble(`no watchdog ping sent: ${(error as Error).message}`),
        )
        .finally(() => (isProving = false));
    });
  }

  #notify(...assignments: readonly string[]): Promise<void> {
    this.#last = this.#last.then(() =>
      this.#send(assignments).catch((error: unknown) =>
        this.#needs.onTrouble(`cannot notify the service manager: ${(error as Error).message}`),
      ),
    );
    return this.#last;
  }
}

function statusOf(text: string): string {
  return `STATUS=${plain(text).replaceAll(/\s+/g, ' ')}`;
}
