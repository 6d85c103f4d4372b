import type { Approval } from '../api/approvals.ts';
import { agentEnvironment } from '../children/environment.ts';
import type { Supervisor } from '../children/supervisor.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';

/** The maximum number of approvals that wait for the command. It is not run for further ones. */
const MAX_WAITING = 256;
/** The time limit of the command, in ms. The next approval waits for its end. */
const LIMIT_MS = 60_000;
const GRACE_MS = 2000;

interface Dependencies {
  supervisor: Supervisor;
  clock: Clock;
  logger: Logger;
  /** The working directory of the command. */
  directory: string;
  /** Returns the configured command; null: there is none. */
  command: () => string | null;
  isPending: (approval: Approval) => boolean;
}

/**
 * Runs `[approvals] notify_command`, one at a time, so that an agent with many requests does not start many shells at
 * once. An approval that was resolved while it waited is skipped.
 */
export class Notifier {
  readonly #given: Dependencies;
  readonly #waiting: Approval[] = [];
  #isRunning = false;
  #stopped = false;

  constructor(given: Dependencies) {
    this.#given = given;
  }

  /** Queues an approval, for which the command runs after those queued before. */
  notify(approval: Approval): void {
    if (this.#stopped || this.#given.command() === null) return;
    if (this.#waiting.length >= MAX_WAITING) {
      const message = `${MAX_WAITING} approvals wait for notify_command already: it is not run for this one`;
      this.#given.logger.warn({ approval_id: approval.id }, message);
      return;
    }
    this.#waiting.push(approval);
    if (!this.#isRunning) void this.#runQueued();
  }

  /** Starts no further command. The supervisor ends one that runs. */
  stop(): void {
    this.#stopped = true;
    this.#waiting.length = 0;
  }

  async #runQueued(): Promise<void> {
    this.#isRunning = true;
    for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) {
      const command = this.#given.command();
      if (command !== null) await this.#run(command, next);
    }
    this.#isRunning = false;
  }

  /**
   * Runs the command, unless the approval was resolved meanwhile. The command reads the approval as JSON from stdin, so
   * that no part of it is ever parsed by the shell.
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
