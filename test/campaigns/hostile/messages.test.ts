import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { endpoints } from '../../../src/api/index.ts';
import type { Client } from '../../../src/client/client.ts';
import { scaled } from '../../support/patience.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { tempDirectory } from '../../support/temp.ts';
import { seeded } from '../crash/random.ts';
import { LOUD_AGENT } from './messages.ts';

/** How long `/health` may take while an agent sends what is large. Only the whole campaign asserts it. */
const LIMIT_MS = 200;
const isWhole = Number(process.env.HOSTILE_ROUNDS ?? 1) > 1;
/** The small form tries so many random attacks, or fewer if some are drawn twice. */
const SOME = 8;

/** Asks for `/health` until something is over. Resolves with the longest time that an answer took, in ms. */
async function slowestHealth({ url }: TestServer, isOver: () => boolean): Promise<number> {
  let slowest = 0;
  while (!isOver()) {
    const before = performance.now();
    const { status } = await fetch(`${url}/health`);
    expect(status).toBe(200);
    slowest = Math.max(slowest, performance.now() - before);
  }
  return slowest;
}

/** Runs a turn in a session of its own, and declines whatever its agent asks for. Resolves with how it ended. */
async function attack(client: Client, cwd: string, text: string): Promise<string> {
  const session = await client.call(endpoints.createSession, {
    body: { provider: 'acp', cwd, permission_mode: 'require_approval' },
  });
  const params = { session_id: session.id };
  const { turn_id } = await client.call(endpoints.sendTurn, {
    params,
    body: { input: [{ type: 'text', text }] },
  });
  for (;;) {
    const turn = await client.call(endpoints.getTurn, { params: { ...params, turn_id } });
    if (['completed', 'failed', 'interrupted'].includes(turn.status)) {
      await client.call(endpoints.closeSession, { params, body: {} });
      return turn.status;
    }
    if (turn.status === 'waiting_for_approval') await decline(client, session.id);
  }
}

async function decline(client: Client, session_id: string): Promise<void> {
  const query = { status: 'pending' as const };
  const params = { session_id };
  for (const { id } of await client.call(endpoints.listSessionApprovals, { params, query }))
    await client.call(endpoints.decideApproval, {
      params: { session_id, approval_id: id },
      body: { decision: 'decline' },
    });
}

test(
  'Huge messages of an agent do not block the server.',
  { timeout: scaled(600_000) },
  async () => {
    await using directory = tempDirectory('messages');
    const program = path.join(directory.path, 'loud.mjs');
    fs.writeFileSync(program, LOUD_AGENT);
    const names = JSON.parse(
      execFileSync(process.execPath, [program, 'names'], { encoding: 'utf8' }),
    ) as string[];
    const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31);
    console.info(`hostile messages: SEED=${seed}`);
    const random = seeded(seed);
    // 700 MB take a minute.
    const usual = names.filter((name) => !name.startsWith('700 '));
    const tried = isWhole ? names : new Set(Array.from({ length: SOME }, () => random.pick(usual)));
    const config = `[providers.acp]\ncommand = ${JSON.stringify(process.execPath)}\nargs = [${JSON.stringify(program)}]\n`;
    const place = path.join(directory.path, 'data');
    fs.mkdirSync(place);
    const server = await startServer(place, { config });
    try {
      const took: Record<string, number> = {};
      for (const name of tried) {
        let isOver = false;
        const watched = slowestHealth(server, () => isOver);
        const status = await attack(server.client, directory.path, name);
        isOver = true;
        took[name] = Math.round(await watched);
        expect([name, status]).toEqual([name, 'completed']);
      }
      console.info(
        `hostile messages: the slowest /health, in ms: ${JSON.stringify(took, null, 1)}`,
      );
      if (isWhole) expect(Object.entries(took).filter(([, ms]) => ms > LIMIT_MS)).toEqual([]);
      expect(server.log()).not.toContain('failed because of a bug');
      expect(await server.end('SIGTERM')).toEqual({ code: 0, signal: null });
    } finally {
      await server.end('SIGKILL');
    }
  },
);
