import type { EventKind, NewerEvent } from '../../src/api/events.ts';
import type { EventDraft } from '../../src/core/events/event.ts';

/** An event as it is read where a test says itself what its payload has to be. */
export type UntypedEvent = NewerEvent;

/** A draft of an event whose payload does not match its kind, for tests of the log alone. */
export function untypedDraft(
  draft: Omit<EventDraft, 'kind' | 'payload'> & {
    kind: EventKind;
    payload: Record<string, unknown>;
  },
): EventDraft {
  return draft as EventDraft;
}
