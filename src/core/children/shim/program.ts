import net from 'node:net';
import { Writable } from 'node:stream';
import { systemClock } from '../../lib/clock.ts';
import { newSecret } from '../../lib/ids.ts';
import { identify, MARKER_VARIABLE, signal } from '../identity.ts';
import { Keeper } from '../keeper.ts';
import { type BarrierProcess, startAtBarrier } from '../spawn-barrier.ts';
import {
  type ChildDescription,
  controlFrame,
  FrameReader,
  type HeldRecord,
  markerOf,
  outputFrame,
  type OutputNumber,
  type ServerMessage,
  SHIM_VERSION,
  type ShimMessage,
} from './frames.ts';
import { HeldOutput } from './outputs.ts';

/** So many keys of messages are remembered for each child. */
const MAX_KEYS = 1024;
const MAX_NOTE_BYTES = 4096;
/** A connection has this long to say who it is, in milliseconds. */
const HELLO_MS = 5000;

/**
 * Runs the shim: it starts children for a server, holds their pipes, and continues to hold them without a server for as long as
 * the last one has allowed. `connection`: the descriptor of a connection to the server that starts it.
 *
 * A child lives only while the shim lives: the shim has the only write end of the pipe of a keeper.
 */
export function runShim([socketPath = '', connection]: readonly string[]): void {
  for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGABRT'] as const)
    process.on(name, () => undefined);
  const shim = new ShimProgram();
  const first = connection === undefined ? null : new net.Socket({ fd: Number(connection) });
  const listener = net.createServer((socket) => shim.accept(socket));
  listener.once('error', (error) => {
    if (!first) process.exit(1);
    first.end(controlFrame({ type: 'failed', message: error.message }), () => process.exit(1));
  });
  // Children get the mask of the server, so it is changed for the socket alone.
  const mask = process.umask(0o177);
  listener.listen(socketPath, () => (first ? shim.accept(first) : void shim.leave()));
  process.umask(mask);
  shim.listener = listener;
}

class ShimProgram {
  listener: net.Server | null = null;
  readonly #marker = newSecret();
  readonly #keeper = new Keeper({
    marker: this.#marker,
    log: { warn: () => undefined, error: () => undefined },
  });
  readonly #children = new Map<number, HeldChild>();
  #lastChild = 0;
  #server: Connection | null = null;
  #graceMs = 0;
  #grace: Disposable | null = null;
  #note = '';
  #isLeaving = false;

  accept(socket: net.Socket): void {
    const connection = new Connection(socket);
    const reader = new FrameReader();
    const unknown = systemClock.after(HELLO_MS, () => {
      if (this.#server !== connection) socket.destroy();
    });
    socket.on('error', () => undefined);
    socket.on('drain', () => this.#drained(connection));
    socket.on('close', () => {
      unknown[Symbol.dispose]();
      if (this.#server === connection) this.#disconnected();
      else if (!this.#server && !this.#grace) void this.leave();
    });
    socket.on('data', (chunk) => {
      try {
        for (const frame of reader.read(chunk)) {
          if (frame.type === 'control') this.#handle(connection, frame.message as ServerMessage);
          else if (frame.type === 'input' && this.#server === connection)
            this.#children.get(frame.child)?.writeInput(frame.key, frame.bytes, connection);
          else throw new Error(`an unexpected frame of the type ${frame.type}`);
        }
      } catch {
        socket.destroy();
      }
    });
  }

  #drained(connection: Connection): void {
    connection.isFull = false;
    for (const child of this.#children.values()) this.#sendOutput(child);
  }

  #handle(connection: Connection, message: ServerMessage): void {
    if (message.type === 'end_all') return void this.leave();
    if (message.type === 'hello') return this.#greet(connection, message);
    if (this.#server !== connection) throw new Error('a message before the first one');
    switch (message.type) {
      case 'start':
        return void this.#start(connection, message);
      case 'grace':
        this.#graceMs = message.ms;
        return undefined;
      case 'note':
        if (Buffer.byteLength(message.text) > MAX_NOTE_BYTES) throw new Error('a long note');
        this.#note = message.text;
        return undefined;
      case 'ping':
        return connection.send({ type: 'pong' });
      default: {
        // The child may be gone already.
        const child = this.#children.get(message.child);
        return child && this.#handleFor(child, message);
      }
    }
  }

  #handleFor(child: HeldChild, message: Extract<ServerMessage, { child: number }>): void {
    switch (message.type) {
      case 'go':
        child.open(() => this.#sendOutput(child));
        return undefined;
      case 'attach':
        child.outputs[0].continueAt(message.stdout);
        child.outputs[1].continueAt(message.stderr);
        child.isAttached = true;
        return this.#sendOutput(child);
      case 'ack':
        child.outputs[message.stream - 1]?.acknowledge(message.up_to);
        return undefined;
      case 'more':
        return child.outputs[message.stream - 1]?.allowMore();
      case 'close':
        return child.close(message.stream);
      case 'end_outputs':
        for (const output of child.outputs) output.endWhenQuiet();
        return undefined;
      case 'forget':
        child.isForgotten = true;
        if (!child.isOpen) signal(-child.pid, 'SIGKILL');
        this.#keeper.remove(child.pid);
        return this.#sendOutput(child);
      default:
        throw new Error('an unknown message');
    }
  }

  /** One server at a time: the one that is connected has the lock of the data directory, or has just died. */
  #greet(connection: Connection, hello: { grace_ms: number }): void {
    if (this.#server || this.#isLeaving) throw new Error('another server is connected');
    this.#server = connection;
    this.#grace?.[Symbol.dispose]();
    this.#grace = null;
    this.#graceMs = hello.grace_ms;
    connection.send({
      type: 'welcome',
      version: SHIM_VERSION,
      pid: process.pid,
      started_ticks: identify(process.pid)?.startedTicks ?? 0,
      marker: this.#marker,
      note: this.#note,
      children: [...this.#children.values()].map((child) => child.record),
    });
  }

  async #start(
    connection: Connection,
    { ref, about, ...start }: Extract<ServerMessage, { type: 'start' }>,
  ): Promise<void> {
    const failed = (error: Error) =>
      connection.send({ type: 'not_started', ref, message: error.message });
    try {
      this.#keeper.ensure();
      const number = ++this.#lastChild;
      const env = { ...start.env, [MARKER_VARIABLE]: markerOf(this.#marker, number) };
      const started = startAtBarrier({ ...start, env });
      if (started instanceof Promise) return failed(await started);
      // In the same turn of the event loop, so that the keeper learns of the child before anything else can happen.
      this.#keeper.add(started.leader);
      const child = new HeldChild(number, about, started);
      this.#children.set(child.number, child);
      void started.exit.promise.then((exit) => {
        child.exit = exit;
        if (!this.#children.has(child.number)) return this.#keeper.remove(child.pid);
        // The rest of its group ends with it. A server gives the group the time of an orderly end.
        if (!this.#server) child.killGroup();
        return this.#sendOutput(child);
      });
      connection.send({
        type: 'started',
        ref,
        child: child.number,
        pid: child.pid,
        started_ticks: started.leader.startedTicks,
      });
    } catch (error) {
      failed(error as Error);
    }
  }

  #sendOutput(child: HeldChild): void {
    if (this.#server && child.isAttached) child.send(this.#server);
    if (child.isDone) this.#children.delete(child.number);
  }

  /** Without a server, nothing waits at the barrier, and nothing is kept that a server has given up. */
  #disconnected(): void {
    this.#server = null;
    for (const child of this.#children.values()) {
      const isOver = !child.isOpen || child.isForgotten;
      if (isOver || child.exit) child.killGroup();
      if (isOver) this.#children.delete(child.number);
      else child.detach();
    }
    if (this.#children.size === 0) void this.leave();
    else this.#grace = systemClock.after(this.#graceMs, () => void this.leave());
  }

  /** Ends all children, and then this process. */
  async leave(): Promise<void> {
    if (this.#isLeaving) return;
    this.#isLeaving = true;
    // This removes the socket at once, so that it is never the one of a later shim.
    this.listener?.close();
    for (const child of this.#children.values()) child.killGroup();
    await this.#keeper.stop();
    process.exit(0);
  }
}

/** A connection of a server. */
class Connection {
  readonly #socket: net.Socket;
  /** Whether the connection takes no more output for now. */
  isFull = false;

  constructor(socket: net.Socket) {
    this.#socket = socket;
  }

  send(message: ShimMessage): void {
    this.#write(controlFrame(message));
  }

  sendOutput(child: number, stream: OutputNumber, offset: number, bytes: Buffer): void {
    if (!this.#write(outputFrame(child, stream, offset, bytes))) this.isFull = true;
  }

  #write(frame: Buffer): boolean {
    return this.#socket.writable && this.#socket.write(frame);
  }
}

class HeldChild {
  readonly number: number;
  readonly pid: number;
  readonly outputs: readonly [HeldOutput, HeldOutput];
  isOpen = false;
  /** Whether the server that is connected wants its output. */
  isAttached = true;
  isForgotten = false;
  exit: HeldRecord['exit'] = null;
  #isKilled = false;
  readonly #about: ChildDescription;
  readonly #process: BarrierProcess;
  readonly #stdin: Writable;
  /** The newest keys of messages, each with whether its message is in the pipe. */
  readonly #keys = new Map<string, boolean>();
  /** Whether the connected server knows of its exit, and of the end of its input. */
  #isExitSent = false;
  #isClosedSent = false;

  constructor(number: number, about: ChildDescription, process: BarrierProcess) {
    this.number = number;
    this.pid = process.leader.pid;
    this.#about = about;
    this.#process = process;
    this.#stdin = process.stdin ?? new Writable().end();
    this.outputs = [new HeldOutput(1, process.stdout), new HeldOutput(2, process.stderr)];
  }

  get record(): HeldRecord {
    const [stdout, stderr] = this.outputs;
    return {
      child: this.number,
      pid: this.pid,
      started_ticks: this.#process.leader.startedTicks,
      about: this.#about,
      stdout: stdout.range,
      stderr: stderr.range,
      exit: this.exit,
    };
  }

  /** Whether nothing of it is left that a server has to get. */
  get isDone(): boolean {
    return this.isForgotten && this.exit !== null && (!this.isOpen || this.#isAllSent);
  }

  get #isAllSent(): boolean {
    return this.#isExitSent && this.outputs.every(({ isEndSent }) => isEndSent);
  }

  open(onChange: () => void): void {
    if (this.isOpen) return;
    this.isOpen = true;
    for (const output of this.outputs) output.keep(onChange);
    this.#stdin.on('close', onChange);
    this.#process.open();
  }

  /** Kills its group; after its exit only once, because its id may be the one of another group later. */
  killGroup(): void {
    if (this.exit && this.#isKilled) return;
    this.#isKilled = this.exit !== null;
    signal(-this.pid, 'SIGKILL');
  }

  /** Gives its input a message, unless it has been given one with that key. */
  writeInput(key: string, bytes: Buffer, server: Connection): void {
    const took = () => server.send({ type: 'took', child: this.number, key });
    const known = key === '' ? undefined : this.#keys.get(key);
    if (known === true) return took();
    if (known === false) return void this.#stdin.write('', took);
    if (key !== '') this.#remember(key);
    if (!this.#stdin.writable) return took();
    this.#stdin.write(bytes, () => {
      if (this.#keys.has(key)) this.#keys.set(key, true);
      took();
    });
  }

  #remember(key: string): void {
    this.#keys.set(key, false);
    if (this.#keys.size <= MAX_KEYS) return;
    const [oldest = ''] = this.#keys.keys();
    this.#keys.delete(oldest);
  }

  close(stream: number): void {
    if (stream === 0) this.#stdin.end();
    else this.outputs[stream - 1]?.close();
  }

  /** Sends what the server has not been sent. */
  send(server: Connection): void {
    const child = this.number;
    for (const output of this.outputs) output.send(server, child);
    if (this.#stdin.destroyed && !this.#isClosedSent) {
      this.#isClosedSent = true;
      server.send({ type: 'closed', child, stream: 0 });
    }
    if (!this.exit || this.#isExitSent) return;
    this.#isExitSent = true;
    server.send({ type: 'exit', child, ...this.exit });
  }

  /** The server is gone. The next one begins anew. */
  detach(): void {
    this.isAttached = false;
    this.#isExitSent = false;
    this.#isClosedSent = false;
    for (const output of this.outputs) output.detach();
  }
}
