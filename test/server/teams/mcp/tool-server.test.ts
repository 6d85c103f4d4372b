import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import type { CallToolResult, Progress } from '@modelcontextprotocol/sdk/types.js';
import { expect, it, onTestFinished } from 'vitest';
import type { ToolEnvelope } from '../../../../src/api/gateway.ts';
import { toolInfosOf, toolNamespaces } from '../../../../src/api/tools.ts';
import { systemClock } from '../../../../src/core/lib/clock.ts';
import { selfCommand } from '../../../../src/core/lib/self.ts';
import { serveTools, type ToolBackend } from '../../../../src/server/teams/mcp/tool-server.ts';
import { DirectTransport, LineTransport } from '../../../../src/server/teams/mcp/transports.ts';

const tools = Object.values(toolNamespaces).flatMap(toolInfosOf);
const fine: ToolEnvelope = { ok: true, result: { processes: [], left_out: null } };

function backend(call: ToolBackend['call'] = () => Promise.resolve(fine)): ToolBackend {
  return { list: () => Promise.resolve(tools), call };
}

/** The official client, connected to our server within this process. */
async function connectClient(call?: ToolBackend['call']): Promise<Client> {
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const serving = serveTools(ours, backend(call), systemClock);
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(theirs);
  onTestFinished(async () => {
    await client.close();
    await serving;
  });
  return client;
}

it('The annotations of a tool show whether it reads, destroys or reaches outside.', async () => {
  const client = await connectClient();
  const { tools: found } = await client.listTools();
  const hints = Object.fromEntries(
    found.map(({ name, annotations: one }) => [
      name,
      [one?.readOnlyHint, one?.destructiveHint, one?.idempotentHint, one?.openWorldHint],
    ]),
  );
  expect(hints).toEqual({
    cadre_process_run: [false, true, false, true],
    cadre_process_status: [true, false, true, false],
    cadre_process_logs: [true, false, true, false],
    cadre_process_kill: [false, true, true, false],
    cadre_team_status: [true, false, true, false],
    cadre_team_message: [false, false, false, false],
    cadre_team_manage: [false, true, false, true],
  });
  for (const { title, annotations, outputSchema } of found) {
    expect(title).toBe(annotations?.title);
    expect(outputSchema).toMatchObject({ type: 'object', required: ['ok', 'result'] });
  }
});

it('The instructions of the server explain where messages come from, and that output is data.', async () => {
  const client = await connectClient();
  expect(client.getInstructions()).toContain('cadre_process_run');
  expect(client.getInstructions()).toContain('not as instructions');
});

it('The result of a tool is structured content that matches its schema, and the same text.', async () => {
  const client = await connectClient();
  await client.listTools();
  const given = await client.callTool({ name: 'cadre_process_status' });
  const { structuredContent, content, isError } = given as CallToolResult;
  expect(isError).toBe(false);
  expect(structuredContent).toEqual(fine);
  expect(JSON.parse((content[0] as { text: string }).text)).toEqual(fine);
});

it('The failure of a tool is a result that the model sees.', async () => {
  const client = await connectClient(() =>
    Promise.resolve({ ok: false, error: { code: 'not_found', message: 'no process' } }),
  );
  await client.listTools();
  const given = await client.callTool({ name: 'cadre_process_logs', arguments: {} });
  expect(given.isError).toBe(true);
  expect((given.content as [{ text: string }])[0].text).toContain('no process');
});

it('Rising progress is reported only to a caller with a progress token.', async () => {
  const reports: Progress[] = [];
  const halfway = Promise.withResolvers<void>();
  const client = await connectClient(async (_tool, _args, _gone) => {
    await halfway.promise;
    return { ok: true, result: { process: { process_id: 'proc_1', status: 'running' } } };
  });
  await client.callTool({ name: 'cadre_process_run' }, undefined, {
    onprogress: (progress) => {
      reports.push(progress);
      if (reports.length === 2) halfway.resolve();
    },
  });
  expect(reports.length).toBeGreaterThanOrEqual(2);
  expect(reports.map(({ progress }) => progress)).toEqual(reports.map((_, n) => n));
  const before = reports.length;
  await client.callTool({ name: 'cadre_process_run' });
  expect(reports).toHaveLength(before);
});

/** Runs `test` with functions that write a line to a tool server and read its next answer as JSON. */
function serveLines(
  call?: ToolBackend['call'],
): [write: (line: string) => void, answer: () => Promise<unknown>] {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const transport = new LineTransport(input, output, systemClock);
  const serving = serveTools(transport, backend(call), systemClock);
  const lines = createInterface({ input: output })[Symbol.asyncIterator]();
  onTestFinished(async () => {
    input.end();
    await serving;
  });
  return [
    (line) => void input.write(`${line}\n`),
    async () => JSON.parse((await lines.next()).value as string) as unknown,
  ];
}

const initialize = JSON.stringify({
  jsonrpc: '2.0',
  id: 'first',
  method: 'initialize',
  params: {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'test', version: '1' },
  },
});

it('Each request of a batch gets a response.', async () => {
  const [write, answer] = serveLines();
  write(initialize);
  await answer();
  write(JSON.stringify([1, 2].map((id) => ({ jsonrpc: '2.0', id, method: 'ping' }))));
  expect([await answer(), await answer()]).toMatchObject([{ id: 1 }, { id: 2 }]);
});

it.each([
  ['ends', '\n'],
  ['does not end', ''],
])(
  'Requests that arrived before the end of the input get their responses, and then the server ends, if the last line %s with a line break.',
  async (_, end) => {
    const [input, output] = [new PassThrough(), new PassThrough()];
    const serving = serveTools(
      new LineTransport(input, output, systemClock),
      backend(),
      systemClock,
    );
    const params = { name: 'cadre_process_run', arguments: {} };
    const call = { jsonrpc: '2.0', id: 'last', method: 'tools/call', params };
    input.end(`${initialize}\n${JSON.stringify(call)}${end}`);
    await serving;
    output.end();
    const lines = await Array.fromAsync(createInterface({ input: output }));
    const ids = lines.map((line) => (JSON.parse(line) as { id?: string }).id);
    expect(ids).toEqual(['first', 'last']);
  },
);

it('A malformed line gets a parse error, and the next line is answered normally.', async () => {
  const [write, answer] = serveLines();
  write('{"jsonrpc": "2.0", "id": 1, "method"');
  expect(await answer()).toMatchObject({ jsonrpc: '2.0', id: null, error: { code: -32700 } });
  write(initialize);
  expect(await answer()).toMatchObject({
    id: 'first',
    result: { protocolVersion: '2025-06-18' },
  });
});

it('JSON that is not a message gets "invalid request", with its id if it has one.', async () => {
  const [write, answer] = serveLines();
  for (const [line, id] of [
    ['[]', null],
    ['17', null],
    ['{"jsonrpc":"1.0","id":7,"method":"ping"}', 7],
    ['{"jsonrpc":"2.0","id":"a","method":5}', 'a'],
    ['{"jsonrpc":"2.0","id":{},"method":"ping"}', null],
  ] as const) {
    write(line);
    expect(await answer()).toMatchObject({ id, error: { code: -32600 } });
  }
});

it('A tool gets each argument of a call, also one named "__proto__".', async () => {
  const names: string[][] = [];
  const [write, answer] = serveLines((_tool, args) => {
    names.push(Object.keys(args));
    return Promise.resolve(fine);
  });
  write(initialize);
  await answer();
  write(
    '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"cadre_process_status","arguments":{"a":1,"__proto__":{}}}}',
  );
  await answer();
  expect(names).toEqual([['a', '__proto__']]);
});

it('Wrong parameters get -32602 with a sentence that names the parameter.', async () => {
  const [write, answer] = serveLines();
  write(initialize);
  await answer();
  const call = (params: unknown) =>
    write(JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/call', params }));
  for (const [params, named] of [
    [{}, 'params.name'],
    [{ name: 5 }, 'params.name'],
    [{ name: 'cadre_process_status', arguments: 'x' }, 'params.arguments'],
    [undefined, 'params'],
    [{ name: 'cadre_nothing' }, 'unknown tool "cadre_nothing"'],
  ] as const) {
    call(params);
    const { error } = (await answer()) as { error: { code: number; message: string } };
    expect(error.code).toBe(-32602);
    expect(error.message).toContain(named);
    expect(error.message).not.toMatch(/[{}[\]\n]/);
  }
});

it('Messages that come over a channel within the process are checked in the same way.', async () => {
  const said: object[] = [];
  const transport = new DirectTransport((message) => void said.push(message));
  const serving = serveTools(transport, backend(), systemClock);
  transport.receive({ jsonrpc: '2.0', id: 3, method: 'tools/call', params: {} });
  transport.receive('nonsense');
  expect(said).toMatchObject([
    { id: 3, error: { code: -32602 } },
    { id: null, error: { code: -32600 } },
  ]);
  await transport.close();
  await serving;
});

it('The sidecar answers a broken line and continues; it ends with its input.', async () => {
  const { file, args } = selfCommand();
  const child = spawn(file, [...args, 'mcp', 'serve'], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const answer = async () => JSON.parse((await lines.next()).value as string) as unknown;
  child.stdin.write('nonsense\n');
  expect(await answer()).toMatchObject({ error: { code: -32700 } });
  child.stdin.write(`${initialize}\n`);
  expect(await answer()).toMatchObject({ id: 'first' });
  child.stdin.end();
  const [code] = await once(child, 'exit');
  expect(code).toBe(0);
});

it('A request whose method is a name that every object has is answered as unknown.', async () => {
  const [write, read] = serveLines();
  for (const method of ['constructor', 'toString']) {
    write(JSON.stringify({ jsonrpc: '2.0', id: method, method }));
    expect(await read()).toMatchObject({ id: method, error: { code: -32_601 } });
  }
});
