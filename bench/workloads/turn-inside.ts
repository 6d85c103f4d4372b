import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { endpoints } from '../../src/api/index.ts';
import { streamEvents } from '../../src/client/stream.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { startServer } from '../../test/support/server.ts';
import { pair, quantile, type Workload } from '../workload.ts';

const TURNS = 200;
/** The turns before the measurement: the first starts the agent, the others warm up both sides. */
const WARM_UP = 200;
const AGENT = path.join(import.meta.dirname, '../baselines/stamping-agent.ts');

/** When the agent received a prompt and when it replied, on the clock that all processes share. */
interface Stamps {
  received: number;
  replied: number;
}

const now = () => Number(process.hrtime.bigint()) / 1e6;

/** The time that cadre adds to a turn: from the client to the agent, and back. */
export const turnInside: Workload = {
  about: `${TURNS} turns of an agent that replies at once: from the request to the agent, and from its last line to the frame that ends the turn; bare: the same agent on pipes, an append synced to disk before and after`,
  async run(rounds, progress) {
    const cadre: Record<string, number>[] = [];
    const bare: Record<string, number>[] = [];
    for (let round = 1; round <= rounds; round++) {
      const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'cadre-bench-'));
      cadre.push(figures(await throughCadre(directory)));
      bare.push(figures(await onPipes(path.join(directory, 'appended'))));
      fs.rmSync(directory, { recursive: true });
      progress(`round ${round} of ${rounds}`);
    }
    return pair(cadre, bare, { 'to the agent': 'ms', 'to the client': 'ms', both: 'ms' });
  },
};

interface Times {
  there: number;
  back: number;
}

async function throughCadre(directory: string): Promise<Times[]> {
  const acp = `[providers.acp]\ncommand = ${JSON.stringify(process.execPath)}\nargs = [${JSON.stringify(AGENT)}]\n`;
  const server = await startServer(directory, { config: acp, args: ['--log-level', 'warn'] });
  const { client } = server;
  const { id } = await client.call(endpoints.createSession, {
    body: { provider: 'acp', cwd: directory },
  });
  const over = new AbortController();
  const events = streamEvents({ client, clock: systemClock, sessionId: id, signal: over.signal });
  const times: Times[] = [];
  const params = { session_id: id };
  const body = { input: { type: 'text' as const, text: 'when?' } };
  for (let turn = 0; turn < WARM_UP + TURNS; turn++) {
    const sent = now();
    await client.call(endpoints.sendTurn, { params, body });
    const { text, at } = await endOfTurn(events);
    const { received, replied } = JSON.parse(text) as Stamps;
    if (turn >= WARM_UP) times.push({ there: received - sent, back: at - replied });
  }
  over.abort();
  await server.end('SIGTERM');
  return times;
}

async function endOfTurn(
  events: ReturnType<typeof streamEvents>,
): Promise<{ text: string; at: number }> {
  let text = '';
  for (;;) {
    const { value: event, done } = await events.next();
    if (done) throw new Error('the stream has ended');
    if (event.kind === 'message.completed') text = String(event.payload.text);
    if (event.kind === 'turn.completed') return { text, at: now() };
    if (event.kind === 'turn.failed') throw new Error(JSON.stringify(event.payload));
  }
}

async function onPipes(file: string): Promise<Times[]> {
  const agent = spawn(process.execPath, [AGENT], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: agent.stdout })[Symbol.asyncIterator]();
  const fd = fs.openSync(file, 'a');
  const append = () => {
    fs.writeSync(fd, 'x'.repeat(500));
    return new Promise<void>((resolve) => fs.fdatasync(fd, () => resolve()));
  };
  const times: Times[] = [];
  for (let turn = 0; turn < WARM_UP + TURNS; turn++) {
    const sent = now();
    await append();
    agent.stdin.write(
      `${JSON.stringify({ jsonrpc: '2.0', id: turn, method: 'session/prompt' })}\n`,
    );
    const update = JSON.parse((await lines.next()).value as string) as {
      params: { update: { content: { text: string } } };
    };
    await lines.next();
    await append();
    const { received, replied } = JSON.parse(update.params.update.content.text) as Stamps;
    if (turn >= WARM_UP) times.push({ there: received - sent, back: now() - replied });
  }
  agent.kill();
  fs.closeSync(fd);
  return times;
}

function figures(times: readonly Times[]): Record<string, number> {
  const medianOf = (of: (one: Times) => number) => quantile(times.map(of), 0.5);
  return {
    'to the agent': medianOf(({ there }) => there),
    'to the client': medianOf(({ back }) => back),
    both: medianOf(({ there, back }) => there + back),
  };
}
