import { randomUUID } from 'node:crypto';
import type net from 'node:net';
import path from 'node:path';
import { PassThrough, Readable, Writable } from 'node:stream';
import { ndJsonStream } from '@agentclientprotocol/sdk/unstable';
import { createDemoAgent } from '../../../src/agents/demo/agent.ts';
import type { World } from '../../../src/agents/demo/world.ts';
import { systemClock } from '../../../src/core/lib/clock.ts';
import { envOf, type Actor, openTheatre } from '../providers/scripted-agent.ts';
import { tempDirectory } from '../temp.ts';

/** The section of a configuration that says how an agent is started. */
interface AgentSection {
  command: string;
  args: string[];
  env: Record<string, string>;
}

/**
 * The demo agent at home in a directory. Each process of it is a small program that hands on what it hears and says; what
 * thinks for it is in this process, which costs a tenth. It starts no process of its own.
 */
export async function withPlayedDemoAgent<T>(
  home: string,
  use: (section: AgentSection) => Promise<T>,
): Promise<T> {
  await using own = tempDirectory('demo-agent');
  const stateDir = path.join(home, 'demo-agent');
  const settled: (() => Promise<void>)[] = [];
  try {
    using theatre = await openTheatre(own.path, (process, { pid }) => {
      const demo = play(process, pid, stateDir);
      settled.push(demo.settled);
      return demo;
    });
    const { env, ...start } = theatre.program;
    return await use({ ...start, env: { ...env, CADRE_DEMO_STATE: stateDir, HOME: home } });
  } finally {
    await Promise.all(settled.map((one) => one()));
  }
}

/** Lets one process be the demo agent. */
function play(
  process: net.Socket,
  pid: number,
  stateDir: string,
): Actor & { settled: () => Promise<void> } {
  const order = (one: object) =>
    void (process.writable && process.write(`${JSON.stringify(one)}\n`));
  const stdin = new PassThrough();
  const stdout = new Writable({
    write(part, _encoding, done) {
      order({ write: String(part) });
      done();
    },
  });
  const world: World = {
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
      // What it would say after its end is not heard.
      process.end();
      throw new Error(`it has ended with ${code}`);
    },
  };
  const { app, settled } = createDemoAgent(stateDir, world);
  app.connect(
    ndJsonStream(Writable.toWeb(stdout), Readable.toWeb(stdin) as ReadableStream<Uint8Array>),
  );
  process.once('close', () => stdin.end());
  return {
    settled,
    take({ line }) {
      if (line !== undefined) stdin.write(`${line}\n`);
    },
  };
}
