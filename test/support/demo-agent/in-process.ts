import { randomUUID } from 'node:crypto';
import type net from 'node:net';
import path from 'node:path';
import { PassThrough, Readable, Writable } from 'node:stream';
import { ndJsonStream } from '@agentclientprotocol/sdk/unstable';
import { createDemoAgent } from '../../../src/agents/demo/agent.ts';
import type { AgentHost } from '../../../src/agents/demo/host.ts';
import { systemClock } from '../../../src/core/lib/clock.ts';
import { envOf, type ControlledProcess, listenForAgents } from '../providers/scripted-agent.ts';
import { tempDirectory } from '../temp.ts';

/** The keys of a provider section that start an agent. */
interface AgentSection {
  command: string;
  args: string[];
  env: Record<string, string>;
}

/**
 * Runs `use` with a demo agent that keeps its state in `home`. Its processes are small programs that forward messages
 * to the demo agent in this process, which takes a tenth of the time. This demo agent starts no processes.
 */
export async function withInProcessDemoAgent<T>(
  home: string,
  use: (section: AgentSection) => Promise<T>,
): Promise<T> {
  await using own = tempDirectory('demo-agent');
  const stateDir = path.join(home, 'demo-agent');
  const settled: (() => Promise<void>)[] = [];
  try {
    using listener = await listenForAgents(own.path, (process, { pid }) => {
      const demo = connect(process, pid, stateDir);
      settled.push(demo.settled);
      return demo;
    });
    const { env, ...start } = listener.program;
    return await use({ ...start, env: { ...env, CADRE_DEMO_STATE: stateDir, HOME: home } });
  } finally {
    await Promise.all(settled.map((one) => one()));
  }
}

/** Connects one process to a new demo agent. */
function connect(
  process: net.Socket,
  pid: number,
  stateDir: string,
): ControlledProcess & { settled: () => Promise<void> } {
  const order = (one: object) =>
    void (process.writable && process.write(`${JSON.stringify(one)}\n`));
  const stdin = new PassThrough();
  const stdout = new Writable({
    write(part, _encoding, done) {
      order({ write: String(part) });
      done();
    },
  });
  const host: AgentHost = {
    get env() {
      return envOf(pid);
    },
    pid,
    newSessionId: () => randomUUID(),
    writeRaw: (text) => order({ write: text }),
    sleep: (ms, signal) => systemClock.sleep(ms, signal),
    startSleeper: () => Promise.reject(new Error('this demo agent starts no process')),
    exit(code) {
      order({ exit: code });
      // A process that has ended must not send any more messages.
      process.end();
      throw new Error(`it has ended with ${code}`);
    },
  };
  const { app, settled } = createDemoAgent(stateDir, host);
  app.connect(
    ndJsonStream(Writable.toWeb(stdout), Readable.toWeb(stdin) as ReadableStream<Uint8Array>),
  );
  process.once('close', () => stdin.end());
  return {
    settled,
    receive({ line }) {
      if (line !== undefined) stdin.write(`${line}\n`);
    },
  };
}
