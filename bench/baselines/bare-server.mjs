// The minimal server that cadre is compared to. It has no records, no validation and no log to read again. It is
// JavaScript, because Node needs time of its own for a server in TypeScript, and the start is measured, too.
//
//   GET  /health        the health
//   GET  /bytes?n=N     an answer of N bytes
//   GET  /events?n=N    the first N bytes of the file `events`
//   POST /append        the body is appended to a file; the answer comes after the fdatasync, which all requests that wait
//                       share (group commit)
//   GET  /stream        stays open, and gets what is posted to
//   POST /publish       as /append, and then the body is written to each open stream
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';

const { PORT, DIRECTORY = '' } = process.env;
const log = fs.openSync(path.join(DIRECTORY, 'bare.log'), 'a');
const followers = new Set();
let waiting = [];
let isSyncing = false;

http
  .createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url, 'http://bare');
    const n = Number(searchParams.get('n'));
    if (request.method === 'POST') append(request, response, pathname === '/publish');
    else if (pathname === '/stream') follow(response);
    else if (pathname === '/events') sendEvents(response, n);
    else if (pathname === '/bytes') response.end(`"${'x'.repeat(n - 2)}"`);
    else response.end('{"status":"ok"}');
  })
  .listen(Number(PORT), '127.0.0.1');

function append(request, response, isPublished) {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    const body = Buffer.concat(chunks);
    fs.writeSync(log, body);
    waiting.push(() => {
      if (isPublished) for (const follower of followers) follower.write(body);
      response.end('{}');
    });
    sync();
  });
}

function sync() {
  if (isSyncing || waiting.length === 0) return;
  isSyncing = true;
  const served = waiting;
  waiting = [];
  fs.fdatasync(log, () => {
    isSyncing = false;
    for (const answer of served) answer();
    sync();
  });
}

function follow(response) {
  response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
  followers.add(response);
  response.once('close', () => followers.delete(response));
}

function sendEvents(response, n) {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': n });
  fs.createReadStream(path.join(DIRECTORY, 'events'), { end: n - 1, highWaterMark: 1 << 18 }).pipe(
    response,
  );
}
