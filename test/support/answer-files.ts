import path from 'node:path';

/** An answer of a server, as it went out. */
export interface Answer {
  method: string;
  url: string;
  status: number;
  /** By names in lower case. */
  headers: Record<string, unknown>;
  /** Body of a response; of a stream, any number of whole frames. Null if the body is not checked. */
  body: string | null;
}

/** Where a run, by its temporary root, keeps the answers of its servers: a file a process, an answer a line, as JSON. */
export function answerDirectory(root: string): string {
  return path.join(root, 'answers');
}

/** Suffix of the name of such a file. */
export const ANSWERS = '.answers';
