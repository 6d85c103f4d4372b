import { createHash } from 'node:crypto';
import type { Stats } from 'node:fs';
import fs from 'node:fs/promises';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { conflictError } from '../../../api/errors.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import { selfCommand, SHIM } from '../../lib/self.ts';
import { startConnected } from '../detached.ts';
import { pickVariables } from '../environment.ts';
import {
  type Identity,
  isAlive,
  killCarriers,
  MARKER_VARIABLE,
  signal,
  untilGone,
} from '../identity.ts';
import type { BarrierProcess, BarrierStart } from '../spawn-barrier.ts';
import { type ChildDescription, type HeldRange, type HeldRecord, SHIM_VERSION } from './frames.ts';
import { type HeldProcess, ShimLink } from './link.ts';

/** The name has no version: a server has to find the shim of any other version. */
const SOCKET = 'shim.sock';
/** The longest path of a socket, in bytes (sun_path without the NUL at its end). */
const MAX_PATH_BYTES = process.platform === 'linux' ? 107 : 103;
/** A shim that has not noticed the end of the last server refuses connections, but not for so long, in milliseconds. */
const REFUSES_MS = 2000;
const RETRY_MS = 10;
/** The longest wait for a shim to be gone after it has closed its connection, in milliseconds. */
const EXITS_MS = 2000;

interface ShimDependencies {
  /** The data directory. A shim is found by it. */
  directory: string;
  /** The time that the shim waits for another server, in milliseconds. */
  graceMs: number;
  clock: Clock;
  log: Pick<Logger, 'warn'>;
}

export interface ShimIdentity {
  readonly identity: Identity;
  readonly marker: string;
}

interface Connected extends ShimIdentity {
  readonly link: ShimLink;
}

/**
 * The shim of a data directory: a process that holds the pipes of children, and outlives the server by the time that the server
 * has given it. It is started with the first child that needs it.
 */
export class Shim {
  readonly #deps: ShimDependencies;
  #connected: Connected | null = null;
  #starting: Promise<Connected> | null = null;
  /** The loss of an earlier shim: its children are being ended. */
  #losing: Promise<unknown> = Promise.resolve();
  #held: HeldRecord[] = [];
  #graceMs: number;
  #note = '';

  constructor(deps: ShimDependencies) {
    this.#deps = deps;
    this.#graceMs = deps.graceMs;
  }

  /** The process that is connected, with the value of the marker of its children; null if there is none. */
  get process(): ShimIdentity | null {
    return this.#connected;
  }

  /** The children of an earlier server that this one has not attached. */
  get held(): readonly HeldRecord[] {
    return this.#held;
  }

  /** The text that the last server has left. */
  get note(): string {
    return this.#note;
  }

  /** Leaves a text of at most 4 KiB for the next server. */
  leaveNote(text: string): void {
    this.#note = text;
    this.#connected?.link.send({ type: 'note', text });
  }

  /** Connects to a shim that an earlier server left. Resolves with whether there is one. */
  async find(): Promise<boolean> {
    const { clock } = this.#deps;
    const socketPath = await socketPathOf(this.#deps.directory);
    const deadline = clock.monotonic() + REFUSES_MS;
    for (;;) {
      const socket = await connect(socketPath);
      if (!socket) return false;
      if (await this.#greet(socket).catch(() => null)) return this.#connected !== null;
      if (clock.monotonic() >= deadline) return false;
      await clock.sleep(RETRY_MS);
    }
  }

  /** Starts a command behind the spawn barrier, in the shim. */
  async start(start: BarrierStart, about: ChildDescription): Promise<BarrierProcess> {
    const { link } = this.#connected ?? (await (this.#starting ??= this.#launch()));
    return link.start(start, about);
  }

  /**
   * Continues with a held child, whose outputs begin at offsets (default for stderr: the oldest one). Null if it is not held, or
   * not from there.
   */
  attach(pid: number, stdoutFrom: number, stderrFrom?: number): HeldProcess | null {
    const held = this.#held.find((one) => one.pid === pid);
    if (!held || !this.#connected) return null;
    const { link, marker } = this.#connected;
    const { stdout, stderr } = held;
    const from = { stdout: stdoutFrom, stderr: stderrFrom ?? stderr.oldest };
    if (!isWithin(from.stdout, stdout) || !isWithin(from.stderr, stderr)) return null;
    this.#held = this.#held.filter((one) => one !== held);
    return link.attach(held, from, marker);
  }

  /** Changes the time that the shim waits for another server. */
  setGrace(ms: number): void {
    this.#graceMs = ms;
    this.#connected?.link.send({ type: 'grace', ms });
  }

  /** Leaves the children to the shim, which waits for another server. */
  async leave(): Promise<void> {
    const link = this.#connected?.link;
    this.#connected = null;
    await link?.close();
  }

  /** Ends all children and the shim; resolves when they are gone. */
  async end(): Promise<void> {
    await this.#starting?.catch(() => undefined);
    const connected = this.#connected;
    this.#connected = null;
    if (connected) await this.#endProcess(connected);
    await this.#losing;
  }

  async #launch(): Promise<Connected> {
    try {
      await this.#losing;
      const socketPath = await socketPathOf(this.#deps.directory);
      // No shim listens there: it would have been found, or has been lost.
      await fs.rm(socketPath, { force: true });
      await this.#greet(launch(socketPath));
      if (!this.#connected) throw new Error('the shim has another version');
      return this.#connected;
    } finally {
      this.#starting = null;
    }
  }

  /** Resolves with whether the shim has answered; one of another version is ended. */
  async #greet(socket: net.Socket): Promise<boolean> {
    const { clock } = this.#deps;
    const link = new ShimLink(socket, { graceMs: this.#graceMs, clock });
    const { version, pid, started_ticks, marker, note, children } = await link.welcomed();
    const connected = { link, identity: { pid, startedTicks: started_ticks }, marker };
    if (version !== SHIM_VERSION) {
      this.#deps.log.warn(
        { pid, version },
        'the agents of an earlier server are stopped, because their shim has another version',
      );
      await this.#endProcess(connected);
      return true;
    }
    this.#connected = connected;
    this.#held = children;
    this.#note = note || this.#note;
    if (note !== this.#note) link.send({ type: 'note', text: this.#note });
    void link.closed.then(() => this.#lost(connected));
    return true;
  }

  async #endProcess({ link, identity }: Connected): Promise<void> {
    const { clock } = this.#deps;
    link.send({ type: 'end_all' });
    await link.closed;
    // A process that exits closes its connections a moment before it is gone.
    await untilGone([identity], EXITS_MS, clock);
  }

  #lost(connected: Connected): void {
    if (this.#connected !== connected) return;
    const { identity, marker } = connected;
    this.#connected = null;
    this.#held = [];
    // Its keeper ends the children, but it may have died with the shim.
    if (isAlive(identity)) signal(identity.pid, 'SIGKILL');
    this.#losing = killCarriers(`${MARKER_VARIABLE}=${marker}`);
  }
}

function isWithin(offset: number, { oldest, newest }: HeldRange): boolean {
  return offset >= oldest && offset <= newest;
}

/** Starts this program as a shim. It gets none of the variables of the server, above all not the marker of its children. */
function launch(socketPath: string): net.Socket {
  const { file, args } = selfCommand();
  return startConnected({
    file,
    args: [...args, SHIM, socketPath, '3'],
    cwd: '/',
    env: { ...pickVariables(['PATH', 'CADRE_TEST_ONLY_PLATFORM'], process.env) },
  });
}

/** Resolves with a connection; null if nobody listens. Throws `conflict` for a socket of another user. */
async function connect(socketPath: string): Promise<net.Socket | null> {
  const found = await fs.lstat(socketPath).catch(() => null);
  if (!found) return null;
  assertOwn(socketPath, found);
  const socket = net.connect(socketPath);
  const connected = Promise.withResolvers<net.Socket | null>();
  socket.once('connect', () => connected.resolve(socket));
  socket.once('error', () => connected.resolve(null));
  return connected.promise;
}

/** Returns the path of the socket: in the data directory, or in a directory of this user if that path is too long. */
export async function socketPathOf(directory: string): Promise<string> {
  const inside = path.join(await fs.realpath(directory), SOCKET);
  if (Buffer.byteLength(inside) <= MAX_PATH_BYTES) return inside;
  const { XDG_RUNTIME_DIR: named } = process.env;
  const own = named
    ? path.join(named, 'cadre')
    : path.join(os.tmpdir(), `cadre-${process.geteuid?.()}`);
  await fs.mkdir(own, { recursive: true, mode: 0o700 });
  assertOwn(own, await fs.lstat(own));
  return path.join(own, `${createHash('sha256').update(inside).digest('hex').slice(0, 32)}.sock`);
}

function assertOwn(name: string, { uid, mode }: Stats): void {
  if (uid !== process.geteuid?.())
    throw conflictError(
      `cannot use ${name}, because it belongs to another user (uid ${uid}): remove it`,
    );
  if ((mode & 0o077) !== 0)
    throw conflictError(`cannot use ${name}, because other users have access to it: remove it`);
}
