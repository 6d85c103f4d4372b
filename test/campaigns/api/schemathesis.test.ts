import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { endpoints } from '../../../src/api/index.ts';
import { startServer, type TestServer, untilNothingCarries } from '../../support/server.ts';
import { tempDirectory } from '../../support/temp.ts';
import { compare, knownFinding, readReport, type Report } from './findings.ts';
import { pythonTool } from './install.ts';

const isPart = process.env.API === 'part';
/** The part is the same each time and ends with its examples. The whole run ends when its time is over. */
const seed = process.env.SEED || (isPart ? '1' : String(Date.now() % 1_000_000));
const extent = isPart ? ['--max-examples', '3', '--max-time', '60'] : ['--max-time', '600'];
/**
 * All of them. The part leaves out two. One sends wrong tokens: the server takes a second for each, which is the time
 * that the part has; test/http/attacker.test.ts tries every route without a token. The other asks whether the
 * description foresees each refusal: which refusals that no schema can foresee are met in a minute is chance, and each
 * has to be listed with a reason, so that is for the long run.
 */
const notInPart = ['--exclude-checks', 'ignored_auth,positive_data_acceptance'];
const checks = ['--checks', 'all', ...(isPart ? notInPart : [])];

const description = path.resolve('src/api/openapi.yaml');
const ours = path.join(import.meta.dirname, 'schemathesis');
const known = z
  .array(knownFinding)
  .parse(JSON.parse(readFileSync(path.join(ours, 'known.json'), 'utf8')));

/** A server with few and short processes, no shell and no agents but the demo agent: see also hooks.py. */
const config = `
[processes]
allow_shell = false
max_concurrent = 4
default_timeout_ms = 2000
[providers]
max_live = 4
idle_timeout_ms = 5000
[providers.codex]
command = "no-such-codex"
[providers.claude]
command = "no-such-claude"
[log]
level = "error"
`;

test('Schemathesis finds nothing in the server that is not listed with a reason.', async () => {
  await using directory = tempDirectory('schemathesis');
  const work = path.join(directory.path, 'work');
  makeWorkDirectory(work);
  const server = await startServer(path.join(directory.path, 'data'), {
    config,
    args: ['--demo'],
    cwd: path.join(work, 'repository'),
  });
  try {
    const report = await runSchemathesis(server, directory.path, work);
    const { unknown, unseen } = compare(report.findings, known);
    expect(unknown, `found with SEED=${seed}`).toEqual([]);
    if (!isPart) expect(unseen, 'known findings that are no more: take them out').toEqual([]);
    expectAllOperations(report);
    await expectNoHarm(server, work);
    expect(await server.end('SIGTERM')).toEqual({ code: 0, signal: null });
    expect(server.log()).not.toMatch(/bug/);
  } finally {
    await server.end('SIGKILL');
    await untilNothingCarries(directory.path);
  }
});

/** A repository and an image to throw away: what requests name lies in here. */
function makeWorkDirectory(work: string): void {
  const repository = path.join(work, 'repository');
  mkdirSync(repository, { recursive: true });
  mkdirSync(path.join(work, '../data'));
  const git = (...args: string[]) => execFileSync('git', ['-C', repository, ...args]);
  git('init', '--quiet');
  const who = ['-c', 'user.name=test', '-c', 'user.email=test@localhost'];
  git(...who, 'commit', '--quiet', '--allow-empty', '--message', 'one');
  writeFileSync(path.join(work, 'image.png'), Buffer.from('89504e470d0a1a0a', 'hex'));
}

async function runSchemathesis(
  server: TestServer,
  directory: string,
  work: string,
): Promise<Report> {
  process.stderr.write(`test-api: schemathesis ${extent.join(' ')} SEED=${seed}\n`);
  // Kept until the next run, because it has more details than the message below.
  const file = path.resolve('.cache/api/report.ndjson');
  const run = promisify(execFile)(
    pythonTool('st'),
    [
      '--config-file',
      path.join(ours, 'schemathesis.toml'),
      'run',
      description,
      `--url=${server.url}`,
      `--header=Authorization: Bearer ${server.token}`,
      `--seed=${seed}`,
      ...extent,
      ...checks,
      // With more, CPython 3.11 stumbles over its own recursion counter.
      '--workers=1',
      // A stream does not end by itself: what reads them is streams.test.ts.
      '--exclude-path-regex=/stream$',
      '--report=ndjson',
      `--report-ndjson-path=${file}`,
      '--no-color',
    ],
    {
      cwd: directory,
      maxBuffer: 256 * 1024 * 1024,
      env: {
        PATH: process.env.PATH,
        HOME: directory,
        TMPDIR: directory,
        PYTHONPATH: ours,
        PYTHONDONTWRITEBYTECODE: '1',
        SCHEMATHESIS_HOOKS: 'hooks',
        CADRE_TEST_DIRECTORY: work,
      },
    },
  );
  // It ends with 1 for findings, which the report has; with anything else it did not run.
  const ended = await run.catch((error: unknown) => error as { code: number; stdout: string });
  const code = 'code' in ended ? ended.code : 0;
  const report = code <= 1 ? readReport(readFileSync(file, 'utf8')) : null;
  if (!report || (code === 1 && report.findings.length === 0))
    throw new Error(`schemathesis ended with ${code}:\n${ended.stdout.slice(-4000)}`);
  return report;
}

/** A run that sent nothing would find nothing. */
function expectAllOperations({ requests }: Report): void {
  const { paths } = parse(readFileSync(description, 'utf8')) as { paths: Record<string, object> };
  const operations = Object.entries(paths)
    .filter(([template]) => !template.endsWith('/stream'))
    .flatMap(([template, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${template}`),
    );
  const sent = [...requests.values()].reduce((sum, count) => sum + count, 0);
  process.stderr.write(`test-api: schemathesis sent ${sent} requests\n`);
  // How far it comes in its minute is a matter of the machine.
  if (isPart) return expect(sent).toBeGreaterThan(0);
  expect(operations.filter((one) => (requests.get(one) ?? 0) === 0)).toEqual([]);
}

/** Checks that the requests of hooks.py were harmless. */
async function expectNoHarm(server: TestServer, work: string): Promise<void> {
  const processes = await server.client.call(endpoints.listProcesses, { query: { limit: 500 } });
  const harmless = new Set(['true', 'false', 'echo hello', 'sleep 0.05']);
  expect(processes.map(({ command }) => command).filter((one) => !harmless.has(one))).toEqual([]);
  // Sessions may work in worktrees, which lie below the data.
  const worktrees = path.join(path.dirname(work), 'data', 'worktrees');
  const isOurs = ({ cwd }: { cwd: string }) => cwd.startsWith(work) || cwd.startsWith(worktrees);
  expect(processes.filter((one) => !isOurs(one))).toEqual([]);
}
