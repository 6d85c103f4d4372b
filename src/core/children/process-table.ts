export interface Found {
  pid: number;
  parent: number;
  group: number;
  /** When it started, in the unit of the table: a later process with the same pid has another number. */
  started: number;
  /** Whether it has ended and only waits to be reaped. */
  isDead: boolean;
}

/** The questions about processes. `procfs` and `ps` answer them; no other code knows which of them does. */
export interface ProcessTable {
  /** An id that changes with each boot of the machine. */
  bootId(): string;
  /** Returns a process, or undefined if there is none. Blocks: for one process only. */
  find(pid: number): Found | undefined;
  /** Whether this process belongs to the job that has its terminal. */
  isInForeground(): boolean;
  /** Resolves with the running members of a group. */
  membersOf(group: number): Promise<number[]>;
  /**
   * Resolves with the processes whose initial environment contains `marker`, without this process. Where a system hides
   * environments, also with those that descend from such a process or from a member of `groups`.
   */
  carriersOf(marker: string, groups: readonly number[]): Promise<number[]>;
  /** The pause between two looks at a group that is to end, in milliseconds: it doubles from the first to the longest. */
  pause: { first: number; longest: number };
  /** The commands by which the keeper ends what is left; see keeper.ts. */
  keeperEnds(): string;
  /** A start time as one word, as these commands compare it. */
  wordOf(started: number): string;
}
