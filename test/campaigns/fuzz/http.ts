import { execFileSync } from 'node:child_process';
import net from 'node:net';
import path from 'node:path';
import { z } from 'zod';
import type { Endpoint } from '../../../src/api/endpoint.ts';
import { endpoints } from '../../../src/api/index.ts';
import { openRuntime, type TestRuntime } from '../../support/runtime.ts';
import { scriptedProvider } from '../../support/scripted-provider.ts';
import { tempDirectory } from '../../support/temp.ts';
import { seed } from './files.ts';
import type { Seed } from './mutate.ts';
import type { Target } from './runner.ts';

/** A request, as an input has it. A mutated one may have values of any type here. */
interface Sent {
  method: unknown;
  path: unknown;
  query: unknown;
  headers: unknown;
  body: unknown;
}

/** A connection is closed after this time: streams do not end, and a request may ask the server to wait. */
const PATIENCE_MS = 400;
/** A new server is started after so many requests, since its sessions and processes grow. */
const REQUESTS_PER_SERVER = 1000;

/** Values of fields that have to name something, or do no harm. All other values come from the descriptions. */
const byName: Readonly<Record<string, unknown>> = {
  cwd: '$WORK',
  directory: '$WORK',
  repo_root: '$WORK',
  source_session_id: '$SESSION',
  session_id: '$SESSION',
  caller_agent_id: '$SESSION',
  callerAgentId: undefined,
  toolName: undefined,
  invocationId: undefined,
  agent_id: '$SESSION',
  lead_agent_id: '$SESSION',
  member_agent_ids: [],
  sender_agent_id: '$SESSION',
  recipient_agent_id: '$SESSION',
  turn_id: '$TURN',
  process_id: '$PROCESS',
  team_id: '$TEAM',
  entry_id: '$ENTRY',
  provider: 'acp',
  input: [{ type: 'text', text: 'hello' }],
  timeout_ms: 50,
  tool_name: 'cadre_process_list',
  args: {},
  worktree: undefined,
  sandbox: undefined,
  import: undefined,
  mcp_servers: undefined,
  operation_id: undefined,
  image_paths: [],
  api_key: 'key',
  cursor: undefined,
  kind: undefined,
  agent: undefined,
  before: undefined,
  every: undefined,
  until: undefined,
  model_preset: undefined,
  reply_to_message_id: undefined,
  moment: 'start',
  since: undefined,
  time_zone: 'UTC',
  for: 'exit',
  after_limit: 'wait',
  contenders: [{}, {}],
  sha256: 'a'.repeat(64),
};

/** Requests after which the session or the team takes no others. They get a session and a team that nothing else uses. */
const ENDING =
  /^(DELETE \/v1\/teams|POST \/v1\/sessions\/.*\/(close|rewind|handoff|hand-back)$|POST \/v1\/teams\/.*\/lead$)/;

interface Described {
  $ref?: string;
  $defs?: Record<string, Described>;
  type?: string | readonly string[];
  enum?: unknown[];
  const?: unknown;
  anyOf?: Described[];
  oneOf?: Described[];
  properties?: Record<string, Described>;
  items?: Described;
  minimum?: number;
}

const JSON_TYPE = { 'content-type': 'application/json' };

/** A value that a description allows, or nearly so. */
function sampleOf(schema: Described, name = '', defs = schema.$defs ?? {}): unknown {
  const named = defs[schema.$ref?.replace('#/$defs/', '') ?? ''];
  if (named) return sampleOf(named, name, defs);
  const isText =
    schema.type === 'string' || (schema.anyOf ?? []).some((one) => one.type === 'string');
  if (name === 'command') return isText ? 'true' : ['true'];
  if (Object.hasOwn(byName, name)) return byName[name];
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[0];
  const [first] = schema.anyOf ?? schema.oneOf ?? [];
  if (first) return sampleOf(first, name, defs);
  switch ([schema.type].flat()[0]) {
    case 'object':
      return Object.fromEntries(
        Object.entries(schema.properties ?? {}).map(([key, one]) => [
          key,
          sampleOf(one, key, defs),
        ]),
      );
    case 'array':
      return schema.items ? [sampleOf(schema.items, name, defs)] : [];
    case 'integer':
    case 'number':
      return Math.max(1, schema.minimum ?? 1);
    case 'boolean':
      return true;
    default:
      return 'text';
  }
}

function described(schema: z.ZodType): Described {
  return z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Described;
}

function seedOf({ method, path: route, query, body, params, access, secret }: Endpoint): Seed {
  const filled = route.replaceAll(/\{(\w+)\}/g, (_all, name: string) =>
    String(byName[name] ?? sampleOf(described(params[name] ?? z.string()), name)),
  );
  const asked = Object.entries(query).map(([name, one]) => [name, sampleOf(described(one), name)]);
  const isKeyed = method === 'POST' && access !== 'gateway' && !secret;
  const isEnding = ENDING.test(`${method} ${route}`);
  const sent: Sent = {
    method,
    path: isEnding ? filled.replace(/\$(SESSION|TEAM)/, '$SPARE$1') : filled,
    query: Object.fromEntries(asked) as object,
    headers: {
      ...(body === null ? {} : JSON_TYPE),
      ...(isKeyed ? { 'idempotency-key': 'key-$NUMBER' } : {}),
    },
    body: body === null ? undefined : sampleOf(described(body)),
  };
  return seed('request', 'json', sent);
}

/** A backup copies the whole store, and says nothing about its request. */
const LEFT_OUT = new Set(['POST /v1/storage/backup']);

const requests = Object.values(endpoints as Record<string, Endpoint>).filter(
  (one) => !LEFT_OUT.has(`${one.method} ${one.path}`),
);

/** A server with a session, a turn, a process, a team and a queue entry. */
async function openServer() {
  const directory = tempDirectory('fuzz');
  const work = path.join(directory.path, 'work');
  execFileSync('git', ['init', '--quiet', '-b', 'main', work]);
  const own = [
    '-c',
    'user.name=a',
    '-c',
    'user.email=a@b',
    'commit',
    '--quiet',
    '--allow-empty',
    '-m',
    'x',
  ];
  execFileSync('git', ['-C', work, ...own]);
  const provider = scriptedProvider((turn) => turn.end({ status: 'completed', error: null }));
  const server = await openRuntime(path.join(directory.path, 'data'), { providers: [provider] });
  const names = await namesIn(server, work);
  return {
    server,
    names: { ...names, WORK: work, TOKEN: server.token },
    async [Symbol.asyncDispose]() {
      await server.stop(AbortSignal.abort());
      await directory[Symbol.asyncDispose]();
    },
  };
}

/** Makes one thing of each kind that requests name. */
async function namesIn({ client }: TestRuntime, cwd: string): Promise<Record<string, string>> {
  const opening = { body: { provider: 'acp' as const, cwd } };
  const { id: session_id } = await client.call(endpoints.createSession, opening);
  const { id: spare } = await client.call(endpoints.createSession, opening);
  const input = [{ type: 'text' as const, text: 'x' }];
  const params = { session_id };
  const turn = await client.call(endpoints.sendTurn, { params, body: { input } });
  const at = Date.now() + 3_600_000;
  const entry = await client.call(endpoints.addToQueue, { params, body: { input, at } });
  const process = await client.call(endpoints.createProcess, { body: { command: 'cat', cwd } });
  const team = (lead_agent_id: string) =>
    client.call(endpoints.createTeam, { body: { name: 't', lead_agent_id } });
  return {
    SESSION: session_id,
    SPARESESSION: spare,
    TURN: turn.turn_id,
    TEAM: (await team(session_id)).team.id,
    SPARETEAM: (await team(spare)).team.id,
    PROCESS: process.process.process_id,
    ENTRY: entry.id,
  };
}

/** The bytes of a request. Everything in it is sent as it is, also what no client would send. */
function bytesOf({ bytes }: Seed, names: Readonly<Record<string, string>>): Buffer {
  const text = bytes
    .toString('utf8')
    .replaceAll(/\$([A-Z]+)/g, (all, name: string) => names[name] ?? all);
  let sent: Partial<Sent> | null;
  try {
    sent = JSON.parse(text) as Partial<Sent> | null;
  } catch {
    sent = { method: 'POST', path: '/v1/sessions', headers: JSON_TYPE, body: text };
  }
  const { method = 'GET', path: route = '/', query = {}, headers = {}, body } = sent ?? {};
  const search = Object.entries(query ?? {})
    .map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
    .join('&');
  const content = Buffer.from(body === undefined ? '' : plainText(body));
  const lines = Object.entries(headers ?? {}).map(
    ([name, value]) => `${name}: ${plainText(value)}`,
  );
  const head = [
    `${plainText(method)} ${plainText(route)}${search && `?${search}`} HTTP/1.1`,
    'host: localhost',
    'connection: close',
    `content-length: ${content.length}`,
    // After failed authentications the server answers late, so few requests have none.
    ...(Number(names.NUMBER) % 50 === 0 ? [] : [`authorization: Bearer ${names.TOKEN}`]),
    ...lines,
  ];
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), content]);
}

/** A value as it is sent: a text as it is, any other value as JSON. */
export function plainText(value: unknown): string {
  if (typeof value === 'string') return value;
  try {
    return JSON.stringify(value) ?? '';
  } catch {
    // Too deep to be written again.
    return '['.repeat(20_000);
  }
}

function encoded(value: unknown): string {
  return encodeURIComponent(plainText(value).toWellFormed());
}

/** Sends bytes, and resolves with the beginning of the answer. */
function exchange(url: string, bytes: Buffer): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = net.connect({ host: hostname, port: Number(port) });
    let answer = '';
    socket.setTimeout(PATIENCE_MS, () => socket.destroy());
    socket.on('data', (part) => {
      if (answer.length < 4096) answer += part.toString('latin1');
      if (answer.includes('text/event-stream')) socket.destroy();
    });
    // The server closes the connection. A client that ends its side before that counts as gone.
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(answer));
    socket.write(bytes);
  });
}

function assertAnswer(answer: string): void {
  const [, status = ''] = /^HTTP\/1\.1 (\d{3})/.exec(answer) ?? [];
  const isBug = status.startsWith('5') && /"code":"internal"|^(?![^]*"code":)/.test(answer);
  if (isBug) throw new Error(`HTTP status ${status}: ${answer.slice(-600)}`);
}

export const http: Target = {
  entry: 'a server: paths, queries, headers and bodies of all endpoints',
  seeds: requests.map(seedOf),
  async open() {
    let opened = await openServer();
    let count = 0;
    const close = async () => {
      const lines = opened.server.logLines();
      await opened[Symbol.asyncDispose]();
      const bug = lines.find(({ msg }) => String(msg).includes('because of a bug'));
      if (bug) throw new Error(`the server logged ${JSON.stringify(bug).slice(0, 2000)}`);
    };
    return {
      async feed(input) {
        if (++count % REQUESTS_PER_SERVER === 0) {
          await close();
          opened = await openServer();
        }
        const { server, names } = opened;
        const numbered = { ...names, NUMBER: String(count) };
        assertAnswer(await exchange(server.url, bytesOf(input, numbered)));
        if (count % 100 === 0) {
          const { status } = await fetch(`${server.url}/health`);
          if (status !== 200) throw new Error(`/health answers ${status}`);
        }
      },
      [Symbol.asyncDispose]: close,
    };
  },
};
