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
//   POST /v1/sessions, POST /v1/sessions/ID/turns, GET /v1/sessions/ID/events/stream
//                       the part of the interface that a turn needs: the prompt, each word of the agent and the end of the turn
//                       are appended to the file and synced, and then sent to the client
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { createInterface } from 'node:readline';

const { PORT, DIRECTORY = '', AGENT = '' } = process.env;
const log = fs.openSync(path.join(DIRECTORY, 'bare.log'), 'a');
const followers = new Set();
let waiting = [];
let isSyncing = false;
const sessions = [];
let seq = 0;

http
  .createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url, 'http://bare');
    const n = Number(searchParams.get('n'));
    const [, id, part] = /^\/v1\/sessions(?:\/(\d+)\/(\w+))?/.exec(pathname) ?? [pathname];
    if (pathname === '/v1/sessions') createSession(response);
    else if (part === 'turns') startTurn(request, response, sessions[id]);
    else if (part === 'events') follow(response, sessions[id].followers);
    else if (request.method === 'POST') append(request, response, pathname === '/publish');
    else if (pathname === '/stream') follow(response, followers);
    else if (pathname === '/events') sendEvents(response, n);
    else if (pathname === '/bytes') response.end(`"${'x'.repeat(n - 2)}"`);
    else response.end('{"status":"ok"}');
  })
  .listen(Number(PORT), '127.0.0.1');

function append(request, response, isPublished) {
  read(request, (body) =>
    store(body, () => {
      if (isPublished) for (const follower of followers) follower.write(body);
      response.end('{}');
    }),
  );
}

function read(request, use) {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => use(Buffer.concat(chunks)));
}

/** Appends `body` to the file, and calls `whenStored` once it is on disk. */
function store(body, whenStored) {
  fs.writeSync(log, body);
  waiting.push(whenStored);
  sync();
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

function follow(response, all) {
  response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
  all.add(response);
  response.once('close', () => all.delete(response));
}

function sendEvents(response, n) {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': n });
  fs.createReadStream(path.join(DIRECTORY, 'events'), { end: n - 1, highWaterMark: 1 << 18 }).pipe(
    response,
  );
}

/** Creates a session, and starts its agent for the first turn. */
function createSession(response) {
  const id = sessions.push({ agent: null, followers: new Set() }) - 1;
  store(`session ${id}\n`, () => response.end(JSON.stringify({ id: String(id) })));
}

/** Stores the prompt, and responds when it is on disk. Then sends the prompt to the agent. */
function startTurn(request, response, session) {
  read(request, (body) =>
    store(body, () => {
      response.end('{}');
      session.agent ??= startAgent(session);
      const { input } = JSON.parse(body);
      session.agent('session/prompt', { sessionId: 'bench', prompt: input });
    }),
  );
}

/** Starts the agent of a session. Returns the function that sends a request to it. */
function startAgent(session) {
  const child = spawn(AGENT, { stdio: ['pipe', 'pipe', 'inherit'] });
  process.once('exit', () => child.kill());
  createInterface({ input: child.stdout }).on('line', (line) => takeMessage(session, line));
  const send = (method, params) =>
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: method, method, params })}\n`);
  send('initialize', { protocolVersion: 1 });
  send('session/new', { cwd: '/', mcpServers: [] });
  return send;
}

/** Stores a word or the end of a turn, and sends it to the followers of the session when it is on disk. */
function takeMessage(session, line) {
  const { id, method, params } = JSON.parse(line);
  if (id === 'session/prompt') publish(session, 'turn.completed', {});
  else if (method === 'session/update') publish(session, 'message.delta', params.update);
}

function publish(session, kind, payload) {
  const data = JSON.stringify({ seq: ++seq, kind, payload });
  const frame = `id: ${seq}\nevent: ${kind}\ndata: ${data}\n\n`;
  store(`${data}\n`, () => {
    for (const follower of session.followers) follower.write(frame);
  });
}

process.once('SIGTERM', () => process.exit());
