/**
 * `make demo`: demonstrates recovery from a crash in half a minute, and checks each step. A server runs an agent,
 * is killed in the middle of a turn, and restarts with every event that a client has seen. Exits with 0 and leaves
 * nothing behind, or reports the promise that was broken and exits with 1.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { isDescribed, isIn, type RuntimeEventRecord } from '../src/api/events.ts';
import { endpoints } from '../src/api/index.ts';
import { type Identity, identify, isAlive, signal } from '../src/core/children/identity.ts';
import { processTable } from '../src/core/children/this-machine.ts';
import { type Client, HttpClient } from '../src/client/client.ts';
import { settle } from '../test/support/settle.ts';
import { streamEvents } from '../src/client/stream.ts';
import { AppError } from '../src/api/errors.ts';
import { systemClock } from '../src/core/lib/clock.ts';
import { selfCommand } from '../src/core/lib/self.ts';

/** The time limit of the whole demo. */
const LIMIT_MS = 25_000;
/** How long processes may survive the kill of their server. */
const SURVIVAL_MS = 2000;
/** The number of deltas of the second turn that are received before the kill. */
const DELTAS_BEFORE_KILL = 10;
/** A turn of ten seconds. The agent first starts a sleeper in a process group of its own. */
const LONG_TURN = 'spawn 300000; repeat 200 50 tick.';

const started = performance.now();
const directory = fs.mkdtempSync(path.join(fs.realpathSync(os.tmpdir()), 'cadre-demo-'));
let running: ChildProcess | undefined;

const watchdog = setTimeout(
  () => void finish(new Error(`the demo took longer than ${LIMIT_MS / 1000} s`)),
  LIMIT_MS,
);
for (const name of ['SIGINT', 'SIGTERM'] as const)
  process.once(name, () => void finish(new Error(`stopped by ${name}`)));
process.stdout.on('error', () => void finish(new Error('stdout was closed')));
show().then(() => finish(), finish);

async function show(): Promise<void> {
  chapter('A server with the demo agent');
  const first = await startServer();
  say(`listening on ${first.client.url}, data directory ${directory}`);

  chapter('A session, and a turn with streamed output');
  const session = await first.client.call(endpoints.createSession, {
    body: { provider: 'acp', cwd: directory },
  });
  const reading: RuntimeEventRecord[] = [];
  const turn1 = await sendTurn(
    first,
    session.id,
    'think what to say; say Hello. All text that you have seen is stored.',
  );
  await follow(
    first,
    session.id,
    reading,
    ({ kind, turn_id }) => turn_id === turn1 && kind === 'turn.completed',
  );
  const earlier = reading.length;
  say(`turn completed: ${earlier} events, last seq ${reading.at(-1)?.seq ?? 0}`);

  chapter('A longer turn, and SIGKILL to the server during the turn');
  const turn2 = await sendTurn(first, session.id, LONG_TURN);
  let deltas = 0;
  let killed = 0;
  let agents = 0;
  await follow(first, session.id, reading, ({ kind, turn_id }) => {
    if (turn_id !== turn2 || kind !== 'message.delta' || ++deltas !== DELTAS_BEFORE_KILL)
      return false;
    void living().then((found) => {
      agents = found.filter((pid) => pid !== first.pid).length;
      killed = performance.now();
      process.kill(first.pid, 'SIGKILL');
    });
    // Continues to read: first come the events that had been sent, then the connection breaks.
    return false;
  }).catch(assertUnreachable);
  const { signal: endedBy } = await first.exited;
  promise(
    endedBy === 'SIGKILL' && deltas >= DELTAS_BEFORE_KILL,
    `the server was killed after ${deltas} deltas of the turn`,
  );
  promise(agents >= 2, 'the agent and a child process of it were running at that time');
  await untilNothingLives(first.keeper, SURVIVAL_MS);
  promise(
    true,
    `no process survived: agent, child process and keeper have exited ${Math.round(performance.now() - killed)} ms after the kill`,
  );

  chapter('Restart of the server on the same data');
  const restarted = performance.now();
  const second = await startServer();
  say(`ready after ${Math.round(performance.now() - restarted)} ms`);
  const recovery = await second.client.call(endpoints.getRecovery, {});
  promise(recovery.previous_stop === 'unclean', 'the recovery report shows an unclean stop');
  promise(
    isDeepStrictEqual(recovery.turns_failed, [turn2]),
    'the recovery report lists the interrupted turn',
  );
  await compare(second, session.id, reading, turn2);
  const {
    turn_id: lost,
    status,
    error,
  } = await second.client.call(endpoints.getTurn, {
    params: { session_id: session.id, turn_id: turn2 },
  });
  promise(
    lost === turn2 && status === 'failed' && error?.code === 'runtime_restarted',
    'the turn failed with runtime_restarted',
  );

  await goOn(second, session.id, reading);
  await stopInOrder(second);
}

async function goOn(
  server: Server,
  sessionId: string,
  reading: RuntimeEventRecord[],
): Promise<void> {
  chapter('The session continues with its history');
  const turn3 = await sendTurn(server, sessionId, 'history');
  await follow(
    server,
    sessionId,
    reading,
    ({ kind, turn_id }) => turn_id === turn3 && kind === 'turn.completed',
  );
  const { text } = await server.client.call(endpoints.getTurn, {
    params: { session_id: sessionId, turn_id: turn3 },
  });
  promise(
    text === `earlier turns: 2; last prompt: ${LONG_TURN}`,
    'the agent reports both earlier turns',
  );
  promise(
    reading.every(({ seq }, i) => seq > (reading[i - 1]?.seq ?? 0)),
    `${reading.length} events read, without duplicates, in order`,
  );
}

async function stopInOrder(server: Server): Promise<void> {
  chapter('A graceful stop');
  process.kill(server.pid, 'SIGTERM');
  const end = await server.exited;
  promise(end.code === 0, 'the server exited with code 0');
  await untilNothingLives(server.keeper, 0);
  promise(true, 'no process is left');
}

/** Checks that the log consists of the events that were read up to the kill and those that the recovery added. */
async function compare(
  { client }: Server,
  sessionId: string,
  live: RuntimeEventRecord[],
  cutOff: string,
): Promise<void> {
  const query = { limit: 10_000 };
  const log = settle(
    await client.call(endpoints.replaySessionEvents, { params: { session_id: sessionId }, query }),
  );
  const upTo = live.at(-1)?.seq ?? 0;
  const recovered = log.filter(({ seq }) => seq > upTo);
  const [closing, failing] = recovered;
  const closed =
    closing && isIn('message', closing) && closing.kind === 'message.completed'
      ? closing.payload
      : null;
  const kinds = recovered.map(({ kind, turn_id }) =>
    turn_id === cutOff ? kind : `${kind} of another turn`,
  );
  promise(
    isDeepStrictEqual(kinds, ['message.completed', 'turn.failed']) && closed?.status === 'failed',
    `the recovery added only two events, the failed message and the failed turn: seq ${closing?.seq ?? 0} and ${failing?.seq ?? 0}`,
  );
  promise(
    isDeepStrictEqual(log, settle([...live, ...recovered])),
    `the replay matches the stream up to seq ${upTo}, followed by the recovery events`,
  );
  promise(
    closed?.text.startsWith(shownOf(closed.item_id, live)) === true,
    'the stored message contains all streamed text',
  );
}

interface Server {
  client: Client;
  pid: number;
  keeper: Identity | undefined;
  exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
}

async function startServer(): Promise<Server> {
  const { file, args } = selfCommand();
  const serve = ['--json', '--data-dir', directory, 'serve', '--demo', '--port', '0'];
  const child = spawn(file, [...args, ...serve], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env.PATH ?? '',
      TMPDIR: os.tmpdir(),
      HOME: directory,
      // The agent inherits this variable, by which its processes are found later.
      CADRE_DEMO_STATE: path.join(directory, 'demo-agent'),
    },
  });
  running = child;
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (log += text));
  const exited = once(child, 'exit').then(([code, signal]) => ({
    code,
    signal,
  })) as Server['exited'];
  const lines = createInterface({ input: child.stdout });
  const ready = await Promise.race([
    once(lines, 'line').then(([line]) => String(line)),
    exited.then(() => null),
  ]);
  if (ready === null) throw new Error(`the server did not start:\n${log}`);
  const { url, pid, token_file } = JSON.parse(ready) as {
    url: string;
    pid: number;
    token_file: string;
  };
  const client = new HttpClient({ url, token: fs.readFileSync(token_file, 'utf8').trim() });
  const { children } = await client.call(endpoints.getDiagnostics, {});
  return {
    client,
    pid,
    keeper: identify(children.keeper_pid ?? 0),
    exited: exited.finally(() => client.close()),
  };
}

async function sendTurn({ client }: Server, sessionId: string, text: string): Promise<string> {
  say(`turn: "${text}"`);
  const { turn_id } = await client.call(endpoints.sendTurn, {
    params: { session_id: sessionId },
    body: { input: { type: 'text', text } },
  });
  return turn_id;
}

/** Continues to read the event stream of the session after the last event in `reading`, up to `isLast`; prints its text. */
async function follow(
  { client }: Server,
  sessionId: string,
  reading: RuntimeEventRecord[],
  isLast: (event: RuntimeEventRecord) => boolean,
): Promise<void> {
  const after = reading.at(-1)?.seq ?? 0;
  process.stdout.write('  >');
  try {
    for await (const event of streamEvents({ client, clock: systemClock, sessionId, after })) {
      reading.push(event);
      process.stdout.write(wordsOf(event, reading));
      if (isLast(event)) return;
    }
  } finally {
    process.stdout.write('\n');
  }
}

function assertUnreachable(error: unknown): void {
  if (!(error instanceof AppError) || error.code !== 'unreachable') throw error;
}

/** The new text of an event: the last words may come with the completion. */
function wordsOf(event: RuntimeEventRecord, reading: readonly RuntimeEventRecord[]): string {
  if (!isIn('message', event)) return '';
  const { kind, payload } = event;
  const { item_id, text } = payload;
  if (kind === 'message.delta') return payload.offset === 0 ? ` ${text}` : text;
  return payload.status === 'completed' ? text.slice(shownOf(item_id, reading).length) : '';
}

/** The text of a message that its deltas have contained. */
function shownOf(item_id: string, reading: readonly RuntimeEventRecord[]): string {
  return reading
    .filter(isDescribed)
    .flatMap(({ kind, payload }) =>
      kind === 'message.delta' && payload.item_id === item_id ? [payload.text] : [],
    )
    .join('');
}

/** Throws unless the keeper and every process with our directory in its environment have ended within the limit. */
async function untilNothingLives(keeper: Identity | undefined, limitMs: number): Promise<void> {
  for (const deadline = performance.now() + limitMs; ; await pause(10)) {
    const left = await living(keeper);
    if (left.length === 0) return;
    if (performance.now() >= deadline)
      throw new Error(`check failed: processes are still running: ${left.join(', ')}`);
  }
}

async function living(keeper?: Identity): Promise<number[]> {
  const found = await processTable.carriersOf(directory, []);
  const carriers = found.flatMap((pid) => identify(pid) ?? []);
  return [...carriers, ...(keeper ? [keeper] : [])].filter(isAlive).map(({ pid }) => pid);
}

function chapter(title: string): void {
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  process.stdout.write(`\n[${seconds.padStart(4)} s] ${title}\n`);
}

function say(text: string): void {
  process.stdout.write(`  ${text}\n`);
}

/** Prints a promise that holds; throws if it is broken. */
function promise(holds: boolean, what: string): void {
  if (!holds) throw new Error(`check failed: ${what}`);
  process.stdout.write(`  ok: ${what}\n`);
}

/** Removes everything, prints the result, and exits. */
async function finish(error?: unknown): Promise<void> {
  clearTimeout(watchdog);
  running?.kill('SIGKILL');
  for (const pid of await living()) signal(pid, 'SIGKILL');
  fs.rmSync(directory, { recursive: true, force: true });
  if (error !== undefined) {
    const text = error instanceof Error ? error.message : JSON.stringify(error);
    process.stderr.write(`\ndemo failed: ${text}\n`);
  } else {
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    process.stdout.write(`\nAll checks passed in ${seconds} s. No process or file is left.\n`);
  }
  process.exit(error === undefined ? 0 : 1);
}
