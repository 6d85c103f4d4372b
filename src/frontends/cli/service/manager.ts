import { AppError, unreachableError } from '../../../api/errors.ts';
import { findProgram } from '../../../core/lib/find-program.ts';
import { plain } from '../../../core/lib/plain.ts';
import type { ServiceStart } from '../../service/start.ts';
import { type Ended, type Program, runAndRead } from '../run-program.ts';

/** The managers that a service can be installed with. */
export const managerNames = ['systemd', 'launchd'] as const;
export type ManagerName = (typeof managerNames)[number];

export interface ServiceState {
  state: 'running' | 'starting' | 'stopping' | 'stopped' | 'failed';
  /** The process of the server; null where none runs. */
  pid: number | null;
  /** Whether the service starts by itself at the next login. */
  enabled: boolean;
  /** The detail that the manager or the server reports; null if there is none. */
  detail: string | null;
}

/** A program that starts services of a user, and starts them again. */
export interface Manager {
  name: ManagerName;
  file: string;
  text: (start: ServiceStart) => string;
  /** Whether such a text names a data directory, as an absolute path. Null if it names none: the default one. */
  names: (text: string, directory: string) => boolean | null;
  /** Throws `unreachable`, with the reason, where the manager does not run for this user. */
  assertReachable: () => Promise<void>;
  /** Reads the file, and starts the service at each login from now on. Returns the commands that it ran. */
  enable: () => Promise<string[]>;
  /** Starts the service and waits until it is ready. Throws with the reason where it is not. */
  start: () => Promise<string[]>;
  stop: () => Promise<string[]>;
  /** Starts the service again, as `start` does. `handsOver`: the server leaves its running turns to the next one. */
  restart: (handsOver: boolean) => Promise<string[]>;
  /** Stops the service and forgets it; `removeFile` is called on the way. */
  remove: (removeFile: () => void) => Promise<string[]>;
  /** Null where the manager does not know the service or cannot be asked. */
  state: () => Promise<ServiceState | null>;
  /** The program that prints the log of the service, the newest `lines` lines. */
  log: (lines: number, isFollowed: boolean, file: string) => Program;
  /** A remark on the times at which the service runs; null for no remark. */
  remark: () => string | null;
  /** The commands by which a person starts the service again. */
  restartCommand: string;
}

export class Runner {
  readonly #env: NodeJS.ProcessEnv;

  constructor(env: NodeJS.ProcessEnv) {
    this.#env = env;
  }

  /** Runs a program of the manager; returns how it ended. Throws `unreachable` where it is not installed. */
  async run(...[command, ...args]: [string, ...string[]]): Promise<Ended> {
    if (findProgram(command, this.#env.PATH) === null)
      throw unreachableError(
        `cannot manage a service, because ${command} is not installed: start the server without a service, with cadre serve --detach`,
      );
    // The current directory may no longer exist, or this user may have no access to it.
    return runAndRead({ command, args, env: this.#env, cwd: '/' });
  }

  /** As `run`; returns the command line. Throws `internal` with its output if it fails. */
  async must(...words: [string, ...string[]]): Promise<string> {
    const { code, stdout, stderr } = await this.run(...words);
    const line = words.join(' ');
    if (code === 0) return line;
    const output = plain((stderr.trim() || stdout.trim()).split('\n').slice(0, 3).join(' '));
    throw new AppError('internal', `${line} exited with code ${code}: ${output}`);
  }
}

/** The program that prints the last lines of a file, and follows it also where it is emptied or replaced. */
export function followedFile(
  file: string,
  lines: number,
  isFollowed: boolean,
  env: NodeJS.ProcessEnv,
): Program {
  return { command: 'tail', args: ['-n', String(lines), ...(isFollowed ? ['-F'] : []), file], env };
}
