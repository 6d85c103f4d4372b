import type { Approval } from '../api/approvals.ts';
import { agentEnvironment } from '../children/environment.ts';
import type { Supervisor } from '../children/supervisor.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';

/** So many approvals wait for the command; what comes beyond that is not told of. */
const MAX_WAITING = 256;
/** A command that runs for longer is ended: the next approval is waiting for it. */
const LIMIT_MS = 60_000;
const GRACE_MS = 2000;

interface Dependencies {
  supervisor: Supervisor;
  clock: Clock;
  logger: Logger;
  /** Where the command runs. */
  directory: string;
  /** The command just now; null: nobody is told. */
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

  /** Tells people of an approval, as soon as the command is free. */
  tell(approval: Approval): void {
    if (this.#stopped || this.#given.command() === null) return;
    if (this.#waiting.length >= MAX_WAITING) {
      const message = `${MAX_WAITING} approvals wait for notify_command already: nobody is told of this one`;
      this.#given.logger.warn({ approval_id: approval.id }, message);
      return;
    }
    this.#waiting.push(approval);
    if (!this.#isRunning) void this.#work();
  }

  /** Nobody is told of anything any more. What runs is ended by the supervisor. */
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

  /** Nothing where it was resolved meanwhile. The approval goes as JSON to the stdin of the command; nothing of it is among its arguments. */
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
