// An approval that is given after the server was killed: it allows what was shown, and nothing else. The agents are
// played, one for each provider, in a server of its own process that is ended by SIGKILL.
import { once } from 'node:events';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { stringify } from 'smol-toml';
import { describe, expect, test } from 'vitest';
import type { Approval } from '../../src/api/approvals.ts';
import { endpoints } from '../../src/api/index.ts';
import { startServer, untilNothingCarries } from '../support/server.ts';
import { tempDirectory } from '../support/temp.ts';
import { asked, decide, turnOf } from '../support/providers/calls.ts';
import { type Played, receive } from '../support/providers/played-stage.ts';
import { never, RawAgent } from '../support/providers/raw-agent.ts';
import { RawClaude } from '../support/providers/raw-claude.ts';
import { RawCodex, type RawTurn } from '../support/providers/raw-codex.ts';
import { Watch } from '../support/providers/watch.ts';
import { type WishRow, wishRows } from '../support/providers/wishes.ts';

const PATIENCE_MS = 60_000;

/** What an agent shows, and what it would do: one line more in a file of its directory. */
interface Wish {
  shown: object;
  effect: string;
}

/** A provider whose agent is told a text and then wishes something. */
interface Troupe {
  /** An agent that wishes the first thing when it is told to go, and the second when it is taken up again. */
  play(wishes: readonly Wish[], place: Place): (socket: net.Socket, hello: Hello) => Played;
}

type Hello = { pid: number; cwd: string };
interface Place {
  socket: string;
  done: (effect: string) => void;
}

/** Says which of the wishes an agent is at: the first until the server has died. */
function inOrder(wishes: readonly Wish[]): () => Wish {
  let at = 0;
  return () => wishes[at++] as Wish;
}

const acp: Troupe = {
  play: (wishes, { done }) => {
    const next = inOrder(wishes);
    return (socket, hello) =>
      new RawAgent(socket, hello, {
        methods: {
          'session/prompt': async (_params, agent) => {
            const { shown, effect } = next();
            const { optionId } = await agent.ask(shown);
            if (optionId === 'a1') done(effect);
            return { stopReason: 'end_turn' };
          },
        },
      });
  },
};

const claude: Troupe = {
  play: (wishes, { done }) => {
    const next = inOrder(wishes);
    const turn = async (agent: RawClaude) => {
      const { shown, effect } = next();
      const { tool, input } = shown as { tool: string; input: object };
      const { response } = await agent.ask(`q${effect}`, tool, input).catch(() => never);
      if ((response as { behavior: string }).behavior === 'allow') done(effect);
      agent.result();
    };
    const turns = new Proxy({}, { get: () => turn });
    return (socket, { pid }) => new RawClaude(socket, pid, { turns });
  },
};

const codex: Troupe = {
  play: (wishes, { done }) => {
    const next = inOrder(wishes);
    const memory = new Map<string, number>();
    const turn = async (played: RawTurn) => {
      const { shown, effect } = next();
      const { item, method, params } = shown as { item?: object; method: string; params: object };
      if (item) played.begin({ ...item, id: 'i', status: 'inProgress' });
      const asking = played.ask(method, { itemId: 'i', ...params }, `q${effect}`);
      const { result } = await asking.catch(() => never);
      const { decision, action } = result as { decision?: string; action?: string };
      if (decision === 'accept' || action === 'accept') done(effect);
      played.complete();
    };
    const turns = new Proxy({}, { get: () => turn });
    return (socket, { pid }) => new RawCodex(socket, pid, { turns }, memory);
  },
};

const troupes: Record<WishRow['provider'], Troupe> = { acp, claude, codex };
/** A server is killed for each of these; the requests of all rows are compared in unit/providers/approvals. */
const names = new Set([
  'a title alone',
  'the name of a file without its content',
  'the content of a file',
  'a command',
  'the content of a file, which its item holds',
  'a change of files of which nothing is told',
]);
const rows = wishRows.filter(({ name }) => names.has(name));

describe('an approval given after the server was killed', () => {
  test.for(rows)('is not good for something else ($provider: $name)', ({ provider, good, evil }) =>
    acrossKill(provider, [good, evil], async ({ approval, again, effects }) => {
      const second = await again();
      expect(second.id).not.toBe(approval.id);
      expect(effects()).toBe('');
      return 'decline';
    }),
  );

  test.for(rows.filter(({ isWhole }) => isWhole))(
    'lets the same run once, without another question ($provider: $name)',
    ({ provider, good }) =>
      acrossKill(provider, [good, good], async ({ end, effects, approvals }) => {
        await end();
        expect(effects()).toBe('second\n');
        expect(await approvals()).toHaveLength(1);
        return null;
      }),
  );

  test.for(rows.filter(({ isWhole }) => !isWhole))(
    'lets the same run once, when it was asked for again ($provider: $name)',
    ({ provider, good }) =>
      acrossKill(provider, [good, good], async ({ again, effects }) => {
        await again();
        expect(effects()).toBe('');
        return 'accept';
      }),
  );
});

interface Scene {
  approval: Approval;
  /** The second thing that is asked for, once it is. */
  again(): Promise<Approval>;
  /** Resolves when the turn has ended. */
  end(): Promise<void>;
  effects(): string;
  approvals(): Promise<Approval[]>;
}

/**
 * Has an agent ask for the first of two things, kills the server, accepts after the restart, and has the agent ask for
 * the second. `test` answers how to decide what was asked for again.
 */
async function acrossKill(
  provider: WishRow['provider'],
  shown: readonly [object, object],
  test: (scene: Scene) => Promise<'accept' | 'decline' | null>,
): Promise<void> {
  await using own = tempDirectory('away');
  const marker = path.join(own.path, 'marker');
  const socket = path.join(own.path, 'socket');
  const done = (effect: string) => appendFileSync(marker, `${effect}\n`);
  const effects = () => (existsSync(marker) ? readFileSync(marker, 'utf8') : '');
  const wishes = [
    { shown: shown[0], effect: 'first' },
    { shown: shown[1], effect: 'second' },
  ];
  const play = troupes[provider].play(wishes, { socket, done });
  const agents: Played[] = [];
  await using theatre = net.createServer((connection) =>
    receive(connection, (hello) => play(connection, hello), agents),
  );
  theatre.listen(socket);
  await once(theatre, 'listening');
  const puppet = path.join(import.meta.dirname, '../support/providers/puppet.mjs');
  const env = { PUPPET_SOCKET: socket, HOME: own.path };
  const agent = { command: process.execPath, args: [puppet], env };
  const config = stringify({ providers: { [provider]: agent } });

  const before = await startServer(own.path, { config });
  const body = {
    provider,
    cwd: own.path,
    permission_mode: 'require_approval',
  };
  const session = await before.client.call(endpoints.createSession, { body });
  const params = { session_id: session.id };
  const input = [{ type: 'text' as const, text: 'go' }];
  const { turn_id } = await before.client.call(endpoints.sendTurn, { params, body: { input } });
  let approval: Approval;
  {
    await using watch = new Watch(before.client, session.id, PATIENCE_MS);
    approval = await asked(watch, turn_id);
    await before.end('SIGKILL');
  }
  await untilNothingCarries(own.path);

  const after = await startServer(own.path, { config });
  try {
    await using watch = new Watch(after.client, session.id, PATIENCE_MS);
    await decide(after.client, approval, 'accept');
    const verdict = await test({
      approval,
      async again() {
        const { payload } = await watch.until(
          'another approval',
          ({ kind, payload: { approval: one } }) =>
            kind === 'approval.requested' && (one as Approval).id !== approval.id,
        );
        return payload.approval as Approval;
      },
      async end() {
        await watch.end(turn_id);
      },
      effects,
      approvals: () => after.client.call(endpoints.listSessionApprovals, { params, query: {} }),
    });
    if (verdict !== null) {
      const [pending] = await after.client.call(endpoints.listSessionApprovals, {
        params,
        query: { status: 'pending' },
      });
      await decide(after.client, pending as Approval, verdict);
      await watch.end(turn_id);
      expect(effects()).toBe(verdict === 'accept' ? 'second\n' : '');
    }
    expect((await turnOf(after.client, session, turn_id)).status).toBe('completed');
  } finally {
    await after.end('SIGKILL');
    await untilNothingCarries(own.path);
  }
}
