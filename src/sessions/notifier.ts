import type { Approval } from '../api/approvals.ts';
import { agentEnvironment } from '../children/environment.ts';
import type { Supervisor } from '../children/supervisor.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';

/** At most this many approvals wait for the command; the command is not run for more. */
const MAX_WAITING = 256;
/** How long the command may run, in ms: the next approval waits for its end. */
const LIMIT_MS = 60_000;
const GRACE_MS = 2000;

interface Dependencies {
  supervisor: Supervisor;
  clock: Clock;
  logger: Logger;
  /** Where the command runs. */
  directory: string;
  /** The command as it is configured now; null: there is none. */
  command: () => string | null;
  isPending: (approval: Approval) => boolean;
}

/**
 * Runs `[approvals] notify_command`, one at a time: an agent that asks for much starts no crowd of shells. An approval
 * that was resolved while it waited is passed over.
 */
export class Notifier {
  readonly #given: Dependencies;
  readonly #waiting: Approval[] = [];
  #isRunning = false;
  #stopped = false;

  constructor(given: Dependencies) {
    this.#given = given;
  }

  /** Runs the command for an approval, after those that wait already. */
  tell(approval: Approval): void {
    if (this.#stopped || this.#given.command() === null) return;
    if (this.#waiting.length >= MAX_WAITING) {
      const message = `${MAX_WAITING} approvals wait for notify_command already: it is not run for this one`;
      this.#given.logger.warn({ approval_id: approval.id }, message);
      return;
    }
    this.#waiting.push(approval);
    if (!this.#isRunning) void this.#work();
  }

  /** No command is started any more. The supervisor ends one that runs. */
  stop(): void {
    this.#stopped = true;
    this.#waiting.length = 0;
  }

  async #work(): Promise<void> {
    this.#isRunning = true;
    for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) {
      const command = this.#given.command();
      if (command !== null) await this.#run(command, next);
    }
    this.#isRunning = false;
  }

  /**
   * Runs the command, unless the approval was resolved meanwhile. The approval goes to its stdin as JSON: none of it may
   * come near the shell's words.
   */
  async #run(command: string, approval: Approval): Promise<void> {
    const { supervisor, clock, logger, directory, isPending } = this.#given;
    const about = { approval_id: approval.id };
    try {
      if (!isPending(approval)) return;
      const child = await supervisor.start({
        command: '/bin/sh',
        args: ['-c', command],
        cwd: directory,
        env: agentEnvironment(process.env, {}),
        what: 'notify_command',
      });
      using _limit = clock.after(LIMIT_MS, () => void child.end(GRACE_MS));
      child.stdout.resume();
      child.stderr.resume();
      child.stdin.end(`${JSON.stringify(approval)}\n`);
      const { code, signal } = await child.exited;
      if (code !== 0) logger.warn({ ...about, code, signal }, 'notify_command failed');
    } catch (error) {
      logger.warn({ ...about, err: error }, 'notify_command could not be started');
    }
  }
}
