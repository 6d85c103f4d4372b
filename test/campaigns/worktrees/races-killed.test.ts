import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import type { Race } from '../../../src/api/races.ts';
import type { Client } from '../../../src/client/client.ts';
import { expectEventually } from '../../support/expect-eventually.ts';
import { scaled } from '../../support/patience.ts';
import { seededRandom } from '../../support/random.ts';
import { startServer, untilNothingCarries } from '../../support/server.ts';
import { tempDirectory } from '../../support/temp.ts';
import type { UntypedEvent } from '../../support/untyped-events.ts';
import { get, git, makeRepository, restore } from '../../support/worktrees/work.ts';

/** The number of races, each of which is killed twice: `KILLS=200` for a longer campaign. */
const KILLS = Number(process.env.KILLS ?? 2);
const SEED = Number(process.env.SEED || 0) || Math.trunc(Date.now() % 1e9);
/** A kill comes within this time after its request, in milliseconds. */
const WINDOW_MS = 1500;
/** The places where every second kill happens. */
const PLACES = [
  'race.starting',
  'race.judging',
  'check.ended',
  'worktree.creating',
  'worktree.made',
];
const STARTED = 'race.contender_started';
const PLACES_OF_CLEANUP = ['race.kept', 'worktree.archived', 'worktree.aside', 'worktree.removed'];

test(
  'A server that is killed at any time of a race starts each turn, judges each contender and keeps one of them exactly once.',
  { timeout: scaled(120_000 + KILLS * 60_000) },
  async () => {
    await using directory = tempDirectory('races-killed');
    const data = path.join(directory.path, 'data');
    fs.mkdirSync(data);
    const repo = makeRepository(path.join(directory.path, 'repo'));
    const random = seededRandom(SEED);
    const below = (end: number) => Math.floor(random() * end);
    let server = await startServer(data);
    let about = '';

    /** Runs `request` on a server that dies at a random time or place, and starts the next server. */
    async function killed(places: string[], request: (client: Client) => Promise<unknown>) {
      const place = random() < 0.5 ? places[below(places.length)] : undefined;
      if (place !== undefined) {
        await server.end('SIGTERM');
        const env = { CADRE_FAILPOINTS: `${place}=kill@${1 + below(2)}` };
        server = await startServer(data, { env });
      }
      const under = request(server.client).catch(() => undefined);
      await Promise.race([pause(below(WINDOW_MS)), ...(place ? [server.exited] : [])]);
      await server.end('SIGKILL');
      await under;
      server = await startServer(data);
    }
    try {
      for (let round = 0; round < KILLS; round++) {
        about = `SEED=${SEED}, race ${round}`;
        const name = `race-${round}`;
        const start = (client: Client) =>
          client.call(
            endpoints.startRace,
            {
              body: {
                name,
                prompt: 'say done',
                cwd: repo,
                contenders: [{ provider: 'acp' }, { provider: 'acp' }],
                check: 'echo work > work.txt',
              },
            },
            undefined,
            name,
          );
        await killed(PLACES, start);
        const { id: race_id } = await start(server.client);
        const params = { race_id };
        const race = () => server.client.call(endpoints.getRace, { params });
        await expectEventually(race, scaled(40_000)).toMatchObject({
          status: 'ended',
          contenders: [
            { status: 'passed', checks: 1, files_changed: 1 },
            { status: 'passed', checks: 1, files_changed: 1 },
          ],
        });
        const { contenders } = await race();
        for (const { session_id } of contenders) {
          const ofSession = { session_id: session_id ?? '' };
          const turns = await server.client.call(endpoints.listTurns, { params: ofSession });
          expect(
            turns.map(({ source }) => source),
            `with ${about}`,
          ).toEqual(['user']);
        }

        const keep = (client: Client) =>
          client.call(endpoints.keepContender, { params, body: { contender: 'acp-2' } });
        await killed(PLACES_OF_CLEANUP, keep);
        await keep(server.client);
        const [lost, kept] = contenders;
        const tree = (id: string | null | undefined) => get(server, { id: id ?? '' });
        await expectEventually(() => tree(lost?.worktree_id), scaled(20_000)).toMatchObject({
          status: 'cleaned',
          archive_ref: expect.any(String),
        });
        const left = await tree(kept?.worktree_id);
        expect(left.status, `with ${about}`).toBe('active');
        const again = await restore(server, { id: lost?.worktree_id ?? '' });
        for (const { path: place } of [left, again])
          expect(fs.readFileSync(path.join(place, 'work.txt'), 'utf8')).toBe('work\n');

        const events: UntypedEvent[] = await server.client.call(endpoints.replayEvents, {
          query: { limit: 10_000, kind: ['race.*'] },
        });
        const isOf = ({ payload }: UntypedEvent) =>
          (payload.race_id ?? (payload.race as Race | undefined)?.id) === race_id;
        expect(
          // The second contender may start before or after the result of the first one.
          events.filter(isOf).flatMap(({ kind }) => (kind === STARTED ? [] : [kind])),
          `with ${about}`,
        ).toEqual(['race.started', 'race.judged', 'race.judged', 'race.ended', 'race.kept']);
        expect(
          events.filter((one) => isOf(one) && one.kind === STARTED),
          `with ${about}`,
        ).toHaveLength(2);
        git(repo, 'fsck', '--connectivity-only', '--no-dangling');
        expect(git(repo, 'status', '--porcelain'), `with ${about}`).toBe('');
      }
      const counts = await server.client.call(endpoints.getWorktreeDiagnostics, {});
      expect(counts).toMatchObject({ missing: 0, under_way: 0 });
      console.info(`SEED=${SEED}: ${KILLS} races`);
    } catch (error) {
      throw new Error(`failed with ${about}`, { cause: error });
    } finally {
      await server.end('SIGKILL');
      await untilNothingCarries(directory.path);
    }
  },
);
