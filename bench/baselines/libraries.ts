// A server that has nothing but the libraries with which cadre serves: commander reads its command line, zod checks a body,
// fastify has as many routes as cadre, and sql.js has one table, in a file that it reaches as cadre's does. No server with
// these libraries starts in less time, or has less memory.
//
//   POST /v1/sessions, POST /v1/sessions/ID/turns, GET /v1/sessions/ID/events/stream
//        the part of the interface that a turn needs: each event is a row, is synced with the other events of its moment, and
//        is then sent to the client. It has the events of a turn of cadre, and nothing else: no state of a session or
//        turn, no approval, no budget, no search, no checksum and no limit
//
// bench/subject.ts bundles it, and Node keeps the code that V8 compiled of it, as for cadre.
import { spawn } from 'node:child_process';
import { fdatasync, readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { createInterface } from 'node:readline';
import { Command } from 'commander';
import { fastify } from 'fastify';
import { z } from 'zod';
import {
  configure,
  type Connection,
  DATABASE_FILE,
  openConnection,
} from '../../src/core/store/connection.ts';
import { RawStatement } from '../../src/core/store/raw-statement.ts';

const ROUTES = 154;
/** SQLite writes its log back into the database after this number of pages. */
const CHECKPOINT_PAGES = 1000;
const { PORT, DIRECTORY = '', WASM = '', AGENT = '' } = process.env;
const TABLE =
  'CREATE TABLE IF NOT EXISTS events (seq INTEGER PRIMARY KEY, kind TEXT, session_id TEXT, record TEXT) STRICT';
const INDEX = 'CREATE INDEX IF NOT EXISTS events_session ON events (session_id, seq)';

process.on('SIGTERM', () => process.exit(0));
new Command().command('serve').action(serve).parent?.parse();

async function serve(): Promise<void> {
  const connection = await openConnection({
    directory: DIRECTORY,
    wasm: () => readFileSync(WASM),
  });
  configure(connection.sql);
  connection.sql.exec(`${TABLE}; ${INDEX}; PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
  const log = new Log(connection);
  const sessions = new Map<string, Session>();
  const sessionOf = (params: unknown) => {
    const found = sessions.get((params as { id: string }).id);
    if (!found) throw new Error('there is no such session');
    return found;
  };

  const body = z.object({ input: z.array(z.object({ type: z.string(), text: z.string() })) });
  const app = fastify();
  app.get('/health', () => ({ status: 'ok' }));
  app.post('/v1/sessions', async () => {
    const session = new Session(String(sessions.size), log);
    sessions.set(session.id, session);
    await log.append(session.id, 'session.created', {});
    return { id: session.id };
  });
  app.post('/v1/sessions/:id/turns', async ({ params, body: given }) => {
    await sessionOf(params).startTurn(body.parse(given).input);
    return {};
  });
  app.get('/v1/sessions/:id/events/stream', ({ params }, reply) => {
    reply.hijack();
    reply.raw.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    sessionOf(params).follow(reply.raw);
  });
  for (let n = 0; n < ROUTES; n++)
    app.post(`/v1/group${n % 20}/:id/part${n}`, ({ body: given }) => body.parse(given));
  await log.append('', 'server.started', { at: new Date().toISOString() });
  await app.listen({ host: '127.0.0.1', port: Number(PORT) });
}

type OnStored = (frame: string) => void;

/** One table of events. The events of one moment share a transaction and a sync. */
class Log {
  readonly #connection: Connection;
  readonly #insert: RawStatement;
  readonly #begin: RawStatement;
  readonly #commit: RawStatement;
  #seq: number;
  #group: (() => void)[] = [];
  #committed: (() => void)[] = [];
  #isSyncing = false;

  constructor(connection: Connection) {
    const prepare = (sql: string) =>
      new RawStatement(connection.host, connection.handle, sql, () => undefined);
    this.#connection = connection;
    this.#insert = prepare(
      'INSERT INTO events (seq, kind, session_id, record) VALUES (?, ?, ?, ?)',
    );
    this.#begin = prepare('BEGIN');
    this.#commit = prepare('COMMIT');
    this.#seq = Number(connection.sql.one('SELECT coalesce(max(seq), 0) FROM events')?.[0]);
  }

  /** Stores an event, and hands its frame to `onStored` once it is on disk; resolves then. */
  append(sessionId: string, kind: string, payload: object, onStored?: OnStored): Promise<void> {
    if (this.#group.length === 0) {
      this.#begin.run();
      setImmediate(() => this.#endGroup());
    }
    const seq = ++this.#seq;
    const record = { seq, kind, session_id: sessionId, created_at: Date.now(), payload };
    const text = JSON.stringify(record);
    this.#insert.run(seq, kind, sessionId, text);
    return new Promise((resolve) => {
      this.#group.push(() => {
        onStored?.(`id: ${seq}\nevent: ${kind}\ndata: ${text}\n\n`);
        resolve();
      });
    });
  }

  #endGroup(): void {
    this.#commit.run();
    this.#committed.push(...this.#group);
    this.#group = [];
    this.#sync();
  }

  #sync(): void {
    const wal = this.#connection.host.file(`${DATABASE_FILE}-wal`);
    if (this.#isSyncing || this.#committed.length === 0 || !wal) return;
    this.#isSyncing = true;
    const stored = this.#committed;
    this.#committed = [];
    wal.buffer?.flush();
    fdatasync(wal.fd, (error) => {
      if (error) throw error;
      this.#isSyncing = false;
      for (const done of stored) done();
      this.#sync();
    });
  }
}

class Session {
  readonly id: string;
  readonly #log: Log;
  readonly #followers = new Set<ServerResponse>();
  #send: ((method: string, params: object) => void) | null = null;
  #said = '';

  constructor(id: string, log: Log) {
    this.id = id;
    this.#log = log;
  }

  follow(response: ServerResponse): void {
    this.#followers.add(response);
    response.once('close', () => this.#followers.delete(response));
  }

  /** Stores the prompt, and sends it to the agent once it is on disk; resolves then. */
  async startTurn(input: object[]): Promise<void> {
    await this.#publish('turn.accepted', { input });
    void this.#publish('turn.started', {});
    this.#send ??= this.#startAgent();
    this.#send('session/prompt', { sessionId: 'bench', prompt: input });
  }

  #startAgent() {
    const child = spawn(AGENT, { stdio: ['pipe', 'pipe', 'inherit'] });
    process.once('exit', () => child.kill());
    createInterface({ input: child.stdout }).on('line', (line) => this.#take(line));
    const send = (method: string, params: object) =>
      child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: method, method, params })}\n`);
    send('initialize', { protocolVersion: 1 });
    send('session/new', { cwd: '/', mcpServers: [] });
    return send;
  }

  /** Stores a piece of the message, or the message and the end of the turn. */
  #take(line: string): void {
    const { id, method, params } = JSON.parse(line) as {
      id?: string;
      method?: string;
      params?: { update: { content: { text: string } } };
    };
    if (method === 'session/update' && params) {
      const { text } = params.update.content;
      this.#said += text;
      void this.#publish('message.delta', { delta: text });
    } else if (id === 'session/prompt') {
      void this.#publish('message.completed', { text: this.#said });
      void this.#publish('turn.completed', {});
      this.#said = '';
    }
  }

  #publish(kind: string, payload: object): Promise<void> {
    return this.#log.append(this.id, kind, payload, (frame) => {
      for (const follower of this.#followers) follower.write(frame);
    });
  }
}
