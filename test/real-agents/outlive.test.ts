import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { endpoints } from '../../src/api/index.ts';
import { Watch } from '../support/providers/watch.ts';
import { scaled } from '../support/patience.ts';
import { below, seededRandom } from '../support/random.ts';
import { startServer, type TestServer, untilNothingCarries } from '../support/server.ts';
import { tempDirectory } from '../support/temp.ts';
import { ofKind, openSession, send } from '../support/turns.ts';
import type { UntypedEvent } from '../support/untyped-events.ts';
import { claudeConfig } from './claude-env.ts';
import { bash } from './claude-fixture.ts';
import { codexConfig } from './codex-env.ts';
import { escalated } from './codex-fixture.ts';
import { startModelServer } from './model-server.ts';
import { isSandboxed, makePlaces, showsPrograms } from './on-server.ts';

/** The number of kills of the server with each agent: `KILLS=100` for a longer run. */
const KILLS = Number(process.env.KILLS ?? 4);
const SEED = Number(process.env.SEED || 0) || Math.trunc(Date.now() % 1e9);
const PATIENCE_MS = 60_000;
const PIECES = 40;
/**
 * A server lives for so many milliseconds at the most after it has started. In a sandbox, an agent waits for seconds before it
 * asks its model again, and gives up after some failures in a row.
 */
const LIFE_MS = isSandboxed ? 8000 : 700;

/** As often as the agents do by default, because in a sandbox the connection to the model ends with the server. */
const RETRIES = 10;

interface Place {
  home: string;
  modelUrl: string;
}

const agents = {
  claude: {
    configure: (place: Place) =>
      claudeConfig({ ...place, more: { env: { CLAUDE_CODE_MAX_RETRIES: String(RETRIES) } } }),
    command: (line: string) => bash(line, 'writes a line'),
  },
  codex: {
    configure: (place: Place) => codexConfig({ ...place, asks: true, retries: RETRIES }),
    command: escalated,
  },
};

test.each(['claude', 'codex'] as const)(
  'A turn of %s continues after the server was killed or has handed it over: its text is whole, and its request is asked and answered once.',
  async (provider) => {
    await using model = await startModelServer();
    await using directory = tempDirectory('outlive');
    const { server: data, home, work } = makePlaces(directory.path);
    const agent = agents[provider];
    const config = agent.configure({ home, modelUrl: model.url });
    const { host } = new URL(model.url);
    const network = {
      CADRE_SANDBOX_NETWORK: 'hosts',
      CADRE_SANDBOX_HOSTS: host.replace('127.0.0.1', 'localhost'),
    };
    const env = { ...showsPrograms, ...network, CADRE_SERVER_REATTACH_MS: '60000' };
    const start = () => startServer(data, { config, env });
    const random = seededRandom(SEED);
    let server: TestServer | undefined;
    let commands = 0;
    let attached = 0;
    /** The newest event that the last server has shown, and how many servers in a row have stored nothing of the turn. */
    let newest = 0;
    let idle = 0;
    let turn: { session: string; id: string; isCommand: boolean } | null = null;
    try {
      for (let kills = 0; kills <= KILLS; kills++) {
        server = await start();
        const { client } = server;
        const watch = new Watch(client, undefined, PATIENCE_MS);
        const recovery = await client.call(endpoints.getRecovery, {});
        expect(recovery.turns_failed, `SEED=${SEED}, kill ${kills}\n${server.log()}`).toEqual([]);
        attached += recovery.turns_attached?.length ?? 0;
        if (!turn) {
          const isCommand: boolean = random() < 0.5;
          const mode = { provider, permission_mode: 'require_approval' };
          const { id: session } = await openSession(client, work, mode);
          const prompt = isCommand ? agent.command('echo once >> approved') : `@@slow:${PIECES}:50`;
          turn = { session, id: (await send(client, session, prompt)).turn_id, isCommand };
          commands += Number(isCommand);
          await watch.kind('turn.started', turn.id);
        }
        const { id, session, isCommand }: { id: string; session: string; isCommand: boolean } =
          turn;
        const isLast = kills === KILLS;
        const ended = watch.end(id, PATIENCE_MS);
        ended.catch(() => undefined);
        // A turn fails once three servers have died without progress.
        const waits = idle >= 2;
        const { seq: started } = await watch.until(
          'recovery',
          ({ kind, seq }) => kind === 'runtime.recovered' && seq > newest,
        );
        const isProgress = ({ turn_id, seq }: UntypedEvent) => turn_id === id && seq > started;
        if (isCommand && (isLast || waits || random() < 0.7)) {
          const asked = watch.kind('approval.requested', id).then(async ({ payload }) => {
            const { id: approval_id } = payload.approval as { id: string };
            const body = { decision: 'accept' as const };
            const params = { session_id: session, approval_id };
            await client.call(endpoints.decideApproval, { params, body });
          });
          asked.catch(() => undefined);
        }
        if (waits) await Promise.race([watch.until('progress', isProgress), ended]);
        await (isLast ? ended : Promise.race([pause(below(LIFE_MS, random)), ended]));
        idle = watch.events.some(isProgress) ? 0 : idle + 1;
        newest = watch.events.at(-1)?.seq ?? newest;
        const end = watch
          .of(id)
          .find(({ kind }) => /^turn\.(completed|failed|interrupted)$/.test(kind));
        if (end) {
          expect(end.kind, `SEED=${SEED}, kill ${kills}: ${JSON.stringify(end.payload)}`).toBe(
            'turn.completed',
          );
          expect(ofKind(watch.of(id), 'approval.requested')).toHaveLength(isCommand ? 1 : 0);
          const text = ofKind(watch.of(id), 'message.completed')
            .map(({ payload }) => String(payload.text))
            .join('');
          const whole = Array.from({ length: PIECES }, (_, at) => `c${at}`).join(' ');
          // In a sandbox, an agent whose answer was cut off asks its model again.
          const said = isSandboxed ? text.trim().slice(-whole.length) : text.trim();
          if (!isCommand) expect(said).toBe(whole);
          turn = null;
        }
        await watch.stop();
        await server.end(isLast ? 'SIGTERM' : random() < 0.3 ? 'SIGUSR2' : 'SIGKILL');
      }
      const lines = commands === 0 ? '' : readFileSync(join(work, 'approved'), 'utf8');
      expect(lines).toBe('once\n'.repeat(commands));
      console.info(`SEED=${SEED}: ${KILLS} kills with ${provider}, attached ${attached} times`);
    } finally {
      await server?.end('SIGKILL');
      const last = await start();
      await last.end('SIGTERM');
      await untilNothingCarries(directory.path);
    }
  },
  scaled(120_000 + KILLS * 20_000),
);
