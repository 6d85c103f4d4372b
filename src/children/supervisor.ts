import { execa } from 'execa';
import type { ChildProcess } from 'node:child_process';
import { type Readable, Writable } from 'node:stream';
import type { Clock } from '../lib/clock.ts';
import type { Failpoint } from '../lib/failpoint.ts';
import type { Logger } from '../lib/log.ts';
import type { Writer } from '../store/transaction.ts';
import { groupRuns, type Identity, identify, isAlive, membersOf, signal } from './identity.ts';
import type { Keeper } from './keeper.ts';
import type { Ledger } from './ledger.ts';
import { MARKER_VARIABLE } from './marker.ts';

/**
 * The gate: a child begins as a shell that waits for a line on descriptor 3. If the server dies before the child is on
 * the keeper's list, the shell reads the end of the file and exits.
 */
const GATE = 'IFS= read -r go <&3 || exit 125; exec 3<&-; exec "$@"';

/** How long to wait, in milliseconds, for a killed process to exit before the signal is sent again. */
const KILLED_MS = 1000;

/** How a child ended. Both are null if it could not be ended because it runs as another user, and was given up. */
export interface ChildExit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** A process group that the supervisor started. */
export interface Child {
  readonly pid: number;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Resolves when the leader has exited, or was given up; the processes that it started may still run. */
  readonly exited: Promise<ChildExit>;
  /**
   * Ends the whole group: SIGTERM, and after `graceMs` SIGKILL. Resolves when no member is left that accepts the
   * signals, with the pids of those that do not, because they run as another user.
   */
  end(graceMs: number): Promise<readonly number[]>;
}

/** A command for {@link Supervisor.start}. */
export interface ChildCommand {
  command: string;
  args: readonly string[];
  cwd: string;
  /** The whole environment; the marker is added to it. */
  env: Record<string, string>;
  /** A description for the ledger and the log. */
  what: string;
  /** `none`: the command reads the end of the file at once. */
  stdin?: 'pipe' | 'none';
  /** Runs in the transaction that registers the child, before its command starts. */
  onRegister?: (tx: Writer, pid: number) => void;
}

/** A started group; at first its leader waits behind the gate. */
interface Group {
  readonly process: ChildProcess;
  readonly leader: Identity;
  readonly exit: PromiseWithResolvers<ChildExit>;
  /** The result of `end` with a grace period, once it was called. */
  ending: Promise<readonly number[]> | undefined;
}

interface SupervisorDependencies {
  keeper: Keeper;
  ledger: Ledger;
  clock: Clock;
  failpoint: Failpoint;
  log: Logger;
  marker: string;
}

/** Starts child processes, in groups that end with the server at the latest. */
export class Supervisor {
  readonly #given: SupervisorDependencies;
  readonly #live = new Set<Child>();
  #outOfReach = 0;

  constructor(given: SupervisorDependencies) {
    this.#given = given;
  }

  get live(): number {
    return this.#live.size;
  }

  /** The number of processes of other users that were left running in groups of this server, since its start. */
  get outOfReach(): number {
    return this.#outOfReach;
  }

  /**
   * Starts a command in a group of its own. It runs only once the group is on the keeper's list and on disk. Rejects if
   * it cannot be started; a command that does not exist exits with 127.
   */
  async start(command: ChildCommand): Promise<Child> {
    this.#given.keeper.ensure();
    const group = await startGated(command, this.#given.marker);
    this.#given.failpoint('child.gated');
    await this.#register(group.leader, command);
    this.#given.failpoint('child.registered');
    const child = this.#childOf(group);
    openGate(group, child);
    this.#live.add(child);
    this.#given.log.debug({ pid: child.pid, what: command.what }, 'started');
    void this.#release(group, child, command.what);
    return child;
  }

  async #register(leader: Identity, { what, onRegister }: ChildCommand): Promise<void> {
    this.#given.keeper.add(leader);
    try {
      await this.#given.ledger.add(leader, what, onRegister);
    } catch (error) {
      signal(-leader.pid, 'SIGKILL');
      this.#given.keeper.remove(leader.pid);
      throw error;
    }
  }

  #childOf(group: Group): Child {
    const { process, leader, exit } = group;
    return {
      pid: leader.pid,
      stdin: process.stdin ?? new Writable().end(),
      stdout: process.stdout as Readable,
      stderr: process.stderr as Readable,
      exited: exit.promise,
      end: (graceMs) => {
        const ended = this.#end(group, graceMs);
        if (graceMs > 0) group.ending = ended;
        return ended;
      },
    };
  }

  /** Ends the rest of the group after the leader has exited, and removes it from the lists. */
  async #release(group: Group, child: Child, what: string): Promise<void> {
    const { leader } = group;
    await child.exited.catch(() => undefined);
    // The leader's remaining processes are killed at once, or have the grace period of an `end` that is under way.
    const left = await (group.ending ?? this.#end(group, 0));
    this.#outOfReach += left.length;
    if (left.length > 0)
      this.#given.log.warn(
        { pid: child.pid, what, left },
        'processes of another user remain in the group of a child: the server may not signal them',
      );
    this.#live.delete(child);
    this.#given.keeper.remove(leader.pid);
    await this.#given.ledger.remove(leader).catch(() => undefined);
  }

  /** Ends every child; resolves when none is left. */
  async endAll(graceMs: number): Promise<void> {
    await Promise.all([...this.#live].map((child) => child.end(graceMs)));
  }

  async #end(group: Group, graceMs: number): Promise<readonly number[]> {
    const left = await this.#endMembers(group.leader, graceMs);
    letGo(group);
    return left;
  }

  async #endMembers({ pid }: Identity, graceMs: number): Promise<readonly number[]> {
    if (graceMs > 0 && signal(-pid, 'SIGTERM') !== 'gone')
      await this.#while(() => groupRuns(pid), graceMs);
    while (reachable(pid).length > 0) {
      signal(-pid, 'SIGKILL');
      await this.#while(() => reachable(pid).length > 0, KILLED_MS);
    }
    return membersOf(pid);
  }

  /** Waits while `isSo` returns true, for at most `ms`. It polls, because the kernel sends no notification. */
  async #while(isSo: () => boolean, ms: number): Promise<void> {
    const deadline = this.#given.clock.monotonic() + ms;
    for (let pause = 2; isSo() && this.#given.clock.monotonic() < deadline; pause *= 2)
      await this.#given.clock.sleep(Math.min(pause, 50));
  }
}

/** Starts the shell that waits at the gate. Throws if the system starts no process. */
async function startGated(command: ChildCommand, marker: string): Promise<Group> {
  const stdin = command.stdin === 'none' ? 'ignore' : 'pipe';
  const subprocess = execa('/bin/sh', ['-c', GATE, 'cadre', command.command, ...command.args], {
    cwd: command.cwd,
    env: { ...command.env, [MARKER_VARIABLE]: marker },
    extendEnv: false,
    detached: true,
    cleanup: false,
    buffer: false,
    reject: false,
    stdio: [stdin, 'pipe', 'pipe', 'pipe'],
  });
  // execa's own promise is not used, because it also waits for other processes that hold the pipes open.
  subprocess.catch(() => undefined);
  const process = subprocess.nodeChildProcess;
  const exit = Promise.withResolvers<ChildExit>();
  process.once('exit', (code, name) => exit.resolve({ code, signal: name }));
  process.once('error', exit.reject);
  exit.promise.catch(() => undefined);
  const leader = process.pid === undefined ? undefined : identify(process.pid);
  if (leader) return { process, leader, exit, ending: undefined };
  // If the system refuses before there is a process, no event reports it.
  const cause = await Promise.race([
    exit.promise.catch((e: unknown) => e),
    subprocess.then((result) => result.cause),
  ]);
  throw new Error(`cannot start ${command.what}`, { cause });
}

/** Lets the command run. */
function openGate({ process }: Group, child: Child): void {
  const gate = process.stdio[3] as Writable;
  // A child that ends early is reported by its exit, so a failed write to its pipes must not end the server.
  for (const stream of [child.stdin, gate]) stream.on('error', () => undefined);
  gate.end('go\n');
}

/** Stops waiting for a leader that only another user can end. */
function letGo({ process, leader, exit }: Group): void {
  if (!isAlive(leader) || signal(leader.pid, 0) !== 'refused') return;
  for (const stream of process.stdio) stream?.destroy();
  process.unref();
  exit.resolve({ code: null, signal: null });
}

/** Returns the running members of a group that accept this user's signals. */
function reachable(group: number): number[] {
  return membersOf(group).filter((pid) => signal(pid, 0) !== 'refused');
}
