import { deltaKinds, settlingKinds } from '../../../src/api/events.ts';
import type { Turn } from '../../../src/api/sessions.ts';
import { type Violations, describe } from './checks.ts';
import { type ExpectedItem, expectedItems, expectedText } from './prompts.ts';
import type { UntypedEvent } from '../../support/untyped-events.ts';

type Ending = 'completed' | 'interrupted' | 'failed';

/** One turn according to the log. */
interface LoggedTurn {
  readonly session: string | null;
  readonly prompt: string;
  started: boolean;
  ended: Ending | null;
  /** In the order in which they began; a closed one keeps its place. */
  readonly items: Map<
    string,
    { kind: string; text: string; bytes: number; open: boolean; cut: boolean }
  >;
}

/**
 * Follows the log event by event, across all restarts, and reports what cannot be true of a turn: no
 * beginning, two ends, output after the end, an open item, a hole in a text, words that are not in
 * the prompt.
 */
export class TurnChecker {
  readonly #turns = new Map<string, LoggedTurn>();
  readonly #sessions = new Set<string>();
  readonly #mayLackDeltas: boolean;

  /** `mayLackDeltas`: the log is followed so late that the deltas of a closed item may have left it. */
  constructor({ mayLackDeltas = false } = {}) {
    this.#mayLackDeltas = mayLackDeltas;
  }

  /** How the turn ended, as far as the log was followed; null: not yet, undefined: it is not in the log. */
  endOf(turnId: string): Ending | null | undefined {
    return this.#turns.get(turnId)?.ended;
  }

  hasSession(id: string): boolean {
    return this.#sessions.has(id);
  }

  get sessions(): ReadonlySet<string> {
    return this.#sessions;
  }

  /** The turns of a session, by id. */
  turnsOf(sessionId: string): string[] {
    return [...this.#turns].filter(([, { session }]) => session === sessionId).map(([id]) => id);
  }

  /** The prompts of all completed turns. */
  get completedPrompts(): string[] {
    return [...this.#turns.values()]
      .filter(({ ended }) => ended === 'completed')
      .map(({ prompt }) => prompt);
  }

  counts(): Record<Ending | 'unfinished', number> {
    const counts = { completed: 0, interrupted: 0, failed: 0, unfinished: 0 };
    for (const { ended } of this.#turns.values()) counts[ended ?? 'unfinished']++;
    return counts;
  }

  follow(event: UntypedEvent): Violations {
    const { kind, session_id: session, turn_id: turnId } = event;
    if (kind === 'session.created') {
      if (session === null || this.#sessions.has(session))
        return [`${describe(event)}: the session was there`];
      this.#sessions.add(session);
    }
    if (turnId === null) return [];
    const turn = this.#turns.get(turnId);
    if (kind === 'turn.accepted') {
      if (turn) return [`${describe(event)}: accepted twice`];
      if (session === null || !this.#sessions.has(session))
        return [`${describe(event)}: without a session`];
      const prompt = promptOf(event);
      this.#turns.set(turnId, { session, prompt, started: false, ended: null, items: new Map() });
      return [];
    }
    if (!turn) return [`${describe(event)}: the turn was never accepted`];
    if (turn.ended) return [`${describe(event)}: the turn had ${turn.ended}`];
    if (kind === 'turn.started') {
      const again = turn.started;
      turn.started = true;
      return again ? [`${describe(event)}: started twice`] : [];
    }
    if (kind.startsWith('turn.')) return end(event, turn);
    if (event.payload.item_id === undefined) return [];
    return takeOutput(event, turn, this.#mayLackDeltas);
  }
}

function end(event: UntypedEvent, turn: LoggedTurn): Violations {
  const status = event.kind.slice('turn.'.length) as Ending;
  turn.ended = status;
  const items = [...turn.items.values()];
  const wrong = items
    .filter(({ open }) => open)
    .map(({ kind }) => `${describe(event)}: a ${kind} was left open`);
  if (status === 'completed' && !turn.started) wrong.push(`${describe(event)}: it never started`);
  wrong.push(...compareOutput(event, items, expectedItems(turn.prompt), status === 'completed'));
  turn.items.clear();
  return wrong;
}

/** A completed turn contains all words of its prompt, a failed turn their beginning. */
function compareOutput(
  event: UntypedEvent,
  items: readonly { kind: string; text: string; cut: boolean }[],
  expected: readonly ExpectedItem[],
  whole: boolean,
): Violations {
  const wrong: Violations = [];
  if (items.length > expected.length || (whole && items.length < expected.length)) {
    wrong.push(
      `${describe(event)}: it has ${items.length} items, its prompt makes ${expected.length}`,
    );
  }
  for (const [i, { kind, text, cut }] of items.entries()) {
    const wanted = expected[i];
    if (!wanted) break;
    const mayBePart = cut || (!whole && i === items.length - 1);
    const said = expectedText(text);
    const fits = mayBePart ? wanted.text.startsWith(said) : wanted.text === said;
    if (kind !== wanted.kind || !fits) {
      wrong.push(
        `${describe(event)}: its item ${i} is a ${kind} ${excerpt(text)}, wanted was a ${wanted.kind} ${excerpt(wanted.text)}`,
      );
    }
  }
  return wrong;
}

function takeOutput(
  event: UntypedEvent,
  { items }: LoggedTurn,
  mayLackDeltas: boolean,
): Violations {
  const { kind, payload } = event;
  const id = String(payload.item_id);
  const item = items.get(id);
  if (item && !item.open) return [`${describe(event)}: its item was closed`];
  const text = typeof payload.text === 'string' ? payload.text : '';
  const begun = { kind: kind.split('.')[0] ?? '', text, bytes: Buffer.byteLength(text) };
  if (settlingKinds.has(kind)) {
    const cut = payload.truncated === true;
    if (!item) {
      items.set(id, { ...begun, open: false, cut });
      return mayLackDeltas ? [] : [`${describe(event)}: its item never began`];
    }
    // The end of what was said may come with the completion; what was shown before stays.
    const keeps =
      item.kind === 'tool' || text.startsWith(item.text) || (cut && item.text.startsWith(text));
    Object.assign(item, { open: false, text, cut });
    return keeps ? [] : [`${describe(event)}: its text is not what its deltas said`];
  }
  if (item === undefined) {
    items.set(id, { ...begun, open: true, cut: false });
    return payload.offset === 0
      ? []
      : [`${describe(event)}: its first delta has offset ${String(payload.offset)}`];
  }
  if (!deltaKinds.has(kind) || kind === 'tool.updated') return [];
  if (payload.offset !== item.bytes) {
    return [
      `${describe(event)}: its offset is ${String(payload.offset)}, the text before has ${item.bytes} bytes`,
    ];
  }
  item.text += text;
  item.bytes += Buffer.byteLength(text);
  return [];
}

function promptOf({ payload }: UntypedEvent): string {
  const { input } = payload.turn as Pick<Turn, 'input'>;
  return input.map((item) => (item.type === 'text' ? item.text : item.path)).join('\n');
}

function excerpt(text: string): string {
  const shown = text.length <= 60 ? text : `${text.slice(0, 30)}…${text.slice(-30)}`;
  return `${JSON.stringify(shown)} (${text.length} characters)`;
}
