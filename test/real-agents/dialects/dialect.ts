import type { Message, Piece, Tool, ToolCall } from '../script.ts';

/** The parts of a request that the model server needs, read from any wire format. */
export interface ModelRequest {
  model: string;
  /** How hard the model is to think. */
  effort?: string;
  tools: readonly Tool[];
  messages: readonly Message[];
}

/** An answer to put on the wire. The pieces arrive in their own time: the dialect forwards each at once. */
export interface Answer {
  model: string;
  pieces: AsyncIterable<Piece>;
  call?: ToolCall;
}

/**
 * The wire format of one model API. It translates and decides nothing; what to answer comes from the
 * script. A new format is one file with this interface and one entry in the model server's list.
 */
export interface Dialect {
  name: string;
  /** Whether a POST to this path (without its query) is a request in this format. */
  serves(path: string): boolean;
  /** Reads a request, its body and the path it was sent to; throws where the format is not the one expected. */
  read(body: unknown, path: string): ModelRequest;
  /** Writes an answer as the text of server-sent events. */
  write(answer: Answer): AsyncIterable<string>;
  /** End of an answer in place of its rest, if the API fails in the middle. */
  breakOff(code: string): string;
  /** The body of a failed request. */
  failure(status: number, message: string): object;
  /** How it refuses a request at a usage limit, with status 429; absent: as any failure. `resetsAt`: in Unix seconds. */
  limit?(resetsAt: number): { headers: Record<string, string>; body: object };
}

/** Token usage that every scripted call reports. `input` counts the cached ones too. */
export const tokensPerCall = { input: 111, cachedInput: 11, output: 22 };
