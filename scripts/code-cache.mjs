// Keeps the code that V8 compiles when a bundle runs, as dist/<bundle>.<version of V8>-<kind of machine>.compiled: a start
// then neither parses nor compiles what it needs. src/bundles/load.ts gives it back to V8, which refuses what another V8
// compiled, but of the text compares the length alone. So both files end with a digest of the text, and have to agree.
//
// Each bundle runs once what most of its users wait for, and reports the functions that have run. These functions are
// then compiled in a process that does nothing else: the code that V8 would write after a run depends on its order and
// timing, and two builds of one commit have to be the same.
import { fork } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import * as fs from 'node:fs';
import * as os from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const clientLines = [
  'sessions list',
  'processes list',
  'status',
  'sessions list --json',
  'teams list',
  'approvals list',
  'providers list',
];

// The first messages of an MCP client.
const handshake = [
  {
    id: 1,
    method: 'initialize',
    params: {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'build', version: '0' },
    },
  },
  { method: 'notifications/initialized' },
  { id: 2, method: 'tools/list' },
];

// The first messages of a server to the demo agent.
const conversation = [
  { id: 1, method: 'initialize', params: { protocolVersion: 1, clientCapabilities: {} } },
  { id: 2, method: 'session/new', params: { cwd: '/', mcpServers: [] } },
];

// As long as in src/bundles/load.ts.
export const TAG_BYTES = 32;

/** Ends a bundle with a digest of its text, in a comment. */
export function tagBundle(file) {
  const digest = createHash('sha256').update(fs.readFileSync(file)).digest('hex');
  fs.appendFileSync(file, `//${digest.slice(0, TAG_BYTES)}`);
}

/** Compiles the bundles in a directory, and writes what was compiled beside them. */
export function compileBundles(directory) {
  return compileWhatRuns(directory, async (run, data) => {
    const server = run('serve', [
      ['serve', ...data, '--port', '0', '--demo', '--log-level', 'warn'],
    ]);
    runSidecar(run);
    run('shim', [['__shim', join(data[1], '..', 'shim.sock')]]);
    run('agent', [['demo-agent']], conversation.map(message).join(''));
    run('program', [['--help'], ['config', 'path']]);
    run('complete', [['__complete', '--', 'sessions', '']]);
    await server.ready;
    const client = run(
      'client',
      clientLines.map((line) => [...data, ...line.split(' ')]),
    );
    await client.ended;
    server.end();
  });
}

/** Compiles the one bundle that runs without a server. */
export function compileSidecar(directory) {
  return compileWhatRuns(directory, (run) => void runSidecar(run));
}

function runSidecar(run) {
  return run('sidecar', [['mcp', 'serve']], handshake.map(message).join(''));
}

/** Compiles each bundle that is run, as soon as it has ended. */
async function compileWhatRuns(directory, runThem) {
  const place = fs.mkdtempSync(join(os.tmpdir(), 'cadre-build-'));
  const all = [];
  const run = (bundle, lines, stdin = '') => {
    const one = started({ directory, place, bundle, lines, stdin });
    const compiled = one.ended.then(() => compile({ directory, place, bundle }));
    compiled.catch(() => undefined); // it is awaited below, after what the others do
    all.push({ ...one, compiled });
    return one;
  };
  try {
    await runThem(run, ['--data-dir', join(place, 'data')]);
    await Promise.all(all.map(({ compiled }) => compiled));
  } finally {
    for (const { end } of all) end();
    await Promise.allSettled(all.map(({ compiled }) => compiled));
    fs.rmSync(place, { recursive: true, force: true });
  }
}

/** The text of a bundle as src/bundles/load.ts gives it to V8. The compiled code fits only that text. */
export function sourceOf(directory, bundle) {
  const text = fs.readFileSync(join(directory, `${bundle}.cjs`), 'latin1');
  return `(function (exports, require, module, __filename, __dirname) {${text}\n})`;
}

/** The file with the functions of a bundle that have run: the offset of the end of each, in the order of their starts. */
export function recordOf(place, bundle) {
  return join(place, `${bundle}.functions`);
}

function message(fields) {
  return `${JSON.stringify({ jsonrpc: '2.0', ...fields })}\n`;
}

function started({ directory, place, bundle, lines, stdin }) {
  const env = {
    PATH: process.env.PATH,
    HOME: place,
    CADRE_GATEWAY_URL: 'http://127.0.0.1:1',
    CADRE_GATEWAY_TOKEN: 'none',
    CADRE_SESSION_ID: 'none',
  };
  const child = fork(program('record-bundle'), [directory, bundle, JSON.stringify(lines), place], {
    cwd: place,
    env,
    execArgv: [],
    stdio: ['pipe', 'pipe', 'pipe', 'ipc'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (said += text));
  child.stdin.end(stdin);
  const ended = once(child, 'close').then(([code]) => {
    if (code !== 0) throw new Error(`cannot compile ${bundle}: exit code ${code}: ${said}`);
  });
  return {
    ended,
    ready: Promise.race([once(child.stdout, 'data'), ended]),
    end: () => child.kill('SIGTERM'),
  };
}

// The seed makes hashes, and with them the order of tables, the same; nothing that was compiled is given up again. Each
// bundle has a process of its own: in used memory there are bytes of others, and V8 writes some of them.
async function compile({ directory, place, bundle }) {
  const execArgv = ['--hash-seed=1', '--no-flush-bytecode'];
  const child = fork(program('compile-bundle'), [directory, place, bundle], { execArgv });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`cannot compile the code that ${bundle} runs: exit code ${code}`);
}

function program(name) {
  return fileURLToPath(new URL(`${name}.mjs`, import.meta.url));
}
