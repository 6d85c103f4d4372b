import { fork } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * The minimal durable server: it runs in a process of its own, appends each request body to a file, and responds
 * after the fdatasync, which all waiting requests share (group commit). It has no records, no validation, no events.
 */
export async function startBareAppend(
  file: string,
): Promise<{ url: string; end(): Promise<void> }> {
  const child = fork(import.meta.filename, [file]);
  const [url] = (await once(child, 'message')) as [string];
  return {
    url,
    async end() {
      child.kill();
      await once(child, 'exit');
    },
  };
}

function serve(file: string): void {
  const fd = fs.openSync(file, 'a');
  let waiting: http.ServerResponse[] = [];
  let syncing = false;
  const sync = () => {
    if (syncing || waiting.length === 0) return;
    syncing = true;
    const served = waiting;
    waiting = [];
    fs.fdatasync(fd, () => {
      syncing = false;
      for (const response of served) response.end('{}');
      sync();
    });
  };
  const server = http.createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      fs.writeSync(fd, Buffer.concat([...chunks, Buffer.from('\n')]));
      waiting.push(response);
      sync();
    });
  });
  server.listen(0, '127.0.0.1', () =>
    process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
  );
}

if (process.argv[1] === import.meta.filename && process.send) serve(process.argv[2] ?? '');
