import type { KeptSandbox } from '../spawn-barrier.ts';

/**
 * The version of all messages but `hello`, `welcome` and `end_all`, which never change: by them a server of any version
 * ends a shim of any other.
 */
export const SHIM_VERSION = 2;

/** A longer frame is refused. The longest message to an agent is a prompt with its images. */
const MAX_FRAME_BYTES = 128 * 1024 * 1024;
const LENGTH_BYTES = 4;

const types = { control: 1, output: 2, input: 3 } as const;

/** The streams of a child by their descriptors. */
export type StreamNumber = 0 | 1 | 2;
export type OutputNumber = 1 | 2;

/** The range of bytes of an output that the shim has: from the first one that is not acknowledged. */
export interface HeldRange {
  oldest: number;
  newest: number;
}

/** A child of the shim, as `welcome` lists it. */
export interface HeldRecord {
  child: number;
  pid: number;
  started_ticks: number;
  /** The description that the child was started with. */
  about: ChildDescription;
  stdout: HeldRange;
  stderr: HeldRange;
  exit: { code: number | null; signal: NodeJS.Signals | null } | null;
}

export interface ChildDescription {
  what: string;
  /** The sandbox whose program is the leader: the command is one of its descendants. Null: the leader is the command. */
  sandbox: KeptSandbox | null;
  /** Whether the server stores all its output and its exit. Both are kept until then. */
  isStored: boolean;
  /** See `ChildCommand.mark`. Absent for a child of an earlier version. */
  mark?: string | undefined;
}

/** A message of a server. Children have numbers, because a pid may be used again. */
export type ServerMessage =
  | { type: 'hello'; version: number; grace_ms: number }
  | { type: 'end_all' }
  | {
      type: 'start';
      ref: number;
      words: readonly string[];
      cwd: string;
      env: Record<string, string>;
      stdin: 'pipe' | 'none';
      about: ChildDescription;
    }
  /** The child is on disk: its command may run. */
  | { type: 'go'; child: number }
  /** From here on this server gets the output of a child, from these offsets. */
  | { type: 'attach'; child: number; stdout: number; stderr: number }
  | { type: 'ack'; child: number; stream: OutputNumber; up_to: number }
  /** The reader needs more than the shim keeps: a line is longer. */
  | { type: 'more'; child: number; stream: OutputNumber }
  | { type: 'close'; child: number; stream: StreamNumber }
  /** The group of the child is gone: its outputs end once nothing more comes, even if other processes hold the pipes. */
  | { type: 'end_outputs'; child: number }
  /** The child and its group are gone, or have to go, and nobody will ask for it again. */
  | { type: 'forget'; child: number }
  | { type: 'grace'; ms: number }
  | { type: 'note'; text: string }
  | { type: 'ping' };

/** A message of the shim. */
export type ShimMessage =
  | {
      type: 'welcome';
      version: number;
      pid: number;
      started_ticks: number;
      marker: string;
      note: string;
      children: HeldRecord[];
    }
  /** The shim cannot serve; it ends. */
  | { type: 'failed'; message: string }
  | { type: 'started'; ref: number; child: number; pid: number; started_ticks: number }
  | { type: 'not_started'; ref: number; message: string }
  | { type: 'took'; child: number; key: string }
  /** A stream has ended: nothing more comes from it, or its input takes nothing more. */
  | { type: 'closed'; child: number; stream: StreamNumber }
  | {
      type: 'exit';
      child: number;
      code: number | null;
      signal: NodeJS.Signals | null;
    }
  | { type: 'pong' };

/** The value of the marker of one child. It begins with the one that all children of the shim have. */
export function markerOf(marker: string, child: number): string {
  return `${marker}.${child}.`;
}

/** A message, or bytes of a child. */
export type Frame =
  | { type: 'control'; message: ServerMessage | ShimMessage }
  | { type: 'output'; child: number; stream: number; offset: number; bytes: Buffer }
  | { type: 'input'; child: number; key: string; bytes: Buffer };

export function controlFrame(message: ServerMessage | ShimMessage): Buffer {
  return frameOf(types.control, Buffer.from(JSON.stringify(message)));
}

export function outputFrame(
  child: number,
  stream: OutputNumber,
  offset: number,
  bytes: Buffer,
): Buffer {
  const head = Buffer.alloc(11);
  head.writeUInt32BE(child, 0);
  head.writeUInt8(stream, 4);
  head.writeUIntBE(offset, 5, 6);
  return frameOf(types.output, head, bytes);
}

/** Throws Error if the message is too long to be sent as a whole. */
export function inputFrame(child: number, key: string, bytes: Buffer): Buffer {
  const name = Buffer.from(key);
  const head = Buffer.alloc(6);
  head.writeUInt32BE(child, 0);
  head.writeUInt16BE(name.length, 4);
  return frameOf(types.input, head, name, bytes);
}

function frameOf(type: number, ...parts: Buffer[]): Buffer {
  const head = Buffer.alloc(LENGTH_BYTES + 1);
  const length = parts.reduce((sum, part) => sum + part.length, 1);
  if (length > MAX_FRAME_BYTES)
    throw new Error(`a message of ${length} bytes is longer than ${MAX_FRAME_BYTES} bytes`);
  head.writeUInt32BE(length, 0);
  head.writeUInt8(type, LENGTH_BYTES);
  return Buffer.concat([head, ...parts]);
}

/** Puts the chunks of a connection together to frames. */
export class FrameReader {
  #parts: Buffer[] = [];
  #bytes = 0;
  /** So many bytes are needed to read on. */
  #needed = LENGTH_BYTES;

  /** Returns the frames that are complete now. Throws Error for a bad one. */
  *read(chunk: Buffer): Generator<Frame> {
    this.#parts.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes < this.#needed) return;
    const bytes = this.#parts.length === 1 ? chunk : Buffer.concat(this.#parts);
    let at = 0;
    this.#needed = LENGTH_BYTES;
    while (bytes.length - at >= this.#needed) {
      const length = bytes.readUInt32BE(at);
      if (length === 0 || length > MAX_FRAME_BYTES) throw new Error(`a frame of ${length} bytes`);
      this.#needed = LENGTH_BYTES + length;
      if (bytes.length - at < this.#needed) break;
      const end = at + this.#needed;
      yield frameIn(bytes.subarray(at + LENGTH_BYTES, end));
      at = end;
      this.#needed = LENGTH_BYTES;
    }
    this.#parts = at < bytes.length ? [bytes.subarray(at)] : [];
    this.#bytes = bytes.length - at;
  }
}

function frameIn(bytes: Buffer): Frame {
  const body = bytes.subarray(1);
  switch (bytes[0]) {
    case types.control:
      return { type: 'control', message: messageIn(body.toString()) };
    case types.output: {
      const [child, stream] = [body.readUInt32BE(0), body.readUInt8(4)];
      return {
        type: 'output',
        child,
        stream,
        offset: body.readUIntBE(5, 6),
        bytes: body.subarray(11),
      };
    }
    case types.input: {
      const end = 6 + body.readUInt16BE(4);
      if (end > body.length) throw new Error('a key that is longer than its frame');
      const key = body.toString('utf8', 6, end);
      return { type: 'input', child: body.readUInt32BE(0), key, bytes: body.subarray(end) };
    }
    default:
      throw new Error(`a frame of the unknown type ${bytes[0]}`);
  }
}

function messageIn(text: string): ServerMessage | ShimMessage {
  const message = JSON.parse(text) as { type?: unknown } | null;
  if (typeof message?.type !== 'string') throw new Error('a message without a type');
  return message as ServerMessage | ShimMessage;
}
