import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { endpoints } from '../../../../src/api/index.ts';
import type { Approval } from '../../../../src/api/approvals.ts';
import { identify, isAlive } from '../../../../src/core/children/identity.ts';
import { selfCommand } from '../../../../src/core/lib/self.ts';
import { stringify } from 'smol-toml';
import { Receiver } from '../../../support/hooks/receiver.ts';
import { startCadre } from '../../../support/cli/cadre.ts';
import { expectEventually } from '../../../support/expect-eventually.ts';
import { decide } from '../../../support/providers/calls.ts';
import { Watch } from '../../../support/providers/watch.ts';
import {
  startServer,
  type StartNext,
  type TestServer,
  untilNothingCarries,
  withServers,
} from '../../../support/server.ts';
import { settle } from '../../../support/settle.ts';
import { scaled } from '../../../support/patience.ts';
import { tempDirectory, testDirectory } from '../../../support/temp.ts';
import { openSession, send } from '../../../support/turns.ts';
import { SHELL_AGENT } from '../../conversations/sessions/shell-agent.ts';
import type { UntypedEvent } from '../../../support/untyped-events.ts';

/** Agents live on for a minute without a server. */
const env = { CADRE_SERVER_REATTACH_MS: '60000' };

interface Started {
  server: TestServer;
  watch: Watch;
}

type Start = (...given: Parameters<StartNext>) => Promise<Started>;

/** Starts servers on one directory, one after the other, and follows the events of each. */
function withWatches(use: (start: Start) => Promise<void>): Promise<void> {
  return withServers(async (start) => {
    let last: Watch | undefined;
    try {
      await use(async (options) => {
        const server = await start(options);
        last = new Watch(server.client);
        return { server, watch: last };
      });
    } finally {
      await last?.stop();
    }
  });
}

async function kill({ server, watch }: Started): Promise<void> {
  await watch.stop();
  await server.end('SIGKILL');
}

async function prompted({ client, directory }: TestServer, text: string, more: object = {}) {
  const session = await openSession(client, directory, more);
  const { turn_id } = await send(client, session.id, text);
  return { session_id: session.id, turn_id };
}

const deltaWith = (word: string) => (event: UntypedEvent) =>
  event.kind === 'message.delta' && String(event.payload.text).includes(word);

/** The kinds of the settled events of a turn, in order, and the texts of its messages. */
function storyOf(watch: Watch, turnId: string) {
  const events = settle(watch.of(turnId));
  return {
    kinds: events.map(({ kind }) => kind),
    texts: events.flatMap(({ kind, payload }) =>
      kind === 'message.completed' ? [String(payload.text)] : [],
    ),
  };
}

it('A running turn continues after the server was killed: its text is whole, in order and stored once.', async () => {
  await withWatches(async (start) => {
    const first = await start();
    const script = 'say before; repeat 40 25 word; say after';
    const turn = await prompted(first.server, script);
    await first.watch.until('text', deltaWith('word'));
    await kill(first);

    const second = await start();
    const end = await second.watch.end(turn.turn_id);
    expect(end.kind).toBe('turn.completed');
    const uncut = await prompted(second.server, script);
    await second.watch.end(uncut.turn_id);
    const { kinds, texts } = storyOf(second.watch, turn.turn_id);
    expect(texts).toEqual(storyOf(second.watch, uncut.turn_id).texts);
    expect(kinds).toEqual(storyOf(second.watch, uncut.turn_id).kinds);
    const recovery = await second.server.client.call(endpoints.getRecovery, {});
    // Agents that live on reach the tools at the address of the first server.
    expect(second.server.url).toBe(first.server.url);
    expect(recovery).toMatchObject({
      previous_stop: 'unclean',
      turns_attached: [turn.turn_id],
      turns_failed: [],
      orphans_killed: [],
    });
  });
});

it('A request that waits when the server is killed is answered once, and its agent continues.', async () => {
  await withWatches(async (start) => {
    const first = await start();
    const script = 'say I want to write; pid; ask write the file; say written; pid';
    const mode = { permission_mode: 'require_approval' };
    const turn = await prompted(first.server, script, mode);
    const asked = await first.watch.kind('approval.requested', turn.turn_id);
    await kill(first);

    const second = await start();
    await decide(second.server.client, asked.payload.approval as Approval, 'accept');
    expect((await second.watch.end(turn.turn_id)).kind).toBe('turn.completed');
    const { kinds, texts } = storyOf(second.watch, turn.turn_id);
    expect(kinds.filter((kind) => kind === 'approval.requested')).toHaveLength(1);
    const pids = texts.join(' ').match(/\b\d+\b/g) ?? [];
    expect(new Set(pids).size).toBe(1);
    expect(texts).toContain('written');
  });
});

it('A request of a tool of cadre is withdrawn when the server is killed, because the call of the tool has ended.', async () => {
  const agent = path.join(testDirectory('agent'), 'agent.mjs');
  fs.writeFileSync(agent, SHELL_AGENT);
  const config = stringify({ providers: { acp: { command: process.execPath, args: [agent] } } });
  await withWatches(async (start) => {
    const first = await start({ config });
    const { client, directory } = first.server;
    const mode = { permission_mode: 'require_approval' };
    const { id: session_id } = await openSession(client, directory, mode);
    const args = { command: 'touch never' };
    const call = { tool_name: 'cadre_process_run', caller_agent_id: session_id, args };
    const headers = `-H "Authorization: Bearer $CADRE_GATEWAY_TOKEN" -H 'Content-Type: application/json'`;
    const script = `curl -sS ${headers} -d '${JSON.stringify(call)}' $CADRE_GATEWAY_URL/v1/mcp/invoke; echo over`;
    const { turn_id } = await send(client, session_id, script);
    const asked = await first.watch.kind('approval.requested', turn_id);
    await kill(first);

    const second = await start({ config });
    const { id } = asked.payload.approval as Approval;
    expect(await second.server.client.call(endpoints.getRecovery, {})).toMatchObject({
      turns_attached: [turn_id],
      approvals_cancelled: [id],
    });
    expect((await second.watch.end(turn_id)).kind).toBe('turn.completed');
    expect(storyOf(second.watch, turn_id).texts.join('')).toMatch(/over\n$/);
  });
});

it('The end of an agent that was taken over also ends its processes in groups of their own.', async () => {
  const agent = path.join(testDirectory('agent'), 'agent.mjs');
  fs.writeFileSync(agent, SHELL_AGENT);
  const config = stringify({ providers: { acp: { command: process.execPath, args: [agent] } } });
  await withWatches(async (start) => {
    const first = await start({ config });
    const [running = '', open = ''] = ['running', 'open'].map((name) =>
      path.join(first.server.directory, name),
    );
    const escape = 'setsid sleep 300 </dev/null >/dev/null 2>&1 & echo $!';
    const wait = `touch ${running}; while ! test -e ${open}; do sleep 0.05; done`;
    const { session_id, turn_id } = await prompted(first.server, `${escape}; ${wait}`);
    await expectEventually(() => fs.existsSync(running)).toBe(true);
    await kill(first);

    const second = await start({ config });
    const { client } = second.server;
    expect(await client.call(endpoints.getRecovery, {})).toMatchObject({
      turns_attached: [turn_id],
    });
    fs.writeFileSync(open, '');
    expect((await second.watch.end(turn_id)).kind).toBe('turn.completed');
    const pid = Number(storyOf(second.watch, turn_id).texts.join(''));
    const escaped = identify(pid);
    if (!escaped) throw new Error(`no process ${pid}`);
    await client.call(endpoints.closeSession, { params: { session_id }, body: {} });
    await expectEventually(() => isAlive(escaped)).toBe(false);
  });
});

it('An interrupt after the server was killed reaches the agent that works on the turn.', async () => {
  await withWatches(async (start) => {
    const first = await start();
    const turn = await prompted(first.server, 'repeat 100000 20 word');
    await first.watch.until('text', deltaWith('word'));
    await kill(first);

    const second = await start();
    await second.server.client.call(endpoints.interruptTurn, {
      params: turn,
      body: {},
    });
    expect((await second.watch.end(turn.turn_id)).kind).toBe('turn.interrupted');
  });
});

it('The next turn of the session runs on the agent that was taken over.', async () => {
  await withWatches(async (start) => {
    const first = await start();
    const turn = await prompted(first.server, 'pid; repeat 20 25 word');
    await first.watch.until('text', deltaWith('word'));
    await kill(first);

    const second = await start();
    await second.watch.end(turn.turn_id);
    const next = await send(second.server.client, turn.session_id, 'pid');
    await second.watch.end(next.turn_id);
    const [before = '', after = ''] = [turn, next].map(
      ({ turn_id }) => storyOf(second.watch, turn_id).texts.join(' ').match(/\d+/)?.[0],
    );
    expect(after).toBe(before);
  });
});

it('A turn continues although several servers die.', async () => {
  await withWatches(async (start) => {
    let now = await start();
    const turn = await prompted(now.server, 'repeat 60 25 word; say the end');
    for (let deaths = 0; deaths < 4; deaths++) {
      const latest = now.watch.events.at(-1)?.seq ?? 0;
      await now.watch.until('new text', (event) => deltaWith('word')(event) && event.seq > latest);
      await kill(now);
      now = await start();
    }
    expect((await now.watch.end(turn.turn_id)).kind).toBe('turn.completed');
    const { texts } = storyOf(now.watch, turn.turn_id);
    const words = texts.join('').match(/word/g) ?? [];
    expect(words).toHaveLength(60);
  });
});

it('A server that is replaced with --take-over exits with 0 at once, and its turn continues in the next one.', async () => {
  await withWatches(async (start) => {
    const first = await start();
    // The turn has to take longer than the start of a server.
    const words = scaled(60);
    const turn = await prompted(first.server, `pid; repeat ${words} 25 word; pid`);
    await first.watch.until('text', deltaWith('word'));
    await first.watch.stop();

    const second = await start({ args: ['--take-over'] });
    expect(await first.server.exited).toEqual({ code: 0, signal: null });
    expect((await second.watch.end(turn.turn_id)).kind).toBe('turn.completed');
    const { texts } = storyOf(second.watch, turn.turn_id);
    expect(texts[0]).toBe(texts[2]);
    expect(texts[1]).toBe('word'.repeat(words));
    const recovery = await second.server.client.call(endpoints.getRecovery, {});
    expect(recovery).toMatchObject({ previous_stop: 'clean', turns_attached: [turn.turn_id] });
  });
});

it('Eight running turns continue over three replacements of the server.', async () => {
  await withWatches(async (start) => {
    let now = await start();
    // A request ends each part, so that no turn ends before the servers are replaced.
    const parts = ['one', 'two', 'three'];
    const texts = parts.map((part) => `repeat 20 25 ${part}.; ask after ${part}`).join('; ');
    const mode = { permission_mode: 'require_approval' };
    const turns = await Promise.all(
      Array.from({ length: 8 }, () => prompted(now.server, `pid; ${texts}; pid`, mode)),
    );
    for (const [at, part] of parts.entries()) {
      const isText = deltaWith(`${part}.`);
      for (const { turn_id } of turns)
        await now.watch.until('text', (event) => event.turn_id === turn_id && isText(event));
      await now.watch.stop();
      now = await start({ args: ['--take-over'] });
      const asked = (event: UntypedEvent) => event.kind === 'approval.requested';
      await now.watch.times(asked, (at + 1) * turns.length);
      for (const { payload } of now.watch.events.filter(asked).slice(-turns.length))
        await decide(now.server.client, payload.approval as Approval, 'accept');
    }
    for (const { turn_id } of turns) {
      expect((await now.watch.end(turn_id)).kind).toBe('turn.completed');
      const [pid, ...rest] = storyOf(now.watch, turn_id).texts;
      const said = parts.flatMap((part) => [
        `${part}.`.repeat(20),
        `allowed (allow_once): after ${part}`,
      ]);
      expect(rest).toEqual([...said, pid]);
    }
  });
});

it('Queue, budget and hooks see a turn that was taken over once.', async () => {
  await using receiver = await new Receiver().open();
  const { file, args } = selfCommand();
  const secret_file = path.join(testDirectory('hooks'), 'secret');
  fs.writeFileSync(secret_file, 'a secret of a test, long enough', { mode: 0o600 });
  const config = stringify({
    providers: { acp: { command: file, args: [...args, 'demo-agent'] } },
    hooks: [{ name: 'ends', kinds: ['turn.completed'], url: receiver.url, secret_file }],
  });
  await withWatches(async (start) => {
    const first = await start({ config });
    const { client } = first.server;
    const turn = await prompted(first.server, 'repeat 40 25 word; usage 70 100; say end');
    const { session_id } = turn;
    const budget = await client.call(endpoints.setBudget, {
      body: { session_id, tokens: 1000 },
    });
    await client.call(endpoints.addToQueue, {
      params: { session_id },
      body: { input: [{ type: 'text', text: 'usage 30 100; say next' }] },
    });
    await first.watch.until('text', deltaWith('word'));
    await kill(first);

    const second = await start({ config });
    expect((await second.watch.end(turn.turn_id)).kind).toBe('turn.completed');
    const next = await second.watch.until(
      'the turn of the queue',
      ({ kind, turn_id }) => kind === 'turn.completed' && turn_id !== turn.turn_id,
    );
    await receiver.until(2);
    expect(receiver.got.map(({ event }) => event.seq)).toEqual(
      second.watch.events.filter(({ kind }) => kind === 'turn.completed').map(({ seq }) => seq),
    );
    const params = { budget_id: budget.id };
    const { spent } = await second.server.client.call(endpoints.getBudget, { params });
    expect(spent).toMatchObject({ tokens: 100, turns: 2 });
    expect(next.payload).toMatchObject({ turn: { source: 'queue' } });
  });
});

it('cadre run and events tail say that the server is restarting, and run prints the whole answer once.', async () => {
  await withWatches(async (start) => {
    const first = await start();
    const { directory } = first.server;
    // The turn cannot end before both commands have seen the restart.
    const text = 'say begin; repeat 30 5 word; ask to go on; repeat 30 5 word; say end';
    const run = startCadre(directory, [
      '--data-dir',
      directory,
      'run',
      '--permission-mode',
      'require_approval',
      text,
    ]);
    await run.until('word');
    const tail = startCadre(directory, ['--data-dir', directory, 'events', 'tail']);
    await tail.until('message.delta');
    const asked = await first.watch.kind('approval.requested');
    await first.watch.stop();
    const second = await start({ args: ['--take-over'] });
    await expectEventually(() => run.stderr() + tail.stderr()).toMatch(/(reconnected[^]*){2}/);
    await decide(second.server.client, asked.payload.approval as Approval, 'accept');
    const { code, stdout, stderr } = await run.ended;
    await tail.until('turn.completed');
    tail.child.kill('SIGINT');
    expect((await tail.ended).stderr).toMatch(
      /^cadre: the server is restarting: reconnecting\ncadre: reconnected after event \d+\n$/,
    );
    expect(stderr.match(/cadre: the server.*\n(.*\n)/g)).toEqual([
      'cadre: the server is restarting: reconnecting\ncadre: reconnected\n',
    ]);
    expect(stdout.match(/word/g)).toHaveLength(60);
    expect(stdout).toMatch(/^begin[^]*end\n$/);
    expect(code).toBe(0);
  });
});

it('A turn whose agent did not get the prompt begins again.', async () => {
  await withWatches(async (start) => {
    const first = await start({ env: { CADRE_FAILPOINTS: 'turn.started=kill' } });
    const turn = await prompted(first.server, 'say hello');
    await first.watch.stop().catch(() => undefined);
    await first.server.exited;
    // The next server dies before it begins the turn.
    await expect(start({ env: { CADRE_FAILPOINTS: 'turn.accepted=kill' } })).rejects.toThrow(
      'SIGKILL',
    );

    const second = await start();
    expect((await second.watch.end(turn.turn_id)).kind).toBe('turn.completed');
    expect(storyOf(second.watch, turn.turn_id).texts).toEqual(['hello']);
    const recovery = await second.server.client.call(endpoints.getRecovery, {});
    expect(recovery).toMatchObject({ turns_reconciled: [turn.turn_id], turns_failed: [] });
  });
});

it('A turn fails if three servers have died of the output of its agent.', async () => {
  await withWatches(async (start) => {
    const first = await start();
    const turn = await prompted(first.server, 'repeat 100000 20 word');
    await first.watch.until('text', deltaWith('word'));
    await kill(first);
    for (let deaths = 0; deaths < 3; deaths++)
      await expect(start({ env: { CADRE_FAILPOINTS: 'turn.attached=kill' } })).rejects.toThrow(
        'SIGKILL',
      );
    const last = await start();
    const end = await last.watch.end(turn.turn_id);
    expect(end.payload).toMatchObject({ turn: { error: { code: 'runtime_restarted' } } });
  });
});

it('Without a server, cadre stop --now ends the agents that wait for one.', async () => {
  await using directory = tempDirectory('taken-over');
  const server = await startServer(directory.path, { env });
  const watch = new Watch(server.client);
  await prompted(server, 'repeat 100000 20 word');
  await watch.until('text', deltaWith('word'));
  await kill({ server, watch });
  const { file, args } = selfCommand();
  const words = [...args, '--data-dir', directory.path, 'stop', '--now'];
  const { stderr } = await promisify(execFile)(file, words);
  expect(stderr).toBe('cadre: stopped 1 agent that waited for another server\n');
  await untilNothingCarries(directory.path);
});
