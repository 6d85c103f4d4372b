import { z } from 'zod';
import { component } from './common.ts';
import { hookKinds } from './event-kinds/hooks.ts';
import { budgetKinds } from './event-kinds/budgets.ts';
import { agentKinds, itemKinds } from './event-kinds/items.ts';
import type { EventScope, ValuesOf } from './event-kinds/kind.ts';
import { processKinds, sandboxKinds } from './event-kinds/processes.ts';
import { goalKinds, queueKinds, watchKinds } from './event-kinds/queue.ts';
import { reviewKinds } from './event-kinds/reviews.ts';
import { runtimeKinds } from './event-kinds/runtime.ts';
import { pastKinds, sessionKinds, turnKinds } from './event-kinds/sessions.ts';
import { deliveryKinds, teamKinds } from './event-kinds/teams.ts';
import { raceKinds, worktreeKinds } from './event-kinds/worktrees.ts';

/**
 * Every kind of event. Types, schemas, openapi.yaml and docs/events.md are generated from this table. Within v1, kinds
 * are added, never changed or removed.
 */
export const kinds = {
  ...runtimeKinds,
  ...sessionKinds,
  ...turnKinds,
  ...pastKinds,
  ...queueKinds,
  ...reviewKinds,
  ...goalKinds,
  ...watchKinds,
  ...itemKinds,
  ...agentKinds,
  ...processKinds,
  ...sandboxKinds,
  ...worktreeKinds,
  ...raceKinds,
  ...teamKinds,
  ...deliveryKinds,
  ...hookKinds,
  ...budgetKinds,
};

type Kinds = typeof kinds;
export type EventKind = keyof Kinds;
/** The kinds of a group: for `turn`, all that start with `turn.`. */
export type KindIn<Group extends string> = Extract<EventKind, `${Group}.${string}`>;
type KindOfPart<Part> = {
  [K in EventKind]: Kinds[K]['part'] extends Part ? K : never;
}[EventKind];

export const eventKinds = Object.keys(kinds) as EventKind[];
/** The first parts of the kinds: `turn`, `message` and so on. */
export const eventGroups = [...new Set(eventKinds.map((kind) => kind.replace(/\..*/, '')))];

/** The payload of a kind as it is appended. */
export type Payload<K extends EventKind> = ValuesOf<Kinds[K]['payload']>;

/**
 * The payload of a kind as it is sent. A payload that was too long is `truncated`: its long texts are cut, and other
 * large fields may be missing.
 */
export type SentPayload<K extends EventKind> =
  | (Payload<K> & { truncated?: never; total_bytes?: never })
  | (CutPayload<Payload<K>, Kinds[K]['large'][number]> & { truncated: true; total_bytes: number });

type CutPayload<Whole, Large extends string> = {
  [F in keyof Whole as F extends Large ? never : F]: Without<Whole[F], FieldsIn<Large, F & string>>;
} & Partial<Pick<Whole, Large & keyof Whole>>;
/** The fields of a record that `record.field` names. */
type FieldsIn<Large, Name extends string> = Large extends `${Name}.${infer Field}` ? Field : never;
type Without<Value, Fields extends string> = [Fields] extends [never]
  ? Value
  : { [F in keyof Value as F extends Fields ? never : F]: Value[F] } & {
      [F in Fields & keyof Value]?: Value[F];
    };

interface EventFields {
  /** Strictly increasing over the whole runtime, with gaps. No number is used twice. */
  seq: number;
  id: string;
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  /** Unix milliseconds. */
  created_at: number;
  /** The version of the payload. */
  v: number;
}

/** An event of one of the given kinds. `kind` discriminates the union. */
export type EventOf<K extends EventKind> = K extends EventKind
  ? EventFields & { kind: K; scope: Kinds[K]['scope']; payload: SentPayload<K> }
  : never;

/** An event of a kind that this version describes. */
export type DescribedEvent = EventOf<EventKind>;

/** An event of a kind from a newer server. */
export interface NewerEvent extends EventFields {
  kind: string;
  scope: EventScope;
  payload: Record<string, unknown>;
}

/** An event as a client reads it. Check `isDescribed` first, then `kind`. */
export type RuntimeEventRecord = DescribedEvent | NewerEvent;

/** An event that adds to an item or to the output of a process. */
export type DeltaEvent = EventOf<KindOfPart<'delta'>>;
/** An event that closes an item with its complete content, or a process. */
export type SettlingEvent = EventOf<KindOfPart<'end'>>;

export function isEventKind(kind: string): kind is EventKind {
  return Object.hasOwn(kinds, kind);
}

/** Reports whether this version describes the kind of an event, and narrows its type. */
export function isDescribed(event: RuntimeEventRecord): event is DescribedEvent {
  return isEventKind(event.kind);
}

/** An event that people read beside the conversation of a session. */
export type NoticeEvent = EventOf<'session.notice' | 'sandbox.host_refused'>;
export const noticeKinds = ['session.notice', 'sandbox.host_refused'] as const;

export function isNotice(event: RuntimeEventRecord): event is NoticeEvent {
  return event.kind === 'session.notice' || event.kind === 'sandbox.host_refused';
}

/** Reports whether the kind of an event belongs to a group that this version describes. */
export function isIn<Group extends string>(
  group: Group,
  event: RuntimeEventRecord,
): event is EventOf<KindIn<Group>> {
  return isDescribed(event) && event.kind.startsWith(`${group}.`);
}

const kindsOfPart = (part: 'delta' | 'end'): ReadonlySet<string> =>
  new Set(eventKinds.filter((kind) => kinds[kind].part === part));

/**
 * The kinds that report an item or the output of a process while it grows. The closing event, or the output files,
 * contain everything they report, so they are deleted from the log later.
 */
export const deltaKinds = kindsOfPart('delta');

/** The kinds that close an item with its complete content, or a process. */
export const settlingKinds = kindsOfPart('end');

export function isDelta(event: RuntimeEventRecord): event is DeltaEvent {
  return deltaKinds.has(event.kind);
}

export function settles(event: RuntimeEventRecord): event is SettlingEvent {
  return settlingKinds.has(event.kind);
}

/** Returns the id of the item, or else of the process, that a delta adds to or an event closes. */
export function settlesWith({ payload, process_id }: DeltaEvent | SettlingEvent): string {
  return 'item_id' in payload ? payload.item_id : (process_id ?? '');
}

/** A sequence number. Sequence numbers increase strictly over the whole runtime, with gaps. No number is used twice. */
export const sequenceNumber = z.int().min(0).max(Number.MAX_SAFE_INTEGER);

/** A frame of a stream. It reports that events after the cursor are missing. */
export const streamGap = component(
  'StreamGap',
  'Some events after the requested cursor are missing on the stream.',
  {
    requested: sequenceNumber.describe('Requested cursor.'),
    trimmed_seq: sequenceNumber.describe(
      'Highest sequence number that retention deleted in the scope.',
    ),
    latest_seq: sequenceNumber.describe('Newest sequence number.'),
  },
);
export type StreamGap = z.output<typeof streamGap>;

/** Returns the kinds that a filter matches: `turn.completed` alone, or all of a group with `turn.*`. */
export function kindsMatching(patterns: readonly string[]): Set<EventKind> {
  return new Set(
    patterns.flatMap((pattern) => eventKinds.filter((kind) => matches(pattern, kind))),
  );
}

export function matches(pattern: string, kind: string): boolean {
  return pattern.endsWith('.*') ? kind.startsWith(pattern.slice(0, -1)) : kind === pattern;
}
