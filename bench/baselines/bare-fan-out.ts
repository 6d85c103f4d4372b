import { fork } from 'node:child_process';
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';

/** A server in a process of its own that records when it began to send each event. */
export interface FanOutServer {
  url: string;
  token: string;
  /** The moments recorded since the last call, in milliseconds of `sharedNow`. */
  moments(): Promise<number[]>;
  end(): Promise<void>;
}

/** Starts a script that sends `{url, token}` once it listens, and its moments in response to any message. */
export async function forkFanOut(script: string, ...args: string[]): Promise<FanOutServer> {
  const child = fork(script, args);
  const [about] = (await once(child, 'message')) as [{ url: string; token: string }];
  return {
    ...about,
    async moments() {
      child.send('moments');
      const [moments] = (await once(child, 'message')) as [number[]];
      return moments;
    },
    async end() {
      child.disconnect();
      await once(child, 'exit');
    },
  };
}

/** Milliseconds of the monotonic clock, which all processes of a machine share. */
export function sharedNow(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** The minimal fan-out server: it writes each request body to every open response. It has no log and no records. */
export function startBareFanOut(): Promise<FanOutServer> {
  return forkFanOut(import.meta.filename);
}

function serve(): void {
  const followers = new Set<http.ServerResponse>();
  let moments: number[] = [];
  const server = http.createServer((request, response) => {
    if (request.method === 'GET') {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      followers.add(response);
      response.once('close', () => followers.delete(response));
      return;
    }
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const frame = Buffer.concat(chunks);
      moments.push(sharedNow());
      for (const follower of followers) follower.write(frame);
      response.end('{}');
    });
  });
  process.on('message', () => {
    process.send?.(moments);
    moments = [];
  });
  process.once('disconnect', () => process.exit());
  server.listen(0, '127.0.0.1', () => {
    const { port } = server.address() as AddressInfo;
    process.send?.({ url: `http://127.0.0.1:${port}`, token: 'none' });
  });
}

if (process.argv[1] === import.meta.filename && process.send) serve();
