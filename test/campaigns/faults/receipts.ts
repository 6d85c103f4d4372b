import type { Violations } from '../crash/checks.ts';
import type { UntypedEvent } from '../../support/untyped-events.ts';

/** The event that proves each kind of acknowledged request, and the id in it. */
const proofs: Record<string, (event: UntypedEvent) => unknown> = {
  'session.created': ({ session_id }) => session_id,
  'turn.accepted': ({ turn_id }) => turn_id,
  'queue.added': ({ payload }) => idIn(payload.entry),
  'process.queued': ({ process_id }) => process_id,
  'team.message_created': ({ payload }) => idIn(payload.message),
  'approval.resolved': ({ payload }) => idIn(payload.approval),
  'worktree.created': ({ worktree_id }) => worktree_id,
};

/** Events that only an acknowledged request causes: the log may have no others. Turns of the server itself are not among them. */
const onRequestOnly: ReadonlySet<string> = new Set([
  'session.created',
  'queue.added',
  'process.queued',
  'team.message_created',
  'worktree.created',
]);

/** Holds the log against the acknowledged requests: each has its event once, and there are no others. */
export class Receipts {
  readonly #acknowledged = new Set<string>();
  /** Acknowledged requests whose event was not seen yet. */
  readonly #open = new Set<string>();
  readonly #inLog = new Map<string, number>();

  get count(): number {
    return this.#acknowledged.size;
  }

  /** Notes an acknowledged request. */
  add(kind: string, id: string): void {
    const key = `${kind} ${id}`;
    this.#acknowledged.add(key);
    if (!this.#inLog.has(key)) this.#open.add(key);
  }

  /** The acknowledged requests that the log must have now. */
  due(): string[] {
    return [...this.#open];
  }

  /** Takes a part of the log; parts follow one another. */
  take(log: readonly UntypedEvent[]): Violations {
    const wrong: Violations = [];
    for (const event of log) {
      const id = proofs[event.kind]?.(event);
      if (typeof id !== 'string') continue;
      const key = `${event.kind} ${id}`;
      if (this.#inLog.has(key)) wrong.push(`the log has ${key} twice, again at seq ${event.seq}`);
      this.#inLog.set(key, event.seq);
      this.#open.delete(key);
    }
    return wrong;
  }

  /** Reports acknowledged requests without an event. */
  missing(due: readonly string[]): Violations {
    return due
      .filter((key) => !this.#inLog.has(key))
      .map((key) => `${key} was acknowledged and is lost`);
  }

  /** Reports events without a request. Every request must have its response. */
  unasked(turnsOfUsers: ReadonlySet<string>): Violations {
    return [...this.#inLog].flatMap(([key, seq]) => {
      const [kind = '', id = ''] = key.split(' ');
      const isAsked = this.#acknowledged.has(key);
      const needsRequest =
        onRequestOnly.has(kind) || (kind === 'turn.accepted' && turnsOfUsers.has(id));
      return isAsked || !needsRequest ? [] : [`seq ${seq}: nobody asked for ${key}`];
    });
  }
}

function idIn(value: unknown): unknown {
  return (value as { id?: unknown } | undefined)?.id;
}
