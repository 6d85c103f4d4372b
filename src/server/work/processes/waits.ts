import net from 'node:net';
import type { QueryOf } from '../../../api/endpoint.ts';
import type { waitForProcess } from '../../../api/processes.ts';
import { membersOf } from '../../../core/children/identity.ts';
import { readForeignFile } from '../../../core/lib/foreign-file.ts';
import type { Clock } from '../../../core/lib/clock.ts';
import type { StreamName } from './output.ts';
import { hasText } from './reading.ts';
import { networkOf } from './running.ts';
import type { ProcessRunner } from './runner.ts';

/** The interval between two tries to connect to a port, in ms. */
const PORT_INTERVAL_MS = 50;
/** The time in ms that a port has to accept or refuse a connection. */
const PORT_ANSWER_MS = 1000;
/** The state of a listening socket in /proc/net/tcp. */
const LISTENS = '0A';
/** The maximum size of this file, in bytes. A file with 10,000 sockets has 1.5 MB. */
const MAX_TABLE_BYTES = 16 * 1024 * 1024;

interface Dependencies {
  runner: ProcessRunner;
  clock: Clock;
}

/** Resolves with whether the condition of the query held before the process had ended and the time was over. */
export async function waitFor(
  { runner, clock }: Dependencies,
  id: string,
  { for: condition, timeout_ms }: QueryOf<typeof waitForProcess>,
  disconnected: AbortSignal,
): Promise<boolean> {
  const end = Promise.withResolvers<false>();
  const giveUp = () => end.resolve(false);
  using _limit = clock.after(timeout_ms, giveUp);
  if (disconnected.aborted) giveUp();
  disconnected.addEventListener('abort', giveUp, { once: true });
  // The signals of a search, and their abort, cost more than all other work of a wait for the end.
  if (condition === 'exit')
    return await Promise.race([runner.done(id).then(() => true), end.promise]);
  const over = new AbortController();
  const signal = AbortSignal.any([over.signal, disconnected]);
  try {
    return await Promise.race([search({ runner, clock }, id, condition, signal), end.promise]);
  } finally {
    over.abort();
  }
}

/** Searches until the condition holds, the process has ended, or the signal aborts. */
function search(
  { runner, clock }: Dependencies,
  id: string,
  condition: string,
  signal: AbortSignal,
): Promise<boolean> {
  const [kind, ...rest] = condition.split(':');
  const ended = runner.done(id);
  if (kind === 'port') {
    const isOpen = () => isOpenFor(runner, id, Number(rest[0]));
    return Promise.race([untilOpen(clock, isOpen, signal), ended.then(() => false)]);
  }
  const text = rest.join(':');
  // A text that the process printed just before its end counts too.
  return Promise.race([
    untilPrinted(runner, id, text, signal),
    ended.then(() => hasPrinted(runner, id, text)),
  ]);
}

/** Whether a program listens on a port of the loopback interface of a process: in its sandbox, or on this machine. */
async function isOpenFor(runner: ProcessRunner, id: string, port: number): Promise<boolean> {
  const network = networkOf(runner.find(id));
  if (network === 'machine') return isPortOpen(port);
  return network !== null && listensInside(network.leader, port);
}

/**
 * Whether a program listens on a port in the network namespace of a sandbox, whose group has this leader. The kernel lists the
 * sockets, so no process has to enter the namespace.
 */
async function listensInside(leader: number, port: number): Promise<boolean> {
  // The leader starts in the network of the machine.
  const inside = (await membersOf(leader)).find((pid) => pid !== leader);
  if (inside === undefined) return false;
  const ending = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const tables = await Promise.all(
    ['tcp', 'tcp6'].map((name) =>
      readForeignFile(`/proc/${inside}/net`, name, { maxBytes: MAX_TABLE_BYTES }).catch(() => null),
    ),
  );
  return tables
    .flatMap((table) => table?.toString('latin1').split('\n').slice(1) ?? [])
    .some((line) => {
      const [, local = '', , state] = line.trim().split(/\s+/);
      return local.endsWith(ending) && state === LISTENS;
    });
}

async function untilOpen(
  clock: Clock,
  isOpen: () => Promise<boolean>,
  signal: AbortSignal,
): Promise<boolean> {
  while (!signal.aborted) {
    if (await isOpen()) return true;
    await clock.sleep(PORT_INTERVAL_MS, signal).catch(() => undefined);
  }
  return false;
}

async function hasPrinted(runner: ProcessRunner, id: string, text: string): Promise<boolean> {
  const streams = ['stdout', 'stderr'] as const;
  const found = streams.map((stream) => hasText(runner.logPath(id, stream), text));
  return (await Promise.all(found)).includes(true);
}

async function untilPrinted(
  runner: ProcessRunner,
  id: string,
  text: string,
  signal: AbortSignal,
): Promise<boolean> {
  const printed = Promise.withResolvers<boolean>();
  const needle = Buffer.from(text);
  const tails: Record<StreamName, Buffer> = { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) };
  const searchLog = async () => {
    if (await hasPrinted(runner, id, text)) printed.resolve(true);
  };
  if (signal.aborted) return false;
  using _listening = runner.listen(id, (stream, chunk) => {
    const seen = Buffer.concat([tails[stream], chunk]);
    if (seen.includes(needle)) printed.resolve(true);
    // The beginning of the text may have been printed before the listener was added.
    else if (tails[stream].length < needle.length - 1) searchLog().catch(printed.reject);
    tails[stream] = seen.subarray(Math.max(0, seen.length - needle.length + 1));
  });
  signal.addEventListener('abort', () => printed.resolve(false), { once: true });
  await searchLog();
  return await printed.promise;
}

/**
 * Whether a program listens on a port of this machine; `whenSilent` if the port neither accepts nor refuses a
 * connection. It connects, because binding succeeds on some systems where a program listens on all addresses.
 */
export async function isPortOpen(port: number, whenSilent = false): Promise<boolean> {
  const answers = ['127.0.0.1', '::1'].map((host) => {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const socket = net.connect({ port, host });
    socket.setTimeout(PORT_ANSWER_MS, () => resolve(whenSilent));
    socket.once('connect', () => resolve(true));
    socket.once('error', () => resolve(false));
    return promise.finally(() => socket.destroy());
  });
  return (await Promise.all(answers)).includes(true);
}
