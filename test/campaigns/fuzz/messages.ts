import { once } from 'node:events';
import fs from 'node:fs';
import type { IncomingMessage } from 'node:http';
import net, { type AddressInfo } from 'node:net';
import path from 'node:path';
import { PassThrough, Readable, Writable } from 'node:stream';
import { type NatsConnection, headers as natsHeaders } from '@nats-io/transport-node';
import { AppError } from '../../../src/api/errors.ts';
import { endpoints } from '../../../src/api/index.ts';
import { toolInfosOf, toolNamespaces } from '../../../src/api/tools.ts';
import { type Client, HttpClient } from '../../../src/client/client.ts';
import { eventsIn, framesOf } from '../../../src/client/frames.ts';
import { streamLogs } from '../../../src/client/log-stream.ts';
import type { Supervisor } from '../../../src/core/children/supervisor.ts';
import { systemClock } from '../../../src/core/lib/clock.ts';
import { FleetCursor } from '../../../src/fleet/cursor.ts';
import { readHeartbeat } from '../../../src/fleet/heartbeat.ts';
import { readEvent, readMessage } from '../../../src/fleet/mirrored.ts';
import { namesOf } from '../../../src/fleet/names.ts';
import type { Arrived, ReaderStream } from '../../../src/fleet/nats-reader-stream.ts';
import { NodeClient } from '../../../src/fleet/node-client.ts';
import { NodeView } from '../../../src/fleet/node-view.ts';
import { readFleet } from '../../../src/fleet/reader.ts';
import { serveEditor } from '../../../src/frontends/editor/index.ts';
import type { Delivery, Outcome } from '../../../src/server/hooks/outcome.ts';
import { runCommand } from '../../../src/server/hooks/run-command.ts';
import { sendPost } from '../../../src/server/hooks/send-post.ts';
import { serveTools, type ToolBackend } from '../../../src/server/teams/mcp/tool-server.ts';
import { LineTransport } from '../../../src/server/teams/mcp/transports.ts';
import { anEvent } from '../../support/event-record.ts';
import { askedNode } from '../../support/fleet/asked-node.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { aSession } from '../../support/records.ts';
import { openRuntime } from '../../support/runtime.ts';
import { scriptedProvider } from '../../support/scripted-provider.ts';
import { tempDirectory } from '../../support/temp.ts';
import { seed } from './files.ts';
import { plainText } from './http.ts';
import type { Seed } from './mutate.ts';
import type { Target } from './runner.ts';

const nothing = { [Symbol.asyncDispose]: () => Promise.resolve() };

/** A target without anything to close. */
function simple(
  entry: string,
  seeds: readonly Seed[],
  feed: (input: Seed) => Promise<void> | void,
): Target {
  return { entry, seeds, open: () => Promise.resolve({ feed, ...nothing }) };
}

const lines = (messages: readonly unknown[]) =>
  messages.map((one) => `${JSON.stringify(one)}\n`).join('');

// --- The event streams of a server, as a client reads them.

const created = anEvent({
  kind: 'session.created',
  session_id: 'sess_1',
  payload: { session: aSession() },
});
const frames = `: hello\n\nid: 1\nevent: session.created\ndata: ${JSON.stringify(created)}\n\n`;
const gap = 'event: stream.gap\ndata: {"after_seq":1,"next_seq":5}\n\n';
const logFrames =
  'id: 3\nevent: output\ndata: {"offset":0,"text":"abc"}\n\nevent: end\ndata: {}\n\n';

/** The body of a response, in two pieces. */
function responseOf(bytes: Buffer): IncomingMessage {
  const middle = Math.floor(bytes.length / 2);
  return Readable.from([bytes.subarray(0, middle), bytes.subarray(middle)], {
    objectMode: false,
  }) as IncomingMessage;
}

export const sse = simple(
  'framesOf, eventsIn and streamLogs of the client',
  [
    seed('events', 'text', frames + gap + frames.replace('id: 1', 'id: 5')),
    seed('logs', 'text', logFrames),
  ],
  async ({ kind, bytes }) => {
    if (kind === 'events') {
      for await (const event of eventsIn(framesOf(responseOf(bytes)))) JSON.stringify(event);
      return;
    }
    const over = new AbortController();
    const client = {
      clientOf: () => Promise.resolve(client),
      open: () => Promise.resolve(responseOf(bytes)),
    } as unknown as Client;
    const source = {
      client,
      clock: systemClock,
      processId: 'p',
      stream: 'stdout' as const,
      from: 0,
    };
    const onConnection = (isLost: boolean) => void (isLost && over.abort());
    for await (const text of streamLogs({ ...source, signal: over.signal, onConnection }))
      if (typeof text !== 'string') throw new Error('expected a text of the log');
  },
);

// --- MCP.

const call = (id: number, name: string, args: object) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: args, _meta: { progressToken: id } },
});
const mcpMessages = [
  {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'c', version: '1' },
    },
  },
  { jsonrpc: '2.0', method: 'notifications/initialized' },
  { jsonrpc: '2.0', id: 2, method: 'tools/list', params: {} },
  call(3, 'cadre_process_run', { command: 'true', wait_ms: 10 }),
  call(4, 'cadre_team_status', {}),
  { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 3, reason: 'r' } },
  { jsonrpc: '2.0', id: 5, method: 'ping' },
];

const backend: ToolBackend = {
  list: () => Promise.resolve(Object.values(toolNamespaces).flatMap(toolInfosOf)),
  call: (tool, args) => Promise.resolve({ ok: true, result: { tool, args } } as never),
};

export const mcp = simple(
  'serveTools on a LineTransport, as the sidecar runs it',
  [seed('lines', 'lines', lines(mcpMessages))],
  async ({ bytes }) => {
    const output = new PassThrough();
    let text = '';
    output.on('data', (part: Buffer) => (text += part.toString()));
    const transport = new LineTransport(responseOf(bytes), output, systemClock);
    await serveTools(transport, backend, new ManualClock());
    assertJsonLines(text);
  },
);

/** The output consists of JSON lines, and no answer reports an error of the program itself. */
function assertJsonLines(text: string): void {
  for (const line of text.split('\n').filter(Boolean)) {
    const { error } = JSON.parse(line) as { error?: { code: number; data?: { code?: string } } };
    if (error?.code === -32603 && (error.data?.code ?? 'internal') === 'internal')
      throw new Error(`an answer reports an internal error: ${line.slice(0, 500)}`);
  }
}

// --- An editor.

const rpc = (id: number, method: string, params: object) => ({
  jsonrpc: '2.0',
  id,
  method,
  params,
});
const one = { sessionId: '$SESSION' };
const prompt = [
  { type: 'text', text: 'look at ' },
  { type: 'resource_link', name: 'a', uri: 'file:///w/a.txt#L3' },
  { type: 'resource', resource: { uri: 'file:///w/b.txt', text: 'content' } },
];
const editorMessages = [
  rpc(0, 'initialize', { protocolVersion: 1, clientCapabilities: { elicitation: { form: {} } } }),
  rpc(1, 'session/load', { ...one, cwd: '/', mcpServers: [] }),
  rpc(2, 'session/prompt', { ...one, prompt }),
  rpc(3, 'session/set_mode', { ...one, modeId: 'require_approval' }),
  rpc(4, 'session/set_config_option', { ...one, configId: 'mode', value: 'read_only' }),
  rpc(5, 'session/list', { cwd: '/', cursor: null }),
  rpc(6, 'session/resume', { ...one, cwd: '/', mcpServers: [] }),
  { jsonrpc: '2.0', method: 'session/cancel', params: one },
  rpc(7, 'session/set_title', { ...one, title: 'a title' }),
  rpc(8, 'session/new', {
    cwd: '/nowhere',
    mcpServers: [{ name: 'm', command: 'c', args: [], env: [{ name: 'A', value: 'b' }] }],
  }),
  { jsonrpc: '2.0', id: 0, result: { outcome: { outcome: 'selected', optionId: 'once' } } },
  rpc(9, 'session/close', one),
];
const EDITORS_PER_SERVER = 300;

async function openEditorServer() {
  const directory = tempDirectory('fuzz');
  const provider = scriptedProvider((turn) => turn.end({ status: 'completed', error: null }));
  const server = await openRuntime(path.join(directory.path, 'data'), { providers: [provider] });
  const body = { provider: 'acp' as const, cwd: directory.path };
  const { id } = await server.client.call(endpoints.createSession, { body });
  return {
    server,
    id,
    async [Symbol.asyncDispose]() {
      await server.stop(AbortSignal.abort());
      await directory[Symbol.asyncDispose]();
    },
  };
}

export const editor: Target = {
  entry: 'serveEditor, with a server behind it',
  seeds: [seed('lines', 'lines', lines(editorMessages))],
  async open() {
    let opened = await openEditorServer();
    let count = 0;
    return {
      async feed({ bytes }) {
        if (++count % EDITORS_PER_SERVER === 0) {
          await opened[Symbol.asyncDispose]();
          opened = await openEditorServer();
        }
        const { server, id } = opened;
        let text = '';
        const stdout = new Writable({
          write(part: Buffer, _encoding, done) {
            text += part.toString();
            done();
          },
        });
        const input = Buffer.from(bytes.toString('latin1').replaceAll('$SESSION', id), 'latin1');
        await serveEditor({
          stdin: responseOf(input),
          stdout,
          signal: AbortSignal.timeout(20_000),
          connect: () => Promise.resolve(new HttpClient(server)),
          clock: systemClock,
          version: '1',
          opening: (_client, cwd) => Promise.resolve({ provider: 'acp', cwd } as never),
          fixed: null,
        });
        assertJsonLines(text);
      },
      [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
    };
  },
};

// --- The messages of a fleet.

const about = { 'Cadre-Epoch': 'epoch_1', 'Cadre-Seq': '7', 'Cadre-Prev': '6', 'Cadre-Id': 'e7' };
const message = (kind: string, text: unknown, more: object = {}) => ({
  subject: `cadre.f.ev.n1.${kind}`,
  headers: { ...about, ...more },
  text: typeof text === 'string' ? text : JSON.stringify(text),
});
const turned = anEvent({
  seq: 7,
  kind: 'turn.started',
  scope: 'session',
  session_id: 'sess_1',
  turn_id: 'turn_1',
  payload: { provider_turn_ref: 'x' },
});
const stream = [
  message('session.created', { ...created, seq: 5, scope: 'session' }, { 'Cadre-Seq': '5', 'Cadre-Prev': '0' }),
  message('turn.started', turned),
  message('fleet.epoch', { from: { epoch: 'epoch_1', seq: 9 }, to: { epoch: 'epoch_2', after: 0 } }, { 'Cadre-Epoch': 'epoch_2', 'Cadre-Seq': '0', 'Cadre-Prev': '0' }),
  message('fleet.gap', { after: 7, up_to: 9 }, { 'Cadre-Epoch': 'epoch_2', 'Cadre-Seq': '9' }),
]; // prettier-ignore
const sign = {
  node: 'n1',
  instance: 'i',
  epoch: 'e',
  machine: 'm',
  version: '1',
  labels: ['a'],
  live: 1,
  max_live: 2,
  mirror: 'on',
  detail: null,
};
const request = { method: 'POST', path: '/v1/sessions?limit=1', body: { a: 1 }, key: 'k' };
const answer = { status: 200, headers: { 'x-seq': '4' }, body: { version: '1', data_format: 1 } };

/** Reads messages of the stream as a reader of the fleet and as the view of a node do. */
async function readStream(bytes: Buffer): Promise<void> {
  const arrived: Arrived[] = [];
  for (const [at, line] of bytes.toString().split('\n').entries()) {
    let found: { subject?: unknown; headers?: unknown; text?: unknown } | null;
    try {
      found = JSON.parse(line) as typeof found;
    } catch {
      continue;
    }
    const about = natsHeaders();
    // The library takes a quadratic time for headers; NATS allows a few kilobytes.
    for (const [name, value] of Object.entries(found?.headers ?? {}).slice(0, 50)) {
      // The library itself refuses headers that NATS cannot carry.
      if (/^[\w-]+$/.test(name)) about.set(name, plainText(value).replaceAll(/[\r\n]/g, ''));
    }
    const read = readMessage(plainText(found?.subject), about, at + 1, plainText(found?.text));
    if (read) arrived.push({ message: read, at });
    if (read) readEvent(read.text, read);
  }
  const view = new NodeView();
  for (const one of arrived) view.apply(one);
  JSON.stringify(view.known);
  const cursor = FleetCursor.start();
  const reader = {
    info: () => Promise.resolve({ id: 's', first: 1, last: arrived.length }),
    idAt: () => Promise.resolve(null),
    async *read() {
      yield* arrived;
    },
  } as unknown as ReaderStream;
  const fill = () => Promise.reject(new AppError('unreachable', 'no such node'));
  const { signal } = new AbortController();
  const parts = { stream: reader, clock: new ManualClock(), cursor, fill };
  for await (const item of readFleet(parts, { follow: false, signal })) JSON.stringify(item);
  FleetCursor.parse(cursor.toString());
}

/** Has a node answer a request whose message is the input. */
async function answerRequest(bytes: Buffer): Promise<void> {
  const { status } = await askedNode(bytes.toString(), (asked) =>
    Promise.resolve({ status: 200, headers: {}, text: JSON.stringify(asked.path) }),
  );
  if (status >= 500) throw new Error(`the node answers ${status}`);
}

/** Calls an endpoint of a node that answers with the input. */
async function callNode(bytes: Buffer): Promise<void> {
  const clock = new ManualClock();
  const connection = {
    info: { max_payload: 1e6 },
    request: () => {
      // A message that cannot be read counts as silence, until the time is over.
      setImmediate(() => clock.advance(40_000));
      return Promise.resolve({ string: () => bytes.toString() });
    },
  } as unknown as NatsConnection;
  const visit = {
    connection,
    names: namesOf('f'),
    user: 'bob',
    scope: 'admin' as const,
    clock,
    newKey: () => 'k',
  };
  await new NodeClient(visit, 'n1').ask(endpoints.getVersion, {});
}

const natsKinds: Record<string, (bytes: Buffer) => Promise<void>> = {
  stream: readStream,
  request: answerRequest,
  answer: callNode,
  heartbeat: (bytes) => Promise.resolve(void readHeartbeat(bytes.toString())),
};

export const nats = simple(
  'readMessage, readEvent, readFleet, NodeView, readHeartbeat, serveRequests and NodeClient of the fleet',
  [
    seed('stream', 'lines', lines(stream)),
    seed('heartbeat', 'json', sign),
    seed('request', 'json', request),
    seed('answer', 'json', answer),
  ],
  ({ kind, bytes }) => natsKinds[kind]?.(bytes),
);

// --- The answers to hooks.

const delivery: Delivery = {
  body: '{"event":1}',
  event: { id: 'evt_1', seq: 1, kind: 'turn.completed' },
  attempt: 1,
  secret: 'link-secret',
};
const signal = new AbortController().signal;

function assertOutcome(outcome: Outcome): void {
  if (outcome.ok) return;
  const { error } = outcome;
  if (typeof error !== 'string' || error.length > 400 || error.includes('link-secret'))
    throw new Error(`an outcome with the error ${JSON.stringify(error).slice(0, 500)}`);
}

async function runHook(bytes: Buffer): Promise<void> {
  const exited = Promise.withResolvers<{ code: number; signal: null }>();
  const [stdout, stderr] = [new PassThrough(), responseOf(bytes)];
  const end = () => {
    exited.resolve({ code: 1, signal: null });
    return Promise.resolve([]);
  };
  stderr.once('end', () => void end());
  const child = {
    pid: 1,
    stdin: new PassThrough(),
    stdout,
    stderr,
    exited: exited.promise,
    rest: Promise.resolve([]),
    end,
  };
  const supervisor = { start: () => Promise.resolve(child) } as unknown as Supervisor;
  const hook = { name: 'h', command: 'x', timeoutMs: 1000 };
  assertOutcome(
    await runCommand(
      { supervisor, clock: new ManualClock(), directory: '/' },
      hook,
      delivery,
      signal,
    ),
  );
}

export const hooks: Target = {
  entry: 'runCommand and sendPost of server/hooks',
  seeds: [
    seed('stderr', 'text', 'a warning\nthe link link-secret failed: \u001b[31mno\u001b[0m\n'),
    seed(
      'response',
      'text',
      'HTTP/1.1 500 Internal Server Error\r\ncontent-type: text/plain\r\ncontent-length: 5\r\n\r\nwrong',
    ),
    seed(
      'response',
      'text',
      'HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1/\r\ntransfer-encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n',
    ),
    seed(
      'response',
      'text',
      'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n',
    ),
  ],
  async open() {
    const directory = tempDirectory('fuzz');
    const secretFile = path.join(directory.path, 'secret');
    fs.writeFileSync(secretFile, `whsec_${Buffer.alloc(32, 7).toString('base64')}\n`, {
      mode: 0o600,
    });
    let bytes: Buffer = Buffer.alloc(0);
    const server = net.createServer((socket) => {
      socket.on('error', () => undefined).resume();
      socket.once('data', () => socket.end(bytes));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const hook = { name: 'h', url: `http://127.0.0.1:${port}/`, secretFile, timeoutMs: 2000 };
    return {
      async feed(input) {
        if (input.kind === 'stderr') return runHook(input.bytes);
        ({ bytes } = input);
        assertOutcome(
          await sendPost({ clock: systemClock, ownUrl: () => '' }, hook, delivery, signal),
        );
      },
      async [Symbol.asyncDispose]() {
        server.close();
        await once(server, 'close');
        await directory[Symbol.asyncDispose]();
      },
    };
  },
};
