import fs from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { endpoints } from '../../src/api/index.ts';
import { type Client, HttpClient } from '../../src/client/client.ts';
import { systemClock } from '../../src/core/lib/clock.ts';
import { keptPort } from '../support/kept-port.ts';
import { expectEventually } from '../support/expect-eventually.ts';
import { Receiver, signatureOf } from '../support/hooks/receiver.ts';
import { scaled } from '../support/patience.ts';
import { startServer, type TestServer, untilNothingCarries } from '../support/server.ts';
import { tempDirectory } from '../support/temp.ts';
import { openSession } from '../support/turns.ts';
import { type Random, seeded } from './crash/random.ts';

const events = Number(process.env.HOOK_EVENTS || 400);
const kills = Number(process.env.HOOK_KILLS || 2);
const seed = Number(process.env.SEED || Date.now() % 2 ** 31);
const secret = 'a secret of a test, long enough';

it(
  'Each event is delivered at least once, in order and with its id, even if the server or the receiver fails.',
  { timeout: scaled(60_000 + events * 100 + kills * 20_000) },
  async () => {
    process.stdout.write(
      `hooks campaign: ${events} events, ${kills} kills of the server, SEED=${seed}\n`,
    );
    await using place = tempDirectory();
    const directory = place.path;
    const random = seeded(seed);
    await using receiver = await new Receiver().open();
    const taken: { seq: number; id: string }[] = [];
    badly(receiver, random.fork(), taken);
    const secretFile = path.join(directory, 'secret');
    fs.writeFileSync(secretFile, secret, { mode: 0o600 });
    const lines = path.join(directory, 'lines');
    const configOf = (session: string | null) => config(receiver.url, secretFile, lines, session);
    const args = ['--demo', '--port', String(await keptPort())];
    let server = await startServer(directory, { config: configOf(null), args });
    const over = new AbortController();
    let outages = Promise.resolve();
    try {
      const ids: string[] = [];
      for (let i = 0; i < 4; i++) ids.push((await openSession(server.client, directory)).id);
      // The command receives the events of one session only, which is known only now.
      const [first = ''] = ids;
      const complete = configOf(first);
      fs.writeFileSync(path.join(directory, 'config.toml'), complete);
      process.kill(server.pid, 'SIGHUP');
      await expectEventually(async () => namesOf(server.client)).toEqual(['command', 'post']);
      outages = goingAway(receiver, random.fork(), over.signal);
      const load = new Load(server, ids);
      for (let killed = 0; killed < kills; killed++) {
        await load.reached(Math.floor((events * (killed + 1)) / (kills + 1)));
        await systemClock.sleep(random.between(0, 300));
        await server.end('SIGKILL');
        server = await startServer(directory, { config: complete, args });
      }
      await load.reached(events);
      await load.stop();
      over.abort();
      await outages;
      await caughtUp(server.client);

      const log = await eventsOf(server.client);
      expect(log.length).toBeGreaterThanOrEqual(events);
      judge(taken, log);
      for (const got of receiver.got)
        expect(got.headers['webhook-signature']).toBe(signatureOf(got, secret));
      const written = fs.readFileSync(lines, 'utf8').trim().split('\n');
      judge(
        written.map((line) => ({ seq: Number(line.split(' ')[0]), id: line.split(' ')[1] ?? '' })),
        log.filter(({ session_id }) => session_id === first),
      );
      process.stdout.write(
        `hooks campaign: ${log.length} events, ${receiver.got.length} requests, ${taken.length} taken, ${written.length} commands\n`,
      );
    } finally {
      over.abort();
      await outages;
      await server.end('SIGKILL');
      await untilNothingCarries(directory);
    }
  },
);

function config(url: string, secretFile: string, lines: string, session: string | null): string {
  const post = {
    name: 'post',
    kinds: ['session.updated'],
    url,
    secret_file: secretFile,
    timeout_ms: 1000,
  };
  const append = `cat > /dev/null; printf '%s %s\\n' "$CADRE_EVENT_SEQ" "$CADRE_EVENT_ID" >> '${lines}'`;
  const command = { name: 'command', kinds: ['session.updated'], command: append, session };
  return [post, ...(session === null ? [] : [command])].map(toml).join('');
}

function toml(hook: object): string {
  const keys = Object.entries(hook).map(([key, value]) => `${key} = ${JSON.stringify(value)}\n`);
  return `[[hooks]]\n${keys.join('')}`;
}

async function namesOf(client: Client): Promise<string[]> {
  const hooks = await client.call(endpoints.listHooks, {});
  return hooks.map(({ name }) => name).toSorted();
}

/** Most requests are taken at once; some late, some are refused, and some are taken and never answered. */
function badly(receiver: Receiver, random: Random, taken: { seq: number; id: string }[]): void {
  receiver.answer = ({ event, headers }, reply) => {
    expect(headers['webhook-id']).toBe(event.id);
    const lot = random.between(1, 1000);
    if (lot <= 2) return reply.send(503, 'not now');
    if (lot === 3) return void reply.socket.destroy();
    if (lot === 4) return;
    taken.push({ seq: event.seq, id: event.id });
    const answer = () => reply.send(lot === 5 ? 299 : 200, 'x'.repeat(lot));
    if (lot > 30) answer();
    else void systemClock.sleep(random.between(5, 60)).then(answer);
  };
}

async function goingAway(receiver: Receiver, random: Random, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await systemClock.sleep(random.between(100, 3000), signal).catch(() => undefined);
    if (signal.aborted) return;
    await receiver.close();
    await systemClock.sleep(random.between(50, 1500), signal).catch(() => undefined);
    await receiver.open();
  }
}

async function caughtUp(client: Client): Promise<void> {
  await expectEventually(
    async () => {
      const hooks = await client.call(endpoints.listHooks, {});
      return hooks.map(({ state, waiting }) => `${state} ${waiting}`);
    },
    60_000 + events * 20,
  ).toEqual(['idle 0', 'idle 0']);
}

async function eventsOf(client: Client) {
  const all = [];
  for (let after = 0; ;) {
    const query = { after_seq: after, limit: 1000, kind: ['session.updated'] };
    const page = await client.call(endpoints.replayEvents, { query });
    if (page.length === 0) return all;
    all.push(...page);
    after = page.at(-1)?.seq ?? after;
  }
}

/** All that was in the log was taken, nothing else was, and never an earlier one after a later one. */
function judge(
  taken: readonly { seq: number; id: string }[],
  log: readonly { seq: number; id: string }[],
): void {
  for (const [at, { seq }] of taken.entries())
    if (at > 0) expect(seq).toBeGreaterThanOrEqual(taken[at - 1]?.seq ?? 0);
  const named = ({ seq, id }: { seq: number; id: string }) => `${seq} ${id}`;
  expect([...new Set(taken.map(named))]).toEqual(log.map(named));
}

/** Changes sessions all the time, whatever becomes of the server. */
class Load {
  #done = 0;
  readonly #over = new AbortController();
  readonly #client: Client;
  readonly #workers: Promise<void>[];

  constructor(server: TestServer, ids: readonly string[]) {
    this.#client = new HttpClient({ url: server.url, token: server.token });
    // The first session has few events, because a command for each event takes time.
    this.#workers = ids.map((id, at) => this.#work(id, at === 0 ? 100 : 5));
  }

  reached(count: number): Promise<void> {
    return expectEventually(() => this.#done, 60_000 + events * 50).toBeGreaterThanOrEqual(count);
  }

  async stop(): Promise<void> {
    this.#over.abort();
    await Promise.all(this.#workers);
    this.#client.close();
  }

  async #work(id: string, pause: number): Promise<void> {
    for (let nth = 0; !this.#over.signal.aborted; nth++) {
      try {
        const call = { params: { session_id: id }, body: { title: `title ${nth}` } };
        await this.#client.call(endpoints.updateSession, call);
        this.#done++;
      } catch {
        // The server is away.
        await systemClock.sleep(20);
      }
      await systemClock.sleep(pause);
    }
  }
}
