import path from 'node:path';
import { expect, it } from 'vitest';
import { endpoints } from '../../../../src/api/index.ts';
import type { PastTurn } from '../../../../src/api/conversations.ts';
import { atLength } from '../../../support/at-length.ts';
import { expectEventually } from '../../../support/expect-eventually.ts';
import { readEvents } from '../../../support/imports.ts';
import { scaled } from '../../../support/patience.ts';
import { seededRandom } from '../../../support/random.ts';
import { startServer } from '../../../support/server.ts';
import { testDirectory } from '../../../support/temp.ts';
import { Transcript } from '../../../support/transcripts.ts';

/** `KILLS=60` for a longer run. */
const KILLS = Number(process.env.KILLS ?? atLength(1, 20, 4));
const SEED = Number(process.env.SEED || 0) || Math.trunc(Date.now() % 1e9);
const PLACES = ['import.begun', 'import.stored', 'commit.before', 'commit.after'];
const TURNS = 170;

it(
  'A server that is killed between the transactions of imports stores each past turn once, in order.',
  { timeout: scaled(60_000 + KILLS * 15_000) },
  async () => {
    const directory = testDirectory('import-killed');
    const home = testDirectory('import-home');
    const random = seededRandom(SEED);
    const below = (end: number) => Math.floor(random() * end);
    const config = `[providers.claude]\nenabled = true\ncommand = "${process.execPath}"\nenv = { HOME = "${home}" }\n`;
    const expected = Array.from({ length: TURNS }, (_, at) => `prompt ${at}`);
    for (let kill = 0; kill < KILLS; kill++) {
      const transcript = new Transcript(home, { cwd: home });
      for (const prompt of expected) transcript.turn(prompt);
      const place = `${PLACES[below(PLACES.length)]}=kill@${1 + below(4)}`;
      const options = { config, env: { CADRE_FAILPOINTS: place } };
      const running = await startServer(path.join(directory, String(kill)), options).catch(
        () => null,
      );
      const body = { provider: 'claude' as const, import: { ref: transcript.ref } };
      const key = `import-${kill}`;
      // The server may die before, between or after the transactions of the import.
      await running?.client
        .call(endpoints.createSession, { body }, undefined, key)
        .catch(() => undefined);
      await running?.end('SIGKILL');
      const server = await startServer(path.join(directory, String(kill)), { config });
      try {
        const { id } = await server.client.call(endpoints.createSession, { body }, undefined, key);
        const params = { session_id: id };
        const session = () => server.client.call(endpoints.getSession, { params });
        await expectEventually(session, scaled(30_000)).toMatchObject({
          imported: { past_turns: TURNS, omitted_turns: 0, complete: true },
        });
        const query = { limit: 500 };
        const past: PastTurn[] = await server.client.call(endpoints.listPastTurns, {
          params,
          query,
        });
        expect(
          past.toReversed().map(({ prompt }) => prompt),
          `with SEED=${SEED} and ${place}`,
        ).toEqual(expected);
        const kinds = (await readEvents(server.client, id)).map(({ kind }) => kind);
        expect(
          kinds.filter((kind) => kind === 'past.turn'),
          `with SEED=${SEED} and ${place}`,
        ).toHaveLength(TURNS);
        expect(
          kinds.filter((kind) => kind === 'session.imported'),
          `with SEED=${SEED} and ${place}`,
        ).toHaveLength(1);
        const sessions = await server.client.call(endpoints.listSessions, { query: {} });
        expect(sessions, `with SEED=${SEED} and ${place}`).toHaveLength(1);
      } finally {
        await server.end('SIGTERM');
      }
    }
  },
);
