import type { Beginning, Notice, Servers } from '../../client/servers.ts';
import { unreachableError, usageError } from '../../api/errors.ts';
import type { TailOptions } from './commands/events.ts';
import { eventLine } from './event-line.ts';
import { sinceOf } from './when.ts';
import { jsonFor, written, type CommandContext } from './command-io.ts';
import { z } from 'zod';
import { bytes, CursorFile, descriptorOf } from './cursor-file.ts';

/** `cadre events tail` of several servers: lines with the server of each event, also on a terminal. */
export async function tailAll(
  { io, global }: CommandContext,
  servers: Servers,
  options: TailOptions,
): Promise<void> {
  const { cursorFile: file, kind: kinds, reconnect: reconnectMs, follow, node: only } = options;
  const cursor =
    file === undefined ? null : new CursorFile<Position>(file, descriptorOf(io.stdout), content);
  const saved = cursor?.saved?.cursor ?? null;
  // The newest event of each server that is in the output already.
  const newest = new Map((cursor?.linesBehind() ?? []).flatMap(positionOf));
  const from = saved === null ? beginning(options, io.clock.now()) : { cursor: saved };
  const signal = io.interrupted();
  if (only !== undefined) await servers.named(only);
  const names = only === undefined ? (await servers.list()).map(({ name }) => name) : [only];
  const width = Math.max(0, ...names.map((name) => name.length));
  const away = new Set<string>();
  const say = (text: string) => void io.stderr.write(`cadre: ${text}\n`);
  const printNotice = (node: string, notice: Notice) => {
    if (notice.state === 'gap') say(`${node}: ${notice.text}`);
    else if (notice.state === 'unreachable') {
      away.add(node);
      say(notice.detail);
    } else if (away.delete(node)) say(`${node} is reachable again`);
  };
  const events = servers.streamEvents(
    { from, kinds, node: only, reconnectMs, isStoredOnly: !follow },
    signal,
  );
  try {
    for await (const one of events) {
      if ('notice' in one) {
        printNotice(one.node, one.notice);
        continue;
      }
      const { node, epoch, event } = one;
      if (event.seq > (newest.get(node) ?? -1))
        io.stdout.write(
          `${global.json ? jsonFor(io, { node, epoch, ...event }) : `${node.padEnd(width)}  ${eventLine(event)}`}\n`,
        );
      cursor?.moveTo(() => ({ cursor: events.cursor() }));
    }
  } finally {
    await written(io.stdout);
    cursor?.save();
  }
  if (signal.aborted) io.exit(Number(signal.reason));
  else if (away.size === names.length)
    throw unreachableError('no server answered: see cadre status');
}

function beginning({ afterSeq, since }: TailOptions, now: number): Beginning {
  if (afterSeq !== undefined && since !== undefined)
    throw usageError('pass either --after-seq or --since, not both');
  if (since !== undefined) return { since: sinceOf(since, now) };
  if (afterSeq === undefined) return 'start';
  if (afterSeq === 'latest') return 'latest';
  throw usageError(
    '--after-seq with a number requires one server, because each server numbers its own events: pass --since, or choose a server with --on',
  );
}

/** The position of a reader of all servers. */
interface Position {
  cursor: string;
}

const content = z.object({ cursor: z.string(), bytes });

/** The server and the seq at the start of a line of several servers, as text or JSON; none for any other line. */
function positionOf(line: string): [node: string, seq: number][] {
  // The events of a fleet also have the epoch of their log.
  const [, json, text, seq] =
    /^(?:\{"node":"([^"]+)",(?:"epoch":"[^"]*",)?"seq":|(\S+) +)(\d+)/.exec(line) ?? [];
  const node = json ?? text;
  return node === undefined || seq === undefined ? [] : [[node, Number(seq)]];
}
