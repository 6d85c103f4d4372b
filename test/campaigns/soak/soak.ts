import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { stringify } from 'smol-toml';
import { endpoints } from '../../../src/api/index.ts';
import { selfCommand } from '../../../src/core/lib/self.ts';
import { scaled } from '../../support/patience.ts';
import { startServer, type TestServer, untilNothingCarries } from '../../support/server.ts';
import { tempDirectory } from '../../support/temp.ts';
import { openSession } from '../../support/turns.ts';
import { makeRepository } from '../../support/worktrees/work.ts';
import { EventWaiter } from '../crash/load.ts';
import { seeded } from '../crash/random.ts';
import { type Counts, Load } from './load.ts';
import { type Sample, Sampler } from './samples.ts';

export interface SoakOptions {
  seconds: number;
  /** Time between two samples. */
  everyMs: number;
  seed: number;
  calm: number;
  /** The file of the samples, one line each. */
  file: string;
}

export interface SoakResult {
  samples: Sample[];
  counts: Counts;
  /** Faults besides growth. */
  violations: string[];
}

/** Closed sessions, ended processes and events of this age are trimmed. */
const MAX_AGE_MS = 180_000;
/** Limit for the database and the logs of processes. It grows with the length of the run, because records stay. */
const maxBytes = (seconds: number) => 32_000_000 + seconds * 5000;
/** The time that the server has to notice that nobody works with it any more. */
const REST_MS = 15_000;

/** Runs a server with mixed work and retention, and samples it. */
export async function soak({
  seconds,
  everyMs,
  seed,
  calm,
  file,
}: SoakOptions): Promise<SoakResult> {
  await using place = tempDirectory('soak');
  const data = path.join(place.path, 'data');
  const repo = makeRepository(path.join(place.path, 'repo'));
  const server = await startServer(data, { config: configOf(place.path, seconds) });
  try {
    const result = await work(server, { repo, seconds, everyMs, seed, calm, file });
    const violations = [...result.violations, ...(await atRest(server))];
    const how = await server.end('SIGTERM');
    if (how.code !== 0) violations.push(`the server ended with ${JSON.stringify(how)}`);
    const { file: program, args } = selfCommand();
    execFileSync(program, [...args, '--data-dir', data, 'db', 'check'], { stdio: 'pipe' });
    const errors = server
      .log()
      .split('\n')
      .filter((line) => /"level":"(error|fatal)"/.test(line));
    violations.push(...errors.slice(0, 5).map((line) => `the server logged ${line}`));
    return { ...result, violations };
  } finally {
    await server.end('SIGKILL');
    await untilNothingCarries(place.path);
  }
}

async function work(
  server: TestServer,
  { repo, seconds, everyMs, seed, calm, file }: SoakOptions & { repo: string },
): Promise<SoakResult> {
  const random = seeded(seed);
  const pulse = new EventWaiter();
  const over = new AbortController();
  const followed = new AbortController();
  const load = new Load({ server, repo, random, pulse, calm, signal: over.signal });
  const following = load.follow(followed.signal);
  const session = (await openSession(server.client, repo, { title: 'open all the time' })).id;
  const sampler = new Sampler({ server, session, pulse, file });
  const failure = { error: undefined as unknown };
  const sampling = async () => {
    while (!over.signal.aborted) {
      await load.outliving(sampler.sample());
      await pause(everyMs, undefined, { signal: over.signal }).catch(() => undefined);
    }
  };
  const running = [load.run(), sampling(), following].map((work) =>
    work.catch((error: unknown) => {
      failure.error ??= error;
      over.abort();
    }),
  );
  await pause(seconds * 1000, undefined, { signal: over.signal }).catch(() => undefined);
  over.abort();
  await Promise.all(running.slice(0, 2));
  followed.abort();
  await Promise.all(running);
  if (failure.error !== undefined) {
    const how = await Promise.race([server.exited, pause(1000)]);
    const text = how ? `the server ended: ${JSON.stringify(how)}` : 'the work failed';
    throw new Error(`${text}\n${server.log().slice(-4000)}`, { cause: failure.error });
  }
  return { samples: sampler.samples, counts: load.counts, violations: [] };
}

/** Returns the followers and processes that a server still has after the work. */
async function atRest({ client }: TestServer): Promise<string[]> {
  const deadline = performance.now() + scaled(REST_MS);
  for (;;) {
    const { streams, processes } = await client.call(endpoints.getDiagnostics, {});
    const left = [
      ...(streams.followers > 0 ? [`${streams.followers} followers are left`] : []),
      ...(processes.running > 0 ? [`${processes.running} processes are left`] : []),
    ];
    if (left.length === 0 || performance.now() > deadline) return left;
    await pause(50);
  }
}

function configOf(directory: string, seconds: number): string {
  const { file, args } = selfCommand();
  return stringify({
    log: { level: 'warn' },
    retention: { max_age_days: MAX_AGE_MS / 86_400_000, max_bytes: maxBytes(seconds) },
    approvals: { timeout_ms: 3000 },
    providers: {
      idle_timeout_ms: 20_000,
      acp: {
        command: file,
        args: [...args, 'demo-agent'],
        env: { CADRE_DEMO_STATE: path.join(directory, 'demo-agent') },
      },
    },
  });
}
