import type net from 'node:net';
import { Writable } from 'node:stream';
import type { Clock } from '../../lib/clock.ts';
import { type Identity, isAlive, signal } from '../identity.ts';
import type { BarrierProcess, BarrierStart, ChildExit } from '../spawn-barrier.ts';
import {
  type ChildDescription,
  controlFrame,
  type Frame,
  FrameReader,
  type HeldRecord,
  inputFrame,
  markerOf,
  type OutputNumber,
  type ServerMessage,
  SHIM_VERSION,
  type ShimMessage,
} from './frames.ts';
import { type OutputMessage, ReceivedOutput } from './outputs.ts';

/** A shim that sends no welcome, or does not answer, for so long, in milliseconds, is killed. */
const SILENCE_MS = 10_000;
/** The number of pings in that time. */
const PINGS = 4;

type Welcome = Extract<ShimMessage, { type: 'welcome' }>;

/** A child of an earlier server. */
export interface HeldProcess {
  process: BarrierProcess;
  about: ChildDescription;
  /** Whether it exited before, and the rest of its group with it. Its process id may be the one of another process now. */
  isGone: boolean;
  /** The value of the marker that this child and its descendants alone carry. */
  marker: string;
}

/** The connection to a shim. */
export class ShimLink {
  /** Resolves when the connection has ended, and with it the shim or its right to be used. */
  readonly closed: Promise<void>;
  readonly #socket: net.Socket;
  readonly #clock: Clock;
  readonly #welcome = Promise.withResolvers<Welcome>();
  readonly #starts = new Map<
    number,
    PromiseWithResolvers<ShimProcess> & { about: ChildDescription }
  >();
  readonly #processes = new Map<number, ShimProcess>();
  #lastRef = 0;
  #unanswered = 0;

  constructor(socket: net.Socket, { graceMs, clock }: { graceMs: number; clock: Clock }) {
    this.#socket = socket;
    this.#clock = clock;
    this.#welcome.promise.catch(() => undefined);
    const closed = Promise.withResolvers<void>();
    this.closed = closed.promise;
    const reader = new FrameReader();
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.#lose();
      closed.resolve();
    });
    socket.on('data', (chunk) => {
      try {
        for (const frame of reader.read(chunk)) this.#receive(frame);
      } catch {
        socket.destroy();
      }
    });
    this.send({ type: 'hello', version: SHIM_VERSION, grace_ms: graceMs });
  }

  /** Resolves with the first message of the shim. Rejects if there is none. */
  async welcomed(): Promise<Welcome> {
    using _limit = this.#clock.after(SILENCE_MS, () => this.#socket.destroy());
    const welcome = await this.#welcome.promise;
    if (welcome.version === SHIM_VERSION) this.#watch(welcome);
    return welcome;
  }

  send(message: ServerMessage): void {
    this.sendFrame(controlFrame(message));
  }

  sendFrame(frame: Buffer): void {
    if (this.#socket.writable) this.#socket.write(frame);
  }

  /** Ends the connection once all is sent, and leaves the children to the shim. Nothing is heard of them any more. */
  close(): Promise<void> {
    this.#processes.clear();
    this.#socket.end();
    return this.closed;
  }

  /** Starts a command in the shim. Rejects if the system starts no process, or the shim ends. */
  start(start: BarrierStart, about: ChildDescription): Promise<ShimProcess> {
    const ref = ++this.#lastRef;
    const started = Promise.withResolvers<ShimProcess>();
    if (this.#socket.closed) started.reject(lost());
    else this.#starts.set(ref, { ...started, about });
    this.send({ type: 'start', ref, ...start, about });
    return started.promise;
  }

  /** Continues with a child of an earlier server, whose outputs begin at the offsets `from`. */
  attach(held: HeldRecord, from: Offsets, marker: string): HeldProcess {
    const { child, about } = held;
    const leader = { pid: held.pid, startedTicks: held.started_ticks };
    const process = this.#add(child, leader, about, from);
    this.send({ type: 'attach', child, ...from });
    return { process, about, isGone: held.exit !== null, marker: markerOf(marker, child) };
  }

  /** Pings the shim, and kills it if it does not answer: its keeper then ends the children. */
  #watch({ pid, started_ticks: startedTicks }: Welcome): void {
    const timer = this.#clock.every(SILENCE_MS / PINGS, () => {
      // Counted, not measured: a server that was busy has not read the answers that have come.
      if (this.#unanswered++ < PINGS) return this.send({ type: 'ping' });
      if (isAlive({ pid, startedTicks })) signal(pid, 'SIGKILL');
      this.#socket.destroy();
    });
    void this.closed.then(() => timer[Symbol.dispose]());
  }

  #receive(frame: Frame): void {
    this.#unanswered = 0;
    if (frame.type === 'output')
      return this.#processes.get(frame.child)?.receive(frame.stream, frame.bytes);
    if (frame.type !== 'control') throw new Error('a frame that only servers send');
    const message = frame.message as ShimMessage;
    switch (message.type) {
      case 'welcome':
        return this.#welcome.resolve(message);
      case 'failed':
        return this.#welcome.reject(new Error(message.message));
      case 'started': {
        const { ref, child, pid, started_ticks: startedTicks } = message;
        const start = this.#starts.get(ref);
        start?.resolve(this.#add(child, { pid, startedTicks }, start.about));
        this.#starts.delete(ref);
        return undefined;
      }
      case 'not_started':
        this.#starts.get(message.ref)?.reject(new Error(message.message));
        this.#starts.delete(message.ref);
        return undefined;
      case 'pong':
        return undefined;
      default:
        return this.#processes.get(message.child)?.note(message);
    }
  }

  #add(
    child: number,
    leader: Identity,
    about: ChildDescription,
    from: Offsets = { stdout: 0, stderr: 0 },
  ): ShimProcess {
    const onEnd = () => this.#processes.delete(child);
    const process = new ShimProcess(this, { child, leader, about, from, onEnd });
    this.#processes.set(child, process);
    return process;
  }

  /** The shim is gone, and its keeper kills the children. */
  #lose(): void {
    this.#welcome.reject(lost());
    for (const start of this.#starts.values()) start.reject(lost());
    this.#starts.clear();
    for (const process of this.#processes.values()) process.lose();
    this.#processes.clear();
  }
}

function lost(): Error {
  return new Error('the shim, a process that holds the pipes of child processes, has ended');
}

/** A child of the shim. */
class ShimProcess implements BarrierProcess {
  readonly leader: Identity;
  readonly outlives = true;
  readonly exit = Promise.withResolvers<ChildExit>();
  readonly stdin: Writable;
  readonly stdout: ReceivedOutput;
  readonly stderr: ReceivedOutput;
  hasExited = false;
  readonly #link: ShimLink;
  readonly #child: number;
  readonly #onEnd: () => void;
  /** The keys of messages that wait in {@link stdin}. */
  readonly #keys = new WeakMap<Buffer, string>();
  /** Called when the input has taken the message that was sent last. */
  #taken: (() => void) | undefined;

  constructor(
    link: ShimLink,
    options: {
      child: number;
      leader: Identity;
      about: ChildDescription;
      from: Offsets;
      onEnd: () => void;
    },
  ) {
    const { child, leader, about, from, onEnd } = options;
    this.#link = link;
    this.#child = child;
    this.leader = leader;
    this.#onEnd = onEnd;
    const send = (message: OutputMessage, stream: OutputNumber) =>
      link.send({ ...message, child, stream });
    this.stdout = new ReceivedOutput((message) => send(message, 1), from.stdout);
    this.stderr = new ReceivedOutput((message) => send(message, 2), from.stderr, !about.isStored);
    this.stdin = this.#input();
  }

  open(): void {
    this.#link.send({ type: 'go', child: this.#child });
  }

  writeInput(message: string, key: string): Promise<void> {
    const bytes = Buffer.from(message);
    this.#keys.set(bytes, key);
    return new Promise((resolve) => {
      if (this.stdin.writable) this.stdin.write(bytes, () => resolve());
      else resolve();
    });
  }

  acknowledge(upTo: number, stream: 'stdout' | 'stderr'): void {
    this[stream].acknowledge(upTo);
  }

  endOutputs(): boolean {
    this.#link.send({ type: 'end_outputs', child: this.#child });
    return true;
  }

  close(): void {
    for (const stream of [this.stdin, this.stdout, this.stderr]) stream.destroy();
  }

  forget(): void {
    this.#link.send({ type: 'forget', child: this.#child });
  }

  receive(stream: number, bytes: Buffer): void {
    this.#output(stream)?.receive(bytes);
  }

  note(message: Extract<ShimMessage, { child: number }>): void {
    switch (message.type) {
      case 'exit':
        this.#exited(message);
        break;
      case 'took':
        this.#take();
        break;
      case 'closed':
        if (message.stream === 0) this.#closeInput();
        else this.#output(message.stream)?.complete();
        break;
      default:
        throw new Error('an unknown message');
    }
    if (this.hasExited && this.stdout.isOver && this.stderr.isOver) this.#onEnd();
  }

  /** The shim is gone, and its keeper kills this child. */
  lose(): void {
    this.#exited({ code: null, signal: 'SIGKILL' });
    for (const output of [this.stdout, this.stderr]) output.complete();
  }

  #exited({ code, signal: name }: ChildExit): void {
    this.hasExited = true;
    this.exit.resolve({ code, signal: name });
    this.#closeInput();
  }

  #output(stream: number): ReceivedOutput | undefined {
    return [undefined, this.stdout, this.stderr][stream];
  }

  #input(): Writable {
    const child = this.#child;
    const stdin = new Writable({
      // One message after the other, so that they keep their order.
      write: (bytes: Buffer, _encoding, done) => {
        this.#taken = done;
        this.#link.sendFrame(inputFrame(child, this.#keys.get(bytes) ?? '', bytes));
      },
      final: (done) => {
        this.#link.send({ type: 'close', child, stream: 0 });
        done();
      },
    });
    // A child that ends early is reported by its exit.
    stdin.on('error', () => undefined);
    return stdin;
  }

  #take(): void {
    const taken = this.#taken;
    this.#taken = undefined;
    taken?.();
  }

  #closeInput(): void {
    this.stdin.destroy();
    this.#take();
  }
}

/** The offsets of the first bytes that a server needs. */
interface Offsets {
  stdout: number;
  stderr: number;
}
