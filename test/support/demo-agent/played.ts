import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { PassThrough, Readable, Writable } from 'node:stream';
import { ndJsonStream } from '@agentclientprotocol/sdk/unstable';
import { createDemoAgent, type DemoAgent } from '../../../src/demo-agent/agent.ts';
import type { World } from '../../../src/demo-agent/world.ts';
import { puppetOn } from '../providers/puppet.ts';
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
  const socket = path.join(own.path, 'socket');
  const agents: DemoAgent[] = [];
  const open = new Set<net.Socket>();
  const theatre = net.createServer((connection) => {
    open.add(connection);
    connection.once('close', () => open.delete(connection));
    agents.push(play(connection, stateDir));
  });
  theatre.listen(socket);
  await once(theatre, 'listening');
  try {
    const { env, ...start } = puppetOn(socket);
    return await use({ ...start, env: { ...env, CADRE_DEMO_STATE: stateDir, HOME: home } });
  } finally {
    theatre.close();
    for (const connection of open) connection.destroy();
    await Promise.all(agents.map((agent) => agent.settled()));
  }
}

/** Lets one process be the demo agent. */
function play(process: net.Socket, stateDir: string): DemoAgent {
  const order = (one: object) =>
    void (process.writable && process.write(`${JSON.stringify(one)}\n`));
  const stdin = new PassThrough();
  const stdout = new Writable({
    write(part, _encoding, done) {
      order({ write: String(part) });
      done();
    },
  });
  let pid = 0;
  const world: World = {
    get env() {
      return environmentOf(pid);
    },
    get pid() {
      return pid;
    },
    newSessionId: () => randomUUID(),
    writeRaw: (text) => order({ write: text }),
    startSleeper: () => Promise.reject(new Error('this demo agent starts no process')),
    exit(code) {
      order({ exit: code });
      // What it would say after its end is not heard.
      process.end();
      throw new Error(`it has ended with ${code}`);
    },
  };
  const agent = createDemoAgent(stateDir, world);
  agent.app.connect(
    ndJsonStream(Writable.toWeb(stdout), Readable.toWeb(stdin) as ReadableStream<Uint8Array>),
  );
  const heard = createInterface({ input: process });
  heard.on('line', (text) => {
    const said = JSON.parse(text) as { pid?: number; line?: string };
    if (said.pid !== undefined) pid = said.pid;
    if (said.line !== undefined) stdin.write(`${said.line}\n`);
  });
  // It was killed, or has left, with something still to be said to it.
  heard.on('error', () => undefined);
  process.once('close', () => stdin.end());
  return agent;
}

function environmentOf(pid: number): Record<string, string> {
  const variables = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').filter(Boolean);
  return Object.fromEntries(variables.map((one) => one.split(/=(.*)/s))) as Record<string, string>;
}
