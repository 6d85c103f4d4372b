import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { endpoints } from '../../src/api/index.ts';
import { identify, type Identity, isAlive, signal } from '../../src/core/children/identity.ts';
import { carriersOf } from '../../src/core/children/procfs.ts';
import { Watch } from '../support/providers/watch.ts';
import { keeperOfShim } from '../core/children/shim.ts';
import { scaled } from '../support/patience.ts';
import { ended, printed, run } from '../support/processes/work.ts';
import { below, seededRandom } from '../support/random.ts';
import { startServer, type TestServer, untilNothingCarries } from '../support/server.ts';
import { tempDirectory } from '../support/temp.ts';
import { openSession, send } from '../support/turns.ts';

/** The number of kills: `KILLS=200` for a longer campaign. */
const KILLS = Number(process.env.KILLS ?? 10);
const SEED = Number(process.env.SEED || 0) || Math.trunc(Date.now() % 1e9);
const LIFE_MS = 400;
const LIMIT_MS = scaled(10_000);
const env = { CADRE_SERVER_REATTACH_MS: '60000' };
/** A process with a descendant that has left its group and ignores signals. */
const COMMAND = `setsid sh -c 'trap "" TERM HUP; while :; do sleep 1; done' & echo up; wait`;

/** Who is killed, in this order. */
const casualties = [
  ['shim'],
  ['shim', 'server'],
  ['server', 'shim'],
  ['shim', 'keeper'],
  ['keeper', 'shim'],
  ['keeper', 'shim', 'server'],
  ['server', 'keeper', 'shim'],
] as const;

/** Returns the processes that a server has started and its shim holds, with the shim and its keeper. */
function heldBy({ directory, pid: own }: TestServer, shim: Identity, keeper: Identity): Identity[] {
  const carriers = carriersOf(directory).filter((pid) => pid !== own);
  return [...carriers.flatMap((pid) => identify(pid) ?? []), shim, keeper];
}

test(
  'When the shim is killed, alone or with others, nothing that it held is left, its turns end, and the next turns work.',
  { timeout: scaled(120_000 + KILLS * 15_000) },
  async () => {
    await using directory = tempDirectory('outlive');
    const random = seededRandom(SEED);
    let server: TestServer | undefined;
    try {
      server = await startServer(directory.path, { env });
      for (let kills = 0; kills < KILLS; kills++) {
        const what = casualties[below(casualties.length, random)] ?? casualties[0];
        const at = `SEED=${SEED}, kill ${kills} of ${what.join(', ')}`;
        const watch = new Watch(server.client);
        const turns = [];
        for (let sessions = 0; sessions < 2; sessions++) {
          const { id } = await openSession(server.client, directory.path);
          const { turn_id } = await send(server.client, id, 'repeat 100000 10 word');
          turns.push({ session_id: id, turn_id });
        }
        const process = await run(server, COMMAND, { outlive: true, cwd: directory.path });
        await printed(server, process, 'up');
        for (const { turn_id } of turns)
          await watch.until(
            'text',
            (event) => event.turn_id === turn_id && event.kind === 'message.delta',
          );
        const { children } = await server.client.call(endpoints.getDiagnostics, {});
        const shim = identify(children.shim_pid ?? 0);
        if (!shim) throw new Error('there is no shim');
        const keeper = keeperOfShim(shim);
        const lost = heldBy(server, shim, keeper);
        await pause(below(LIFE_MS, random));
        for (const one of what) {
          if (one === 'server') await server.end('SIGKILL');
          else signal((one === 'shim' ? shim : keeper).pid, 'SIGKILL');
          if (random() < 0.5) await pause(below(20, random));
        }
        await watch.stop().catch(() => undefined);
        const names: readonly string[] = what;
        // If all three are dead, the next start ends what is left.
        if (!names.includes('keeper'))
          expect({ at, left: await untilGone(lost) }).toEqual({ at, left: [] });
        if (names.includes('server')) server = await startServer(directory.path, { env });
        expect({ at, left: await untilGone(lost) }).toEqual({ at, left: [] });
        expect({ at, ...(await ended(server, process)) }).toMatchObject({ at, status: 'failed' });
        for (const { session_id, turn_id } of turns) {
          const params = { session_id, turn_id };
          const turn = await endOf(server, params);
          expect(turn.status, `${at}: ${JSON.stringify(turn.error)}`).toBe('failed');
          const next = await send(server.client, session_id, 'say again');
          const answer = await endOf(server, { session_id, turn_id: next.turn_id });
          expect(answer.status, `${at}: ${JSON.stringify(answer.error)}`).toBe('completed');
          await server.client.call(endpoints.closeSession, { params: { session_id }, body: {} });
        }
      }
      console.info(`SEED=${SEED}: ${KILLS} kills`);
    } finally {
      await server?.end('SIGTERM');
      await untilNothingCarries(directory.path);
    }
  },
);

async function untilGone(processes: readonly Identity[]): Promise<Identity[]> {
  for (const deadline = performance.now() + LIMIT_MS; ; await pause(10)) {
    const left = processes.filter(isAlive);
    if (left.length === 0 || performance.now() > deadline) return left;
  }
}

async function endOf({ client }: TestServer, params: { session_id: string; turn_id: string }) {
  for (;;) {
    const turn = await client.call(endpoints.getTurn, { params });
    if (turn.ended_at !== null) return turn;
    await pause(5);
  }
}
