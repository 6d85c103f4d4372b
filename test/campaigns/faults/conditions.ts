import type { AppError, ErrorCode } from '../../../src/api/errors.ts';

/** A state of the machine in which a server may refuse requests, or end. */
export type Condition =
  | 'full disk'
  | 'file size limit'
  | 'few descriptors'
  | 'little memory'
  | 'stopped server'
  | 'stop in order';

/** The errors with which a server may refuse a request under each condition. */
const refusals: Record<Condition, readonly ErrorCode[]> = {
  'full disk': ['storage_full', 'provider_unavailable', 'conflict', 'internal'],
  'file size limit': ['storage_damaged', 'provider_unavailable', 'conflict', 'internal'],
  'few descriptors': ['provider_unavailable', 'storage_damaged', 'internal'],
  'little memory': ['provider_unavailable', 'storage_damaged', 'internal'],
  'stopped server': [],
  'stop in order': ['shutting_down'],
};

/** The words by which a message names each condition. */
const reasons: Partial<Record<Condition, RegExp>> = {
  'full disk': /ENOSPC|no space left|disk is full/i,
  'file size limit': /EFBIG|file too large/i,
  'few descriptors': /EMFILE|ENFILE|too many open files/i,
  'little memory': /ENOMEM|EAGAIN|memory/i,
};

/** After a condition ends, a refusal may still be on its way for this long. */
const GRACE_MS = 3000;

/** The conditions of the machine, and the times at which they held. */
export class Conditions {
  readonly #held = new Map<Condition, { count: number; lastUntil: number }>();
  #over = Promise.withResolvers<void>();

  /** Begins a condition, which holds until `end` is called. */
  begin(condition: Condition): void {
    const { count = 0 } = this.#held.get(condition) ?? {};
    this.#held.set(condition, { count: count + 1, lastUntil: 0 });
  }

  end(condition: Condition): void {
    const { count = 1 } = this.#held.get(condition) ?? {};
    this.#held.set(condition, { count: count - 1, lastUntil: performance.now() });
    if (this.#current().length > 0) return;
    this.#over.resolve();
    this.#over = Promise.withResolvers();
  }

  /** The conditions that held at a time after `since` (of `performance.now()`). */
  since(since: number): Condition[] {
    return [...this.#held].flatMap(([condition, { count, lastUntil }]) =>
      count > 0 || lastUntil + GRACE_MS > since ? [condition] : [],
    );
  }

  /** The condition that explains a refusal of a request that was sent at `sentAt`. Undefined if there is none. */
  explains({ code, message }: AppError, sentAt: number): Condition | undefined {
    return this.since(sentAt).find(
      (condition) => refusals[condition].includes(code) || reasons[condition]?.test(message),
    );
  }

  /** Resolves once no condition holds. */
  async over(): Promise<void> {
    while (this.#current().length > 0) await this.#over.promise;
  }

  #current(): Condition[] {
    return [...this.#held].flatMap(([condition, { count }]) => (count > 0 ? [condition] : []));
  }
}
