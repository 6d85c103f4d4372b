// An approval that is given after the server was killed allows the action that was shown, and nothing else. One SIGKILL
// ends a server process while all scripted agents wait for an answer.
import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import type net from 'node:net';
import path from 'node:path';
import { stringify } from 'smol-toml';
import { expect, test } from 'vitest';
import type { Approval } from '../../src/api/approvals.ts';
import { endpoints } from '../../src/api/index.ts';
import type { Client } from '../../src/client/client.ts';
import { startServer, untilNothingCarries } from '../support/server.ts';
import { shared } from '../support/shared.ts';
import { tempDirectory } from '../support/temp.ts';
import { asked, decide, send, turnOf } from '../support/providers/calls.ts';
import { never, RawAgent } from '../support/providers/raw-agent.ts';
import { RawClaude } from '../support/providers/raw-claude.ts';
import { RawCodex, type RawTurn } from '../support/providers/raw-codex.ts';
import {
  type ControlledProcess,
  type Hello,
  listenForAgents,
} from '../support/providers/scripted-agent.ts';
import { Watch } from '../support/providers/watch.ts';
import { type RequestRow, requestRows } from './requested-actions.ts';

const PATIENCE_MS = 60_000;

/** A session whose agent requests two actions: the first before the server is killed, the second after the restart. */
class Scene {
  readonly row: RequestRow;
  readonly #requests: readonly object[];
  #at = 0;
  #place = '';

  constructor(row: RequestRow, requests: readonly [object, object]) {
    this.row = row;
    this.#requests = requests;
  }

  /** Returns the next request, and a function that performs its action: it appends a line to a file. */
  next(): { shown: object; effect: string; done: () => void } {
    const shown = this.#requests[this.#at++] as object;
    const effect = this.#at === 1 ? 'first' : 'second';
    return { shown, effect, done: () => appendFileSync(this.#marker(), `${effect}\n`) };
  }

  effects(): string {
    return existsSync(this.#marker()) ? readFileSync(this.#marker(), 'utf8') : '';
  }

  /** Sets the directory of the session, by which its agent is found. */
  begin(place: string): void {
    mkdirSync(place);
    this.#place = place;
  }

  worksIn(directory: string): boolean {
    return directory === this.#place;
  }

  #marker(): string {
    return `${this.#place}.done`;
  }
}

/** Connects one scripted agent of a provider. The directory of its process identifies the session, except in codex. */
type AgentFactory = (socket: net.Socket, hello: Hello, scene: Scene) => ControlledProcess;

const acp: AgentFactory = (socket, hello, scene) =>
  new RawAgent(socket, hello, {
    methods: {
      'session/prompt': async (_params, agent) => {
        const { shown, done } = scene.next();
        const { optionId } = await agent.ask(shown);
        if (optionId === 'a1') done();
        return { stopReason: 'end_turn' };
      },
    },
  });

const claude: AgentFactory = (socket, hello, scene) => {
  const turn = async (agent: RawClaude) => {
    const { shown, effect, done } = scene.next();
    const { tool, input } = shown as { tool: string; input: object };
    const { response } = await agent.ask(`q${effect}`, tool, input).catch(() => never);
    if ((response as { behavior: string }).behavior === 'allow') done();
    agent.result();
  };
  return new RawClaude(socket, hello, { turns: new Proxy({}, { get: () => turn }) });
};

/** One process for all sessions: the text of the first turn identifies the session of a thread. */
function codexFor(sceneOf: (text: string) => Scene): AgentFactory {
  const memory = new Map<string, number>();
  const threads = new Map<string, Scene>();
  const turnOf = (text: string) => async (rawTurn: RawTurn) => {
    const scene = threads.get(rawTurn.thread) ?? sceneOf(text);
    threads.set(rawTurn.thread, scene);
    const { shown, effect, done } = scene.next();
    const { item, method, params } = shown as { item?: object; method: string; params: object };
    if (item) rawTurn.begin({ ...item, id: 'i', status: 'inProgress' });
    const id = `q${effect}${rawTurn.thread}`;
    const { result } = await rawTurn.ask(method, { itemId: 'i', ...params }, id).catch(() => never);
    const { decision, action } = result as { decision?: string; action?: string };
    if (decision === 'accept' || action === 'accept') done();
    rawTurn.complete();
  };
  const turns = new Proxy({}, { get: (_none, text: string) => turnOf(text) });
  return (socket, hello) => new RawCodex(socket, hello, { turns }, memory);
}

/** A sample for the slow test with a killed server; test/agents/approvals.test.ts compares all rows. */
const names = new Set([
  'a title alone',
  'the name of a file without its content',
  'the content of a file',
  'a command',
  'the content of a file in its item',
  'a file change without details',
]);
const rows = requestRows.filter(({ name }) => names.has(name));
const titled = (scene: Scene) => ({ ...scene.row, scene });
const changed = rows.map((row) => titled(new Scene(row, [row.good, row.evil])));
const repeated = rows.map((row) => titled(new Scene(row, [row.good, row.good])));

const killed = shared<Killed>('server that was killed', (use) =>
  afterKill(
    [...changed, ...repeated].map(({ scene }) => scene),
    use,
  ),
);

test.for(changed)('The approval does not allow another action ($provider: $name).', ({ scene }) =>
  accepted(killed(), scene, async ({ approval, again }) => {
    const second = await again();
    expect(second.id).not.toBe(approval.id);
    expect(scene.effects()).toBe('');
    return 'decline';
  }),
);

test.for(repeated.filter(({ isWhole }) => isWhole))(
  'The approval allows the same action once without another request ($provider: $name).',
  ({ scene }) =>
    accepted(killed(), scene, async ({ end, approvals }) => {
      await end();
      expect(scene.effects()).toBe('second\n');
      expect(await approvals()).toHaveLength(1);
      return null;
    }),
);

test.for(repeated.filter(({ isWhole }) => !isWhole))(
  'The same action runs once after a second approval ($provider: $name).',
  ({ scene }) =>
    accepted(killed(), scene, async ({ again }) => {
      await again();
      expect(scene.effects()).toBe('');
      return 'accept';
    }),
);

/** The second run of a server, and the requests of the first. */
interface Killed {
  client: Client;
  asked: ReadonlyMap<Scene, { approval: Approval; turn_id: string }>;
}

/** Lets the agents of all scenes send their first request, kills the server, and starts it again. */
async function afterKill(
  scenes: readonly Scene[],
  use: (killed: Killed) => Promise<void>,
): Promise<void> {
  await using own = tempDirectory('away');
  const codex = codexFor((text) => scenes[Number(text)] as Scene);
  using listener = await listenForAgents(own.path, (socket, hello) => {
    const scene = scenes.find((one) => one.worksIn(hello.cwd));
    if (!scene) return codex(socket, hello, scenes[0] as Scene);
    return (scene.row.provider === 'acp' ? acp : claude)(socket, hello, scene);
  });
  const { program } = listener;
  const agent = { ...program, env: { ...program.env, HOME: own.path } };
  const config = stringify({ providers: { acp: agent, claude: agent, codex: agent } });

  const before = await startServer(own.path, { config });
  const found = await Promise.all(
    scenes.map(async (scene, at) => {
      const cwd = path.join(own.path, `scene-${at}`);
      scene.begin(cwd);
      const { provider } = scene.row;
      const body = { provider, cwd, permission_mode: 'require_approval' };
      const session = await before.client.call(endpoints.createSession, { body });
      const turn_id = await send(before.client, session, String(at));
      await using watch = new Watch(before.client, session.id, PATIENCE_MS);
      return [scene, { approval: await asked(watch, turn_id), turn_id }] as const;
    }),
  );
  await before.end('SIGKILL');
  await untilNothingCarries(own.path);

  const after = await startServer(own.path, { config });
  try {
    await use({ client: after.client, asked: new Map(found) });
  } finally {
    await after.end('SIGKILL');
    await untilNothingCarries(own.path);
  }
}

interface Act {
  approval: Approval;
  /** Resolves with the second approval. */
  again(): Promise<Approval>;
  /** Resolves when the turn has ended. */
  end(): Promise<void>;
  approvals(): Promise<Approval[]>;
}

/**
 * Accepts the approval from before the kill, so that the agent sends its second request. `decideAgain` returns the decision
 * about the second approval, or null if no second approval was requested.
 */
async function accepted(
  { client, asked: all }: Killed,
  scene: Scene,
  decideAgain: (act: Act) => Promise<'accept' | 'decline' | null>,
): Promise<void> {
  const { approval, turn_id } = all.get(scene) ?? {};
  if (!approval || turn_id === undefined) throw new Error('it was not asked');
  const { session_id } = approval;
  const params = { session_id };
  await using watch = new Watch(client, session_id, PATIENCE_MS);
  await decide(client, approval, 'accept');
  const secondDecision = await decideAgain({
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
    approvals: () => client.call(endpoints.listSessionApprovals, { params, query: {} }),
  });
  if (secondDecision !== null) {
    const [pending] = await client.call(endpoints.listSessionApprovals, {
      params,
      query: { status: 'pending' },
    });
    await decide(client, pending as Approval, secondDecision);
    await watch.end(turn_id);
    expect(scene.effects()).toBe(secondDecision === 'accept' ? 'second\n' : '');
  }
  expect((await turnOf(client, { id: session_id }, turn_id)).status).toBe('completed');
}
