import fs from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { endpoints } from '../../../../src/api/index.ts';
import type { Goal } from '../../../../src/api/goals.ts';
import { atLength } from '../../../support/at-length.ts';
import { expectEventually } from '../../../support/expect-eventually.ts';
import { scaled } from '../../../support/patience.ts';
import { startServer } from '../../../support/server.ts';
import { seededRandom } from '../../../support/random.ts';
import { testDirectory } from '../../../support/temp.ts';
import { openSession, send } from '../../../support/turns.ts';
import type { UntypedEvent } from '../../../support/untyped-events.ts';

/** `KILLS=60` for a longer run. */
const KILLS = Number(process.env.KILLS ?? atLength(1, 20, 3));
const SEED = Number(process.env.SEED || 0) || Math.trunc(Date.now() % 1e9);
const KILLS_OF_GOAL = 40;
const PLACES = ['check.starting', 'check.ended', 'turn.started', 'turn.ending', 'commit.after'];

it(
  'A server that is killed again and again counts each check once, and starts one turn for each failed check.',
  { timeout: scaled(60_000 + KILLS * 10_000) },
  async () => {
    const random = seededRandom(SEED);
    // A goal has 100 rounds at the most.
    for (let left = KILLS; left > 0; left -= KILLS_OF_GOAL)
      expect(await endsAfter(Math.min(left, KILLS_OF_GOAL), random)).toHaveLength(1);
  },
);

/** Kills the server of one goal again and again. Resolves with the events of the end of the goal. */
async function endsAfter(kills: number, random: () => number): Promise<UntypedEvent[]> {
  const directory = testDirectory('goal-killed');
  const work = testDirectory('goal-work');
  const below = (end: number) => Math.floor(random() * end);
  let server = await startServer(directory);
  const session = await openSession(server.client, work);
  const params = { session_id: session.id };
  await server.client.call(endpoints.setGoal, {
    params,
    body: { command: 'test -f done', max_rounds: 100 },
  });
  await send(server.client, session.id, 'say begun');
  for (let kill = 0; kill < kills; kill++) {
    await server.end('SIGKILL');
    const place = `${PLACES[below(PLACES.length)]}=kill@${1 + below(3)}`;
    const running = await startServer(directory, { env: { CADRE_FAILPOINTS: place } }).catch(
      () => null,
    );
    await running?.exited;
    server = await startServer(directory);
  }
  try {
    fs.writeFileSync(path.join(work, 'done'), '');
    const goal = () => server.client.call(endpoints.getGoal, { params });
    await expectEventually(goal, scaled(30_000)).toMatchObject({ status: 'passed' });
    const { round } = await goal();
    const events: UntypedEvent[] = await server.client.call(endpoints.replaySessionEvents, {
      params,
      query: { limit: 10_000 },
    });
    const checked = events.filter(({ kind }) => kind === 'goal.checked');
    const rounds = checked.map(({ payload }) => (payload.goal as Goal).round);
    expect(rounds, `with SEED=${SEED}`).toEqual(Array.from({ length: round }, (_, at) => at + 1));
    const turns = await server.client.call(endpoints.listTurns, {
      params,
      query: { limit: 500 },
    });
    const ofGoal = turns.filter(({ source }) => source === 'goal');
    expect(ofGoal, `with SEED=${SEED}`).toHaveLength(round - 1);
    const texts = ofGoal.map(
      ({ input }) => /round="(\d+) of/.exec(JSON.stringify(input).replaceAll('\\', ''))?.[1],
    );
    expect(new Set(texts).size, `with SEED=${SEED}`).toBe(round - 1);
    return events.filter(({ kind }) => kind === 'goal.ended');
  } finally {
    await server.end('SIGTERM');
  }
}
