import { type Readable, Writable } from 'node:stream';
import type { Clock } from '../lib/clock.ts';
import type { Failpoint } from '../lib/failpoint.ts';
import type { Logger } from '../lib/log.ts';
import type { Writer } from '../store/transaction.ts';
import {
  type ChildExit,
  type BarrierProcess,
  type BarrierCommand,
  type BarrierStart,
  exitInside,
  type KeptSandbox,
  abandonLeader,
  startAtBarrier,
  startOf,
  watchStart,
} from './spawn-barrier.ts';
import { withGitSettings } from './environment.ts';
import {
  groupRuns,
  isReachable,
  killCarriers,
  MARKER_VARIABLE,
  membersOf,
  signal,
  signalInside,
} from './identity.ts';
import type { Keeper } from './keeper.ts';
import { type Ledger, SHIM_ROW } from './ledger.ts';
import type { ChildDescription } from './shim/frames.ts';
import type { HeldProcess } from './shim/link.ts';
import type { Shim } from './shim/shim.ts';
import { processTable } from './this-machine.ts';

export type { ChildExit } from './spawn-barrier.ts';

/** How long to wait, in milliseconds, for a killed process to exit before the signal is sent again. */
const KILLED_MS = 1000;

/** A process group that the supervisor started. */
export interface Child {
  readonly pid: number;
  /** Whether another server may take it over. */
  readonly outlives: boolean;
  /** Its sandbox; null: it has none. */
  readonly sandbox: KeptSandbox | null;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Resolves when the leader has exited, or was given up; the processes that it started may still run. */
  readonly exited: Promise<ChildExit>;
  /** Resolves when the rest of the group has ended after its leader, with the pids of other users that are left. */
  readonly rest: Promise<readonly number[]>;
  /**
   * Writes a message to its input; resolves when the input has taken the message, or is closed. In the shim, the input takes
   * one message of each key, also if two servers send it, and takes it whole or not at all.
   */
  writeInput(message: string, key: string): Promise<void>;
  /** Says that an output (default: stdout) up to this offset is handled: the shim keeps the rest for another server. */
  acknowledge(upTo: number, stream?: 'stdout' | 'stderr'): void;
  /**
   * Ends the outputs once nothing more comes, even if processes that have left the group hold the pipes. False: a child of
   * this process, whose pipes the caller closes.
   */
  endOutputs(): boolean;
  /** Says that the end of a child with `isStored` is on disk. */
  forget(): void;
  /**
   * Ends the whole group: SIGTERM, and after `graceMs` SIGKILL. Resolves when no member is left that accepts the
   * signals, with the pids of those that do not, because they run as another user.
   */
  end(graceMs: number): Promise<readonly number[]>;
}

/** A command for the supervisor, which adds the marker and the variables of its directory to its environment. */
export interface ChildCommand extends BarrierCommand {
  /** A description for the ledger and the log. */
  what: string;
  /** Starts it in the shim, if there is one: the child outlives the server by the time that the shim waits for another. */
  outlives?: boolean;
  /** Keeps all its output, and its exit, for another server until this one has stored them. */
  isStored?: boolean;
  /** A variable of its environment, as `NAME=value`: with the group, all processes end that have this variable. */
  mark?: string;
}

/** A child that waits at the barrier: it has a pid and is on the keeper's list, but its command does not run. */
export interface Waiting {
  readonly pid: number;
  /** Adds the child to the ledger. */
  register(tx: Writer): void;
  /** Lets the command run. Must be called once `register` is on disk. */
  open(): Child;
  /** Ends the child, whose command never runs. */
  discard(): void;
}

interface Group extends ChildDescription {
  readonly process: BarrierProcess;
  /** The end of the processes that have the mark. */
  marked?: Promise<unknown>;
  /** Whether the leader exited before this server took it over, and the rest of the group with it. */
  readonly isGone: boolean;
  /** The result of `end` with a grace period, once it was called. */
  ending?: Promise<readonly number[]>;
}

interface SupervisorDependencies {
  keeper: Keeper;
  ledger: Ledger;
  clock: Clock;
  failpoint: Failpoint;
  log: Logger;
  marker: string;
  /** Starts the commands that outlive the server. Without it all of them end with the server. */
  shim?: Shim | null;
  /** Returns variables that every child in a directory gets. */
  variablesAt: (directory: string) => Record<string, string>;
}

/** Starts child processes, in groups that end with the server at the latest. */
export class Supervisor {
  readonly #deps: SupervisorDependencies;
  readonly #live = new Set<Child>();
  /** The processes of children that were left to the next server. */
  readonly #left = new Set<number>();
  #outOfReach = 0;

  constructor(deps: SupervisorDependencies) {
    this.#deps = deps;
  }

  /** Whether there is a shim, in which children outlive this server. */
  get canOutlive(): boolean {
    return Boolean(this.#deps.shim);
  }

  get live(): number {
    return this.#live.size;
  }

  /** Whether a process belongs to a group of this server that still runs. */
  owns(pid: number): boolean {
    const group = processTable.find(pid)?.group;
    return [...this.#live].some((child) => child.pid === group);
  }

  /** The number of processes of other users that were left running in groups of this server, since its start. */
  get outOfReach(): number {
    return this.#outOfReach;
  }

  /**
   * Starts a command in a group of its own. It runs only once the group is on the keeper's list and on disk. Rejects if
   * it cannot be started; a command that does not exist exits with 127. `onRegister` runs in the transaction that
   * registers the child.
   */
  async start(
    command: ChildCommand,
    onRegister?: (tx: Writer, pid: number) => void,
  ): Promise<Child> {
    const started = await this.#startSomewhere(command);
    if (started instanceof Error)
      throw new Error(`cannot start the process "${command.what}"`, { cause: started });
    const waiting = this.#waitingOf(started, command);
    try {
      await this.#deps.ledger.transact((tx) => {
        onRegister?.(tx, waiting.pid);
        waiting.register(tx);
      });
    } catch (error) {
      waiting.discard();
      throw error;
    }
    return waiting.open();
  }

  /**
   * Starts a child that waits at the barrier, for a caller that stores it together with other rows. Undefined: the
   * system started no process, and `start` reports the reason.
   */
  wait(command: ChildCommand): Waiting | undefined {
    const started = this.#startAtBarrier(command);
    return started instanceof Promise ? undefined : this.#waitingOf(started, command);
  }

  /** The variables that commands in a directory get, also where an agent starts them itself. */
  variablesAt(directory: string): Record<string, string> {
    return this.#deps.variablesAt(directory);
  }

  /** Takes over a child of an earlier server, see `Shim.attach`. Null if the shim does not have its output from there on. */
  attach(pid: number, ...from: [stdout: number, stderr?: number]): Child | null {
    const held = this.#deps.shim?.attach(pid, ...from);
    return held ? this.#followHeld(held) : null;
  }

  /**
   * Ends the children of an earlier server that were not taken over, with all that they started, and the shim if it has no
   * other: the next one is of this build, and has the limits of this server.
   */
  async endUnattached(): Promise<void> {
    const { shim } = this.#deps;
    const ended = shim?.held.map(async ({ pid, stdout }) => {
      const held = shim.attach(pid, stdout.oldest);
      if (!held) return;
      const child = this.#followHeld(held);
      for (const output of [child.stdout, child.stderr]) output.destroy();
      await child.end(0);
      await child.rest;
      await killCarriers(`${MARKER_VARIABLE}=${held.marker}`);
      child.forget();
    });
    await Promise.all(ended ?? []);
    if (this.live === 0) await shim?.end();
  }

  #followHeld({ process, about, isGone }: HeldProcess): Child {
    return this.#follow({ process, ...about, isGone });
  }

  async #startSomewhere(command: ChildCommand): Promise<BarrierProcess | Error> {
    const { shim, failpoint } = this.#deps;
    if (!command.outlives || !shim) return this.#startAtBarrier(command);
    const starting = shim.start(this.#startOf(command), aboutOf(command));
    const started = await starting.catch((error: unknown) => error as Error);
    failpoint('child.gated');
    return started;
  }

  #startAtBarrier(command: ChildCommand): BarrierProcess | Promise<Error> {
    const { keeper, marker, failpoint } = this.#deps;
    keeper.ensure();
    const start = this.#startOf(command);
    const env = { ...start.env, [MARKER_VARIABLE]: marker };
    const started = startAtBarrier({ ...start, env });
    failpoint('child.gated');
    // In the same turn of the event loop, so that the keeper learns of the child before anything else can happen.
    if (!(started instanceof Promise)) keeper.add(started.leader);
    return started;
  }

  /** Without the marker, which is the one of the process that starts it. */
  #startOf(command: ChildCommand): BarrierStart {
    const env = {
      ...withGitSettings(command.env, command.sandbox?.gitSettings ?? {}),
      ...this.#deps.variablesAt(command.cwd),
    };
    return startOf({ ...command, env });
  }

  #waitingOf(process: BarrierProcess, command: ChildCommand): Waiting {
    const { keeper, failpoint } = this.#deps;
    const { leader } = process;
    const { sandbox } = command;
    return {
      pid: leader.pid,
      register: (tx) => this.#register(tx, process, command),
      open: () => {
        failpoint('child.registered');
        if (sandbox) watchStart(process, sandbox);
        const child = this.#follow({ process, ...aboutOf(command), isGone: false });
        process.open();
        return child;
      },
      discard: () => {
        signal(-leader.pid, 'SIGKILL');
        keeper.remove(leader.pid);
        process.close();
        process.forget();
      },
    };
  }

  /** Adds a child to the ledger, and the shim that holds it. */
  #register(tx: Writer, { leader }: BarrierProcess, { what, outlives }: ChildCommand): void {
    const { ledger, shim } = this.#deps;
    const holder = outlives ? shim?.process : null;
    // Behind a crash of all, the next server finds by it what carries the marker of the shim.
    if (holder) ledger.add(tx, holder.identity, SHIM_ROW, holder.marker);
    ledger.add(tx, leader, what, holder?.marker);
  }

  #follow(group: Group): Child {
    const child = this.#childOf(group);
    this.#live.add(child);
    this.#deps.log.debug({ pid: child.pid, what: group.what }, 'started');
    void this.#release(group, child);
    return child;
  }

  #childOf(group: Group): Child {
    const { process } = group;
    const { leader, exit } = process;
    return {
      pid: leader.pid,
      outlives: process.outlives,
      sandbox: group.sandbox,
      stdin: process.stdin ?? new Writable().end(),
      stdout: process.stdout,
      stderr: process.stderr,
      exited: group.sandbox ? exit.promise.then(exitInside) : exit.promise,
      // The leader's remaining processes are killed at once, or have the grace period of an `end` that is under way.
      rest: exit.promise.catch(() => undefined).then(() => group.ending ?? this.#end(group, 0)),
      writeInput: (message, key) => process.writeInput(message, key),
      acknowledge: (upTo, stream = 'stdout') => process.acknowledge(upTo, stream),
      endOutputs: () => process.endOutputs(),
      forget: () => process.forget(),
      end: async (graceMs) => {
        // Such as an adapter whose output can no longer be stored.
        if (this.#left.has(leader.pid)) return [];
        const ended = this.#end(group, graceMs);
        if (graceMs > 0) group.ending = ended;
        return ended;
      },
    };
  }

  /** Removes the group from the lists once the rest of it has ended. */
  async #release({ process, what, isStored }: Group, child: Child): Promise<void> {
    const left = await child.rest;
    this.#outOfReach += left.length;
    if (left.length > 0)
      this.#deps.log.warn(
        { pid: child.pid, what, left },
        'cannot signal the remaining processes of a child, because they belong to another user',
      );
    this.#live.delete(child);
    this.#deps.keeper.remove(process.leader.pid);
    this.#deps.ledger.remove(process.leader);
    if (!isStored) process.forget();
  }

  /** Leaves children in the shim to the next server: from here on, nothing ends them. */
  leave(pids: ReadonlySet<number | null>): void {
    for (const child of this.#live)
      if (child.outlives && pids.has(child.pid)) {
        this.#live.delete(child);
        this.#left.add(child.pid);
      }
  }

  /** Ends every child; resolves when none is left. */
  async endAll(graceMs: number): Promise<void> {
    await Promise.all([...this.#live].map((child) => child.end(graceMs)));
  }

  async #end(group: Group, graceMs: number): Promise<readonly number[]> {
    const left = group.isGone ? [] : await this.#endMembers(group, graceMs);
    if (!group.isGone) abandonLeader(group.process);
    if (group.mark) await (group.marked ??= killCarriers(group.mark));
    return left;
  }

  async #endMembers(group: Group, graceMs: number): Promise<readonly number[]> {
    const { pid } = group.process.leader;
    if (graceMs > 0) await this.#terminate(group, graceMs);
    for (;;) {
      const members = await membersOf(pid);
      if (!members.some(isReachable)) return members;
      signal(-pid, 'SIGKILL');
      await this.#while(
        async () =>
          (!group.process.hasExited && isReachable(pid)) ||
          (await membersOf(pid)).some(isReachable),
        KILLED_MS,
      );
    }
  }

  /** Sends SIGTERM, and waits for the end of the group for at most `graceMs`. */
  async #terminate(group: Group, graceMs: number): Promise<void> {
    const { pid } = group.process.leader;
    const runs = async () => !group.process.hasExited || groupRuns(pid);
    if (!group.sandbox) {
      if (signal(-pid, 'SIGTERM') !== 'gone') await this.#while(runs, graceMs);
      return;
    }
    let isSent = false;
    await this.#while(async () => {
      // A sandbox that is starting has no command yet that could get the signal.
      isSent ||= await signalInside(pid, 'SIGTERM');
      return runs();
    }, graceMs);
  }

  /** Waits while `isSo` returns true, for at most `ms`. It polls, because the kernel sends no notification. */
  async #while(isSo: () => Promise<boolean>, ms: number): Promise<void> {
    const deadline = this.#deps.clock.monotonic() + ms;
    const { first, longest } = processTable.pause;
    for (let pause = first; (await isSo()) && this.#deps.clock.monotonic() < deadline; pause *= 2)
      await this.#deps.clock.sleep(Math.min(pause, longest));
  }
}

/** Returns the facts about a child that its end depends on, for the shim and for this server. */
function aboutOf({ what, sandbox, isStored = false, mark }: ChildCommand): ChildDescription {
  return { what, sandbox: sandbox?.kept ?? null, isStored, mark };
}
