import type { Beginning, Notice, Servers } from '../../client/servers.ts';
import { unreachableError, usageError } from '../../api/errors.ts';
import type { TailOptions } from './commands/events.ts';
import { descriptorOf, eventLine, timeOf } from './event-line.ts';
import { jsonFor, written, type CommandContext } from './world.ts';
import { z } from 'zod';
import { fileOf, linesBehind, readCursor, sizeOf, writeCursor } from './cursor-file.ts';

/** `cadre events tail` of several servers: lines with the server of each event, also on a terminal. */
export async function tailAll(
  { world, global }: CommandContext,
  servers: Servers,
  options: TailOptions,
): Promise<void> {
  const { cursorFile: file, kind: kinds, reconnect: reconnectMs, follow, node: only } = options;
  const cursor = file === undefined ? null : new CursorOfSeveral(file, descriptorOf(world.stdout));
  const saved = cursor?.start ?? null;
  const from = saved === null ? beginning(options, world.clock.now()) : { cursor: saved };
  const signal = world.interrupted();
  if (only !== undefined) await servers.named(only);
  const names = only === undefined ? (await servers.list()).map(({ name }) => name) : [only];
  const width = Math.max(0, ...names.map((name) => name.length));
  const news = new LogWakeup(names, (text) => world.stderr.write(`cadre: ${text}\n`));
  const events = servers.streamEvents(
    { from, kinds, node: only, reconnectMs, isStoredOnly: !follow },
    signal,
  );
  try {
    for await (const one of events) {
      if ('notice' in one) {
        news.tell(one.node, one.notice);
        continue;
      }
      const { node, epoch, event } = one;
      if (!cursor?.has(node, event.seq))
        world.stdout.write(
          `${global.json ? jsonFor(world, { node, epoch, ...event }) : `${node.padEnd(width)}  ${eventLine(event)}`}\n`,
        );
      cursor?.moveTo(() => events.cursor());
    }
  } finally {
    await written(world.stdout);
    cursor?.save();
  }
  if (signal.aborted) world.exit(Number(signal.reason));
  else news.assertAnswered();
}

function beginning({ afterSeq, since }: TailOptions, now: number): Beginning {
  if (afterSeq !== undefined && since !== undefined)
    throw usageError('pass either --after-seq or --since, not both');
  if (since !== undefined) return { since: timeOf(since, now) };
  if (afterSeq === undefined) return 'start';
  if (afterSeq === 'latest') return 'latest';
  throw usageError(
    '--after-seq with a number requires one server, because each server numbers its own events: pass --since, or choose a server with --on',
  );
}

class LogWakeup {
  readonly #away = new Map<string, string>();
  readonly #names: readonly string[];
  readonly #say: (text: string) => void;

  constructor(names: readonly string[], say: (text: string) => void) {
    this.#names = names;
    this.#say = say;
  }

  tell(node: string, notice: Notice): void {
    if (notice.state === 'gap') this.#say(`${node}: ${notice.text}`);
    else if (notice.state === 'unreachable') {
      this.#away.set(node, notice.detail);
      this.#say(notice.detail);
    } else if (this.#away.delete(node)) this.#say(`${node} is reachable again`);
  }

  /** Throws `unreachable` where no server at all has answered in the end. */
  assertAnswered(): void {
    if (this.#away.size === this.#names.length)
      throw unreachableError('no server answered: see cadre status');
  }
}

const content = z.object({
  /** The position of a reader of all servers. */
  cursor: z.string(),
  /** The length of the output at that time; null where the output is not a regular file. */
  bytes: z.int().nullable(),
});

/**
 * The cursor of a reader of several logs, kept in one file. Where the output is a regular file, its content decides, as
 * with one log (cursor-file.ts): a line written after the cursor was saved is not written again.
 */
class CursorOfSeveral {
  readonly #file: string;
  readonly #output: number | null;
  readonly #start: z.output<typeof content> | null;
  /** The newest event of each server behind the saved length. */
  readonly #written: ReadonlyMap<string, number>;
  #cursor: (() => string) | undefined;
  #saved: NodeJS.Immediate | undefined;

  /** `output` is the descriptor that lines are written to; null where the output has none. */
  constructor(file: string, output: number | null) {
    this.#file = file;
    this.#output = fileOf(output);
    this.#start = readCursor(file, content);
    const lines =
      this.#output === null ? [] : linesBehind(this.#output, this.#start?.bytes ?? null);
    this.#written = new Map(lines.flatMap(placeOf));
  }

  /** The position to continue from; null before the first event. */
  get start(): string | null {
    return this.#start?.cursor ?? null;
  }

  /** Whether the line of an event is in the output already. */
  has(node: string, seq: number): boolean {
    return seq <= (this.#written.get(node) ?? -1);
  }

  /** Moves the cursor to what it says in this turn of the event loop, and saves it then. */
  moveTo(cursor: () => string): void {
    this.#cursor = cursor;
    this.#saved ??= setImmediate(() => this.save());
  }

  save(): void {
    if (this.#saved) clearImmediate(this.#saved);
    this.#saved = undefined;
    if (this.#cursor)
      writeCursor(this.#file, { cursor: this.#cursor(), bytes: sizeOf(this.#output) });
  }
}

/** The server and the seq at the start of a line of several servers, as text or JSON; none for any other line. */
function placeOf(line: string): [node: string, seq: number][] {
  const [, json, text, seq] = /^(?:\{"node":"([^"]+)","seq":|(\S+) +)(\d+)/.exec(line) ?? [];
  const node = json ?? text;
  return node === undefined || seq === undefined ? [] : [[node, Number(seq)]];
}
