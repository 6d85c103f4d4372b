import { fork } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';

/** A server in a process of its own. */
export interface BareTeam {
  url: string;
  end(): Promise<void>;
}

/**
 * The minimal server for a team: a broadcast appends a line for each member and syncs once; a view returns a small
 * record of each member.
 */
export async function startBareTeam(file: string, members: number): Promise<BareTeam> {
  const child = fork(import.meta.filename, [file, String(members)]);
  const [url] = (await once(child, 'message')) as [string];
  return {
    url,
    async end() {
      child.disconnect();
      await once(child, 'exit');
    },
  };
}

function serve([file = '', members = '0']: string[]): void {
  const fd = fs.openSync(file, 'a');
  const records = () =>
    Array.from({ length: Number(members) }, (_, n) => ({ n, text: 'x'.repeat(300) }));
  const server = http.createServer((request, response) => {
    if (request.url === '/health') return response.end('{"status":"ok"}');
    if (request.method === 'GET') return response.end(JSON.stringify(records()));
    const lines = records().map((one) => `${JSON.stringify(one)}\n`);
    fs.writeSync(fd, lines.join(''));
    fs.fdatasync(fd, () => response.end(JSON.stringify(records())));
    return undefined;
  });
  process.once('disconnect', () => process.exit());
  server.listen(0, '127.0.0.1', () => {
    const { port } = server.address() as AddressInfo;
    process.send?.(`http://127.0.0.1:${port}`);
  });
}

if (process.argv[1] === import.meta.filename && process.send) serve(process.argv.slice(2));
