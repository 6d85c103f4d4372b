import { once } from 'node:events';
import net from 'node:net';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { puppetOn } from './puppet.ts';

/** What a process of a puppet says of itself first. */
export interface Hello {
  pid: number;
  cwd: string;
}

/** And then what becomes of it. */
export interface LogWakeup {
  /** What it was told on its stdin. */
  line?: string;
  eof?: boolean;
  signal?: string;
  child?: number;
}

/** The test's end of a process of a puppet. */
export interface Actor {
  take(news: LogWakeup): void;
}

/** Where puppets are played: each process that is started with `program` becomes what `enter` makes of its first word. */
export async function openTheatre<A extends Actor>(
  directory: string,
  enter: (process: net.Socket, hello: Hello) => A,
) {
  /** All that came, oldest first. */
  const actors: A[] = [];
  const open = new Set<net.Socket>();
  const receive = (process: net.Socket): void => {
    open.add(process);
    process.once('close', () => open.delete(process));
    process.on('error', () => undefined);
    const lines = createInterface({ input: process });
    // It has the errors of its input, too: one that is killed resets the connection.
    lines.on('error', () => undefined);
    lines.once('line', (first) => {
      const actor = entering(() => enter(process, JSON.parse(first) as Hello));
      if (!actor) return;
      actors.push(actor);
      lines.on('line', (line) => actor.take(JSON.parse(line) as LogWakeup));
    });
  };
  const socket = path.join(directory, 'socket');
  const server = net.createServer(receive);
  server.listen(socket);
  await once(server, 'listening');
  return {
    program: puppetOn(socket),
    actors,
    /** How many are connected. */
    get open() {
      return open.size;
    },
    [Symbol.dispose]() {
      server.close();
      for (const process of open) process.destroy();
    },
  };
}

/** Null for a process that was killed before it was heard, of which /proc tells nothing any more. */
function entering<A>(enter: () => A): A | null {
  try {
    return enter();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ESRCH') return null;
    throw error;
  }
}
