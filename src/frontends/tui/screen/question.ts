/** A question that single keys answer; any other key is a no. */
export interface Question {
  text: string;
  answers: readonly Answer[];
}

export interface Answer {
  /** The keys that give this answer. */
  keys: string;
  label: string;
  work: () => Promise<unknown>;
}
