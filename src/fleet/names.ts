/**
 * The names and settings that all members of a fleet share: a server of another version of cadre reads the same keys and
 * subjects, so none of them may change without a new fleet.
 */

/** The lifetime of a heartbeat, in milliseconds of the clock of NATS. A node renews it three times as often. */
export const ALIVE_TTL_MS = 6000;
/** How long the placement of a new session is kept under its idempotency key, in milliseconds. */
export const PLACEMENT_TTL_MS = 24 * 60 * 60 * 1000;
/** How long a delta stays in the stream, as the header `Nats-TTL` has it: once its item is closed, it says nothing. */
export const DELTA_TTL = '10m';
/** The kinds of events that leave the stream by themselves. */
export const DELTA_KINDS: ReadonlySet<string> = new Set([
  'message.delta',
  'reasoning.delta',
  'tool.updated',
  'process.output',
]);
/** The oldest version of nats-server that has what the mirror needs: atomic batches. */
export const OLDEST_ENGINE = '2.12.0';

/** Who asks a node: a person with all rights, a person who only reads, or another node. */
export const askingScopes = ['admin', 'read', 'peer'] as const;
export type AskingScope = (typeof askingScopes)[number];

/** The headers of a mirrored event. */
export const eventHeaders = {
  /** The epoch of the log that the event is from. */
  epoch: 'Cadre-Epoch',
  /** The seq of the event in that log. */
  seq: 'Cadre-Seq',
  id: 'Cadre-Id',
  /** The seq of the newest event before it, without deltas. 0 if there is none. */
  prev: 'Cadre-Prev',
} as const;

/** The headers of NATS that cadre sets. */
export const natsHeaders = {
  ttl: 'Nats-TTL',
  expectedLast: 'Nats-Expected-Last-Subject-Sequence',
  expectedLastSubject: 'Nats-Expected-Last-Subject-Sequence-Subject',
  batchId: 'Nats-Batch-Id',
  batchSequence: 'Nats-Batch-Sequence',
  batchCommit: 'Nats-Batch-Commit',
  keyOperation: 'KV-Operation',
} as const;

/** A name that may be part of a subject: of a fleet, a node or a person. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$/;

/** The prefix of the subjects of responses. */
export const INBOXES = '_INBOX.';
/** The same, where NATS passes a request from one account to another. No client may name such a subject. */
export const PASSED_ANSWERS = '_R_.';

export function isName(text: string): boolean {
  return NAME.test(text);
}

export type Names = ReturnType<typeof namesOf>;

/** The subjects, streams and buckets of a fleet. */
export function namesOf(fleet: string) {
  const events = `CADRE_${fleet}_EV`;
  const nodes = `cadre_${fleet}_nodes`;
  const placements = `cadre_${fleet}_places`;
  return {
    fleet,
    /** The stream of all events. */
    events,
    allEvents: `cadre.${fleet}.ev.>`,
    eventsOf: (node: string) => `cadre.${fleet}.ev.${node}.>`,
    /** Where NATS says, for each event of `subject`, that it is stored: with its headers alone. */
    newsOf: (subject: string) => subject.replace(/^(cadre\.[^.]+)\.ev\./, '$1.news.'),
    event: (node: string, kind: string) => `cadre.${fleet}.ev.${node}.${kind}`,
    /** The subject that answers with the newest message of a node. */
    head: (node: string) => `$JS.API.DIRECT.GET.${events}.cadre.${fleet}.ev.${node}.>`,
    request: (node: string, scope: AskingScope, user: string) =>
      `cadre.${fleet}.api.${node}.${scope}.${user}`,
    requestsOf: (node: string) => `cadre.${fleet}.api.${node}.*.*`,
    /** The bucket of the heartbeats. */
    nodes,
    alive: (node: string) => `alive.${node}`,
    /** The bucket of the placements of new sessions. */
    placements,
    /** The stream that holds a bucket. */
    bucketStream: (bucket: string) => `KV_${bucket}`,
    key: (bucket: string, key: string) => `$KV.${bucket}.${key}`,
    /** The prefix of the subjects that answers to a node or a person come to. */
    inbox: (who: string) => `${INBOXES}${who}`,
  };
}

/** The sender of a request, by its subject. Null if the subject has another form. */
export function askerOf(subject: string): { scope: AskingScope; user: string } | null {
  const [, , kind, , scope, user, ...more] = subject.split('.');
  const known = askingScopes.find((one) => one === scope);
  if (kind !== 'api' || known === undefined || user === undefined || more.length > 0) return null;
  return isName(user) ? { scope: known, user } : null;
}

/** A part of the name of a kind, between dots. */
const KIND_WORD = /^[A-Za-z0-9_]+$/;

/** The parts of the subject of a mirrored event. Null if the subject has another form. */
export function eventSubject(subject: string): { node: string; kind: string } | null {
  const [, , kind, node, ...words] = subject.split('.');
  const isSound = kind === 'ev' && node !== undefined && isName(node) && words.length > 0;
  return isSound && words.every((word) => KIND_WORD.test(word))
    ? { node, kind: words.join('.') }
    : null;
}
