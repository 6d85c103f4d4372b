import path from 'node:path';

/** A response of a server. */
export interface Answer {
  method: string;
  url: string;
  status: number;
  /** The headers, by name in lower case. */
  headers: Record<string, unknown>;
  /** Body of a response; of a stream, any number of whole frames. Null if the body is not checked. */
  body: string | null;
}

/** Returns the directory with the responses of a run: one file for each process, one JSON line for each response. */
export function answerDirectory(root: string): string {
  return path.join(root, 'answers');
}

/** Suffix of the name of such a file. */
export const ANSWERS = '.answers';
