import type { Beginning, Notice, Servers } from '../../client/servers.ts';
import { AppError } from '../../api/errors.ts';
import type { TailOptions } from './commands/events.ts';
import { CursorOfSeveral } from './cursor-of-several.ts';
import { descriptorOf, eventLine, timeOf } from './event-line.ts';
import { jsonFor, written, type CommandContext } from './world.ts';

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
    throw new AppError('usage', 'pass either --after-seq or --since, not both');
  if (since !== undefined) return { since: timeOf(since, now) };
  if (afterSeq === undefined) return 'start';
  if (afterSeq === 'latest') return 'latest';
  throw new AppError(
    'usage',
    '--after-seq with a number requires one server, because each server numbers its own events: pass --since, or choose a server with --on',
  );
}

/** Tells people what becomes of the way to each server. */
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
      throw new AppError('unreachable', 'no server answered: see cadre status');
  }
}
