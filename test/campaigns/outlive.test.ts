import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { stringify } from 'smol-toml';
import { expect, test } from 'vitest';
import type { Approval } from '../../src/api/approvals.ts';
import { endpoints } from '../../src/api/index.ts';
import type { ToolCall } from '../../src/api/tool-call.ts';
import { selfCommand } from '../../src/core/lib/self.ts';
import { Watch } from '../support/providers/watch.ts';
import { scaled } from '../support/patience.ts';
import { hasSandbox, required } from '../support/sandbox/available.ts';
import { below, seededRandom } from '../support/random.ts';
import { startServer, type TestServer, untilNothingCarries } from '../support/server.ts';
import { tempDirectory } from '../support/temp.ts';
import { openSession, send } from '../support/turns.ts';
import type { UntypedEvent } from '../support/untyped-events.ts';

/** The number of kills: `KILLS=1000` for a longer campaign. */
const KILLS = Number(process.env.KILLS ?? 10);
const SEED = Number(process.env.SEED || 0) || Math.trunc(Date.now() % 1e9);
const SESSIONS = 3;
/** A server lives for so many milliseconds at the most after it has started. */
const LIFE_MS = 500;
const PAUSE_MS = 1000;
const words = Array.from({ length: 40 }, (_, at) => `say word ${at}; repeat 5 4 ${at}.`);
/** A turn with text, tools and three requests. */
const SCRIPT = [
  ...words.slice(0, 10),
  'tool read a file => its text',
  'ask write one',
  ...words.slice(10, 20),
  'think about it',
  'ask write two',
  'flood 300 20',
  ...words.slice(20, 30),
  'usage 10 100',
  'ask write three',
  ...words.slice(30),
].join('; ');

/** Begins a prompt that is longer than what a pipe holds. Only some turns have it: a follower keeps all texts. */
const LONG = `think ${'about it '.repeat(12_000)}; `;
const LONG_ROUNDS = 10;

/** Returns the texts of the items of a turn in order, as a user sees them, without the one of a long prompt. */
function storyOf(events: readonly UntypedEvent[], turnId: string): string[] {
  return events.flatMap(({ kind, payload, turn_id }) => {
    if (turn_id !== turnId) return [];
    if (kind === 'reasoning.completed' && String(payload.text).length > 1000) return [];
    if (kind === 'message.completed' || kind === 'reasoning.completed')
      return [`${kind} ${String(payload.text)}`];
    if (kind === 'tool.completed')
      return [`${kind} ${(payload.tool as ToolCall).title}: ${String(payload.text)}`];
    if (kind === 'approval.requested') return [`asks ${(payload.approval as Approval).title}`];
    if (kind === 'approval.resolved')
      return [`${(payload.approval as Approval).status} ${(payload.approval as Approval).title}`];
    return [];
  });
}

/** A configuration whose agents record their input, each in a file of a directory, and may run in a sandbox with a network. */
function configOf(inputDirectory: string, inSandbox: boolean): string {
  const { file, args } = selfCommand();
  const agent = [file, ...args, 'demo-agent'].map((word) => `'${word}'`).join(' ');
  const command = `tee -a '${inputDirectory}/'$$ | ${agent}`;
  return stringify({
    server: { reattach_ms: 60_000 },
    ...(inSandbox
      ? required({ children: ['agents'], network: 'hosts', write: [inputDirectory] })
      : {}),
    providers: { acp: { command: '/bin/sh', args: ['-c', command] } },
  });
}

/** The ids of the messages that an agent must get once: prompts, and answers to its requests. */
function messageIdsIn(inputDirectory: string): string[] {
  const inputs = fs
    .readdirSync(inputDirectory)
    .map((name) => fs.readFileSync(path.join(inputDirectory, name), 'utf8'));
  const lines = inputs.flatMap((input) => input.split('\n')).filter(Boolean);
  const messages = lines.map((line) => JSON.parse(line) as { id?: number; method?: string });
  return messages.flatMap(({ id, method }) =>
    method === 'session/prompt' || (method === undefined && id !== undefined)
      ? [`${method ?? 'answer'} ${id}`]
      : [],
  );
}

test.for(hasSandbox ? ['bare', 'sandboxed'] : ['bare'])(
  'Turns of %s agents continue whenever the server is killed or hands them over: their texts are whole, and each request is asked and answered once.',
  { timeout: scaled(120_000 + KILLS * 10_000) },
  async (kind) => {
    await using directory = tempDirectory('outlive');
    const random = seededRandom(SEED);
    const inputDirectory = path.join(directory.path, 'told');
    const data = path.join(directory.path, 'data');
    const work = path.join(directory.path, 'work');
    for (const one of [data, inputDirectory, work]) fs.mkdirSync(one);
    const config = configOf(inputDirectory, kind === 'sandboxed');
    const started = { server: undefined as TestServer | undefined };
    /** The events of all sessions as one follower sees them, across all servers. */
    const seen: UntypedEvent[] = [];
    let turns = 0;
    let attached = 0;
    let deathsInARow = 0;
    const running = new Map<string, string>();
    const stories: string[][] = [];
    try {
      for (let kills = 0; kills <= KILLS;) {
        const isLast = kills === KILLS;
        // A turn fails once three servers have died without progress.
        const dies = !isLast && deathsInARow < 2 && random() < 0.2;
        const env = dies ? { CADRE_FAILPOINTS: 'turn.attached=kill' } : {};
        const server = await startServer(data, { config, env }).catch(() => null);
        if (!server) {
          deathsInARow++;
          kills++;
          continue;
        }
        started.server = server;
        const { client } = server;
        const watch = new Watch(client);
        const recovery = await client.call(endpoints.getRecovery, {});
        attached += recovery.turns_attached?.length ?? 0;
        const failed = [recovery.turns_failed, recovery.sessions_failed];
        expect(failed, `SEED=${SEED}, kill ${kills}\n${server.log()}`).toEqual([[], []]);
        const over = new AbortController();
        const answering = answerAll(server, watch, over.signal);
        if (running.size === 0)
          for (let at = 0; at < SESSIONS; at++) {
            const mode = { permission_mode: 'require_approval' };
            const session = await openSession(client, work, mode);
            const text = turns % (SESSIONS * LONG_ROUNDS) === 0 ? LONG + SCRIPT : SCRIPT;
            running.set((await send(client, session.id, text)).turn_id, session.id);
            turns++;
          }
        const life = pause(below(LIFE_MS, random));
        const before = seen.at(-1)?.seq ?? 0;
        if (deathsInARow > 0) await progressOf(running, watch, before);
        const ended = Promise.all([...running.keys()].map((turn) => watch.end(turn, 120_000)));
        ended.catch(() => undefined);
        await (isLast ? ended : Promise.race([life, ended]));
        deathsInARow = (await hasProgress(running, watch, before)) ? 0 : deathsInARow + 1;
        for (const [turn] of running) {
          const end = watch.events.find((one) => one.turn_id === turn && isEndOf(one));
          if (!end) continue;
          expect(end.kind, `SEED=${SEED}, ${JSON.stringify(end.payload)}`).toBe('turn.completed');
          stories.push(storyOf(watch.events, turn));
          running.delete(turn);
        }
        over.abort();
        seen.splice(0, seen.length, ...watch.events);
        await watch.stop();
        await server.end(!isLast && random() < 0.2 ? 'SIGUSR2' : 'SIGKILL');
        await answering;
        if (isLast) break;
        kills++;
        if (random() < 0.2) await pause(below(PAUSE_MS, random));
      }
      for (const story of stories) expect(story, `SEED=${SEED}`).toEqual(stories[0]);
      expect(stories[0]?.filter((line) => line.startsWith('accepted'))).toHaveLength(3);
      expect(stories).toHaveLength(turns);
      const seqs = seen.map(({ seq }) => seq);
      expect(seqs).toEqual([...new Set(seqs)].toSorted((a, b) => a - b));
      expect(messageIdsIn(inputDirectory)).toHaveLength(turns * 4);
      console.info(
        `SEED=${SEED}: ${KILLS} kills of ${kind} agents, ${turns} turns, attached ${attached} times`,
      );
    } finally {
      await started.server?.end('SIGKILL');
      // A server that stops ends all agents.
      const last = await startServer(data, { config });
      await last.end('SIGTERM');
      await untilNothingCarries(directory.path);
    }
  },
);

const isEndOf = ({ kind }: UntypedEvent) =>
  kind === 'turn.completed' || kind === 'turn.failed' || kind === 'turn.interrupted';

/** Accepts each request of the agents, until the signal aborts. */
async function answerAll({ client }: TestServer, watch: Watch, signal: AbortSignal): Promise<void> {
  let next = 0;
  while (!signal.aborted) {
    const asked = watch.events.slice(next);
    next += asked.length;
    for (const { kind, payload, session_id } of asked) {
      if (kind !== 'approval.requested') continue;
      const { id } = payload.approval as Approval;
      const params = { session_id: session_id ?? '', approval_id: id };
      const body = { decision: 'accept' as const };
      // It was answered before the last kill, or the server is being killed.
      await client.call(endpoints.decideApproval, { params, body }).catch(() => undefined);
    }
    await pause(5, undefined, { signal }).catch(() => undefined);
  }
}

function recoveryAfter(after: number, watch: Watch): Promise<UntypedEvent> {
  return watch.until('recovery', ({ kind, seq }) => kind === 'runtime.recovered' && seq > after);
}

/** Whether a server has stored something of each turn since it has started. */
async function hasProgress(
  running: ReadonlyMap<string, string>,
  watch: Watch,
  after: number,
): Promise<boolean> {
  const { seq: started } = await recoveryAfter(after, watch);
  return [...running.keys()].every((turn) =>
    watch.events.some((event) => event.turn_id === turn && (event.seq > started || isEndOf(event))),
  );
}

/** Waits until a server has stored something of each turn since it has started, unless the turn has ended before. */
async function progressOf(
  running: ReadonlyMap<string, string>,
  watch: Watch,
  after: number,
): Promise<void> {
  const { seq: started } = await recoveryAfter(after, watch);
  for (const turn of running.keys())
    await watch.until(
      'progress',
      (event) => event.turn_id === turn && (event.seq > started || isEndOf(event)),
    );
}
