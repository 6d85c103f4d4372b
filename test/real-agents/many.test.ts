import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { carriersOf } from '../../src/core/children/procfs.ts';
import type { Client } from '../../src/client/client.ts';
import { streamEvents } from '../../src/client/stream.ts';
import { systemClock } from '../../src/core/lib/clock.ts';
import { send, turnOf, until } from '../support/providers/calls.ts';
import { isEnd } from '../support/providers/watch.ts';
import { startServer, untilNothingCarries } from '../support/server.ts';
import { tempDirectory } from '../support/temp.ts';
import { openSession, runTurn } from '../support/turns.ts';
import { claudeConfig } from './claude-env.ts';
import { startModelServer } from './model-server.ts';
import { makePlaces } from './on-server.ts';
import { partsOf, tapModel, textOf } from './model-tap.ts';
import { argumentsOf } from '../support/processes/command-line.ts';
import { scaled } from '../support/patience.ts';

const SESSIONS = process.env.AGENTS === 'part' ? 12 : 100;
const MAX_LIVE = 8;

test(
  `${SESSIONS} sessions of Claude have at most ${MAX_LIVE} processes, stop them all when idle, and resume with their history.`,
  async () => {
    await using model = await startModelServer();
    await using tap = await tapModel(model.url);
    await using directory = tempDirectory('many');
    const { server, home, work } = makePlaces(directory.path);
    const config = claudeConfig({ home, modelUrl: tap.url });
    const env = {
      CADRE_PROVIDERS_MAX_LIVE: String(MAX_LIVE),
      CADRE_PROVIDERS_IDLE_TIMEOUT_MS: '200',
    };
    const { client, end } = await startServer(server, { config, env });
    try {
      const most = mostAtOnce(home);
      const sent = [];
      for (let number = 0; number < SESSIONS; number++) {
        const session = await openSession(client, work, { provider: 'claude' });
        sent.push({ session, turnId: await send(client, session, promptOf(number)) });
      }
      await ends(client, SESSIONS);
      expect(await most.end()).toBeLessThanOrEqual(MAX_LIVE);
      for (const [number, { session, turnId }] of sent.entries()) {
        const turn = await turnOf(client, session, turnId);
        expect(turn).toMatchObject({ status: 'completed', text: `number ${number}` });
      }
      await until('no claude is left', () => claudesIn(home).length === 0);

      const step = Math.floor(SESSIONS / 5);
      for (const number of [0, 1, 2, 3, 4].map((one) => one * step)) {
        const { turn } = await runTurn(client, sent[number]?.session.id ?? '', '@@say:I do');
        expect(turn.status).toBe('completed');
        expect(tap.lastConversation().flatMap(partsOf).map(textOf)).toContain(promptOf(number));
      }
    } finally {
      await end('SIGTERM');
      await untilNothingCarries(directory.path);
    }
  },
  scaled(240_000),
);

function promptOf(number: number): string {
  return `@@say:number ${number}`;
}

/** Resolves when so many turns have ended. */
async function ends(client: Client, count: number): Promise<void> {
  let ended = 0;
  for await (const event of streamEvents({ client, clock: systemClock })) {
    if (isEnd(event) && ++ended === count) return;
  }
}

/** Counts processes until it is stopped, and returns the maximum. */
function mostAtOnce(home: string): { end(): Promise<number> } {
  const stop = new AbortController();
  const counted = (async () => {
    let most = 0;
    for (; !stop.signal.aborted; await pause(50)) most = Math.max(most, claudesIn(home).length);
    return most;
  })();
  return {
    end() {
      stop.abort();
      return counted;
    },
  };
}

/** The processes that serve a session each; what they start themselves is not among them. */
function claudesIn(home: string): number[] {
  return carriersOf(home).filter((pid) => argumentsOf(pid).includes('stream-json'));
}
