import type { Child } from '../core/children/supervisor.ts';
import type { AgentSink, AgentUpdate } from './provider.ts';
import type { AgentRows, ReadPosition, RequestOrigin } from './read-position.ts';

/** The position is stored by itself after so many bytes, because the output before it is kept for another server. */
const MAX_UNSAVED_BYTES = 64 * 1024;
/** The longest state of an adapter. A longer one is not stored, and its turn ends with the server. */
const MAX_STATE_CHARACTERS = 64 * 1024;

interface Dependencies {
  sink: AgentSink;
  /** Returns the memory of the adapter as JSON data that never changes; null while the adapter cannot be built again. */
  save: () => object | null;
  /** The process of the agent. Null for one that is at no turn. */
  child: OutputHolder | null;
  /** The beginning of the keys of messages, which is unique in the process (default: empty). It may serve several sessions. */
  keys?: string;
}

/** The process of an agent, as it holds output for another server. */
export type OutputHolder = Pick<Child, 'acknowledge' | 'outlives'>;

/** A request of an agent that waits for an answer. */
export interface AskedRequest extends RequestOrigin {
  readonly line: OutputLine;
  /** Aborts when the agent withdraws the request. */
  readonly withdrawn: AbortSignal;
}

/**
 * The lines of an agent's output that are not completely processed: the newest line, and each line with a request that is
 * not stored yet. An update is identified by its line and its number in the line, so it is stored only once even if two
 * servers read the line.
 */
export class OutputLines {
  readonly #deps: Dependencies;
  /** The lines that are being processed, in their order. */
  readonly #open = new Map<number, OutputLine>();
  /** The open lines of an earlier server that were not read again yet. */
  readonly #left: Map<number, number>;
  /** The offset up to which this server has read. */
  #read: number;
  /** The offset up to which an earlier server had read. */
  readonly #stored: number;
  /** The offset up to which this server had read when the position was stored last. */
  #saved: number;
  #sent: number;
  readonly #keys: string;
  /** The offset from which another server reads. Null while none does, because no turn is stored. */
  #needed: number | null;
  #newest: OutputLine | null = null;

  /** `from`: the position of an earlier server. `at`: the offset from which the output is read without one. */
  constructor(deps: Dependencies, from: ReadPosition | null = null, at = 0) {
    this.#deps = deps;
    this.#left = new Map(from?.open);
    this.#read = from?.at ?? at;
    this.#stored = from?.end ?? at;
    this.#saved = this.#read;
    this.#sent = from?.sent ?? 0;
    this.#keys = from?.keys ?? deps.keys ?? '';
    this.#needed = from?.at ?? null;
  }

  /** Absent if the agent ends with this server. */
  get #rows(): AgentRows | undefined {
    const { sink, child } = this.#deps;
    return child?.outlives ? sink.rows : undefined;
  }

  /** Whether another server may continue the turns of the agent. */
  get outlives(): boolean {
    return this.#deps.child?.outlives === true;
  }

  get needed(): number | null {
    return this.#needed;
  }

  /** Begins a line. It is open until all its holds are released. */
  begin({ begin, end }: { begin: number; end: number }): OutputLine {
    const { sink, save, child } = this.#deps;
    if (this.#needed === null) child?.acknowledge(begin);
    const left = this.#left.get(begin);
    this.#left.delete(begin);
    const line = new OutputLine({
      begin,
      sink,
      memory: this.#rows ? save() : null,
      isAgain: begin < this.#stored,
      stored: left ?? (begin < this.#stored ? Infinity : 0),
      onEnd: () => this.#open.delete(begin),
    });
    this.#saveAfter(begin);
    this.#open.set(begin, line);
    this.#newest = line;
    this.#read = end;
    return line;
  }

  /** Passes over a line of another session of the agent. */
  pass(line: { begin: number; end: number }): void {
    if (this.hasRead(line)) return;
    this.#saveAfter(line.begin);
    this.#read = line.end;
  }

  /** Reports whether a line is before the position from which this server reads, or was read by this server. */
  hasRead({ begin }: { begin: number }): boolean {
    return begin < this.#read;
  }

  /** Keeps the newest line open until the next turn begins: it has ended the turn, and the end may not be stored. */
  endTurn(): void {
    this.#newest?.hold();
  }

  #saveAfter(offset: number): void {
    if (offset - this.#saved > MAX_UNSAVED_BYTES) this.savePosition();
  }

  /** A turn begins: another server reads no earlier line again, because it would take that line for one of this turn. */
  beginTurn(): void {
    this.#open.clear();
    this.#left.clear();
  }

  /** Returns the key of a message, by which the agent's input takes the message once. */
  keyOf(n: number): string {
    return `${this.#keys}${n}`;
  }

  /** Sends a message to the agent, once it is stored if messages are stored. */
  send(
    line: string,
    { answers = null, hold = null }: { answers?: string | null; hold?: Disposable | null },
    write: (key: string) => Promise<void>,
  ): void {
    const rows = this.#rows;
    const onStored = () => hold?.[Symbol.dispose]();
    const n = ++this.#sent;
    const key = this.keyOf(n);
    if (rows) return rows.queue({ n, line, answers, onStored, send: () => write(key) });
    void write(key);
    onStored();
  }

  /** Stores the position by itself. */
  savePosition(): void {
    this.#rows?.savePosition();
  }

  /** Notes that a position at an offset is on disk: another server reads from there. */
  acknowledge(at: number): void {
    this.#needed = at;
    this.#deps.child?.acknowledge(at);
  }

  /** Notes that the turn is stored: no other server reads the output. */
  release(): void {
    this.#needed = null;
    this.#deps.child?.acknowledge(this.#read);
  }

  /** The position now. The caller stores it, with all updates so far. */
  get position(): ReadPosition {
    this.#saved = this.#read;
    const lines = [...this.#open.values()];
    const [first] = lines;
    const memory = first ? first.memory : this.#deps.save();
    const open = lines.filter(({ updates }) => updates !== Infinity);
    const at = first ? first.begin : this.#read;
    this.#needed ??= at;
    return {
      at,
      end: Math.max(this.#read, this.#stored),
      open: [...open.map(({ begin, updates }) => [begin, updates] as const), ...this.#left],
      state: memory && stateText(memory),
      sent: this.#sent,
      keys: this.#keys,
    };
  }
}

/** A line that is being processed. It passes its updates to the sink. */
export class OutputLine implements Pick<AgentSink, 'update'> {
  readonly begin: number;
  /** The memory of the adapter before the line; null if no position is stored. */
  readonly memory: object | null;
  /** Whether an earlier server had begun the line. */
  readonly isAgain: boolean;
  readonly #sink: AgentSink;
  readonly #stored: number;
  readonly #onEnd: () => void;
  #count = 0;
  #holds = 0;

  constructor(line: {
    begin: number;
    sink: AgentSink;
    memory: object | null;
    isAgain: boolean;
    stored: number;
    onEnd: () => void;
  }) {
    this.begin = line.begin;
    this.memory = line.memory;
    this.isAgain = line.isAgain;
    this.#sink = line.sink;
    this.#stored = line.stored;
    this.#onEnd = line.onEnd;
  }

  /** The number of stored updates. Infinity if all were stored by an earlier server. */
  get updates(): number {
    return Math.max(this.#count, this.#stored);
  }

  /** Whether an earlier server had handled the whole line: a request in it is stored, or has an answer. */
  get isDone(): boolean {
    return this.#stored === Infinity;
  }

  /** Passes an update on, unless an earlier server has stored it. */
  update(update: AgentUpdate): Promise<void> | undefined {
    return ++this.#count > this.#stored ? this.#sink.update(update) : undefined;
  }

  /** Keeps the line open until the result is disposed, at most once. */
  hold(): Disposable {
    this.#holds++;
    let isHeld = true;
    return {
      [Symbol.dispose]: () => {
        if (!isHeld) return;
        isHeld = false;
        if (--this.#holds === 0) this.#onEnd();
      },
    };
  }

  /** Handles the line by `work`, and keeps it open until then. */
  during(work: () => Promise<void> | undefined): Promise<void> | undefined {
    const hold = this.hold();
    const release = () => hold[Symbol.dispose]();
    let handled: Promise<void> | undefined;
    try {
      handled = work();
    } finally {
      if (handled === undefined) release();
    }
    return handled?.finally(release);
  }
}

/** JSON has no numbers that are out of range. */
function stateText(memory: object): string | null {
  let isWhole = true;
  const text = JSON.stringify(memory, (_name, value: unknown) => {
    isWhole &&= !Number.isNaN(value);
    return value;
  });
  return isWhole && text.length <= MAX_STATE_CHARACTERS ? text : null;
}
