import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'smol-toml';
import { expect, test } from 'vitest';
import { decide } from '../support/providers/calls.ts';
import { WatchedSession } from '../support/providers/provider-harness.ts';
import { startServer, untilNothingCarries } from '../support/server.ts';
import { tempDirectory } from '../support/temp.ts';
import { openSession } from '../support/turns.ts';
import { geminiEnvironment } from './gemini-env.ts';
import { agentStart } from './install.ts';
import { startModelServer } from './model-server.ts';
import { makePlaces, showsPrograms } from './on-server.ts';

const PATIENCE_MS = 60_000;

test('If an incomplete request of gemini is accepted after a restart, gemini asks again.', () =>
  overRestart(1, async ({ session, restart, work }) => {
    const { turnId, approval } = await session.asks('@@shell:touch asked');
    expect(approval.subject).toBeNull();
    const after = await restart();
    await decide(after.client, approval, 'accept');
    const { payload } = await after.watch.until(
      'another request',
      ({ kind, payload: { approval: next } }) =>
        kind === 'approval.requested' && (next as typeof approval).id !== approval.id,
    );
    await decide(after.client, payload.approval as typeof approval, 'decline');
    expect((await after.watch.end(turnId)).kind).toBe('turn.completed');
    expect(existsSync(join(work, 'asked'))).toBe(false);
  }));

test('A session that Gemini has lost fails with resume_failed at its next turn.', () =>
  overRestart(0, async ({ session, restart }) => {
    await session.run('@@say:first');
    const after = await restart();
    const turn = await after.run('@@say:second');
    expect(turn).toMatchObject({ status: 'failed', error: { code: 'resume_failed' } });
    expect((await after.record()).status).toBe('failed');
  }));

interface Restarted {
  work: string;
  session: WatchedSession;
  /** Ends the server by SIGKILL and starts it again; gives the same session. */
  restart(): Promise<WatchedSession>;
}

/** Runs a test with a gemini whose clock advances by this number of minutes with each start. */
async function overRestart(
  clockStep: number,
  use: (place: Restarted) => Promise<void>,
): Promise<void> {
  await using model = await startModelServer();
  await using directory = tempDirectory('gemini');
  const { server: data, home, work } = makePlaces(directory.path);
  const env = geminiEnvironment({ home, modelUrl: model.url, clockStep });
  const gemini = { ...agentStart('gemini'), env };
  const config = stringify({ providers: { acp: { agents: { gemini } } } });
  let server = await startServer(data, { config, env: showsPrograms });
  await using stack = new AsyncDisposableStack();
  const watched = (id: string) => {
    const session = new WatchedSession(server.client, id, PATIENCE_MS);
    stack.use(session.watch);
    return session;
  };
  try {
    const more = { agent: 'gemini', permission_mode: 'require_approval' };
    const { id } = await openSession(server.client, work, more);
    await use({
      work,
      session: watched(id),
      async restart() {
        await server.end('SIGKILL');
        await untilNothingCarries(directory.path);
        server = await startServer(data, { config, env: showsPrograms });
        return watched(id);
      },
    });
  } finally {
    await server.end('SIGTERM');
    await untilNothingCarries(directory.path);
  }
}
