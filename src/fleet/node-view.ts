import type { Approval } from '../api/approvals.ts';
import { type EventOf, isIn, type KindIn } from '../api/events.ts';
import type { Process } from '../api/processes.ts';
import type { Session } from '../api/sessions.ts';
import { processAfter, processKinds } from '../client/process-after.ts';
import { requestedApproval } from '../client/requested-approval.ts';
import type { ServerSnapshot } from '../client/servers.ts';
import { sessionAfter, sessionAfterApproval, sessionAfterTurn } from '../client/session-after.ts';
import type { Arrived } from './nats-reader-stream.ts';
import { EPOCH_KIND, type EpochMark, isMark, readEvent } from './mirrored.ts';

/** The kinds of events that a view is made from, as in subjects. */
export const viewKinds = ['session.*', 'turn.*', 'approval.*', ...processKinds, 'fleet.*'] as const;

/** The last state of a node, made from its events only. */
export class NodeView {
  readonly #sessions = new Map<string, Session>();
  readonly #approvals = new Map<string, Approval>();
  readonly #processes = new Map<string, Process>();
  #at = 0;

  /** Null before the first event. */
  get known(): ServerSnapshot | null {
    if (this.#at === 0) return null;
    return {
      at: this.#at,
      sessions: [...this.#sessions.values()].toReversed(),
      approvals: [...this.#approvals.values()],
      processes: [...this.#processes.values()].toReversed(),
    };
  }

  /** Takes the next message of the node. */
  apply({ message: { kind, seq, text }, at }: Arrived): void {
    this.#at = Math.round(at);
    if (kind === EPOCH_KIND) this.#changeLog(JSON.parse(text) as EpochMark);
    if (isMark(kind)) return;
    const event = readEvent(text, { seq, kind });
    if (event === null) return;
    if (isIn('session', event)) this.#session(event);
    else if (isIn('turn', event)) this.#turn(event);
    else if (isIn('approval', event)) this.#approval(event);
    else if (isIn('process', event)) this.#process(event);
  }

  /** Nothing of the log before is in one that begins anew. */
  #changeLog({ to }: EpochMark): void {
    if (to.after > 0) return;
    this.#sessions.clear();
    this.#approvals.clear();
    this.#processes.clear();
  }

  #session(event: EventOf<KindIn<'session'>>): void {
    const { session_id: id } = event;
    const session = sessionAfter(this.#sessions.get(id ?? ''), event);
    if (id !== null && session) this.#sessions.set(id, session);
  }

  #turn(event: EventOf<KindIn<'turn'>>): void {
    const known = this.#sessions.get(event.session_id ?? '');
    if (known) this.#sessions.set(known.id, sessionAfterTurn(known, event));
  }

  #approval(event: EventOf<KindIn<'approval'>>): void {
    const { id, session_id } = event.payload.approval;
    if (event.kind === 'approval.requested')
      this.#approvals.set(id, requestedApproval(event.payload));
    else this.#approvals.delete(id);
    const known = this.#sessions.get(session_id);
    if (known)
      this.#sessions.set(session_id, sessionAfterApproval(known, event, this.#approvals.values()));
  }

  #process(event: EventOf<KindIn<'process'>>): void {
    const { process_id: id } = event;
    const process = processAfter(this.#processes.get(id ?? ''), event);
    if (id !== null && process) this.#processes.set(id, process);
  }
}

/** The messages of several readings that end, in the order of the stream. */
export async function* joined(
  readings: readonly AsyncGenerator<Arrived, void>[],
): AsyncGenerator<Arrived, void> {
  try {
    let open = await Promise.all(readings.map(next));
    for (;;) {
      const [first, ...others] = open
        .filter((one) => one !== null)
        .toSorted((one, other) => seqOf(one) - seqOf(other));
      if (!first) return;
      yield first.found;
      open = [await next(first.reading), ...others];
    }
  } finally {
    await Promise.allSettled(readings.map((reading) => reading.return()));
  }
}

interface Open {
  reading: AsyncGenerator<Arrived, void>;
  found: Arrived;
}

function seqOf({ found }: Open): number {
  return found.message.streamSeq;
}

async function next(reading: AsyncGenerator<Arrived, void>): Promise<Open | null> {
  const { value } = await reading.next();
  return value ? { reading, found: value } : null;
}
