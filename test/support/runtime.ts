import { PassThrough } from 'node:stream';
import { type Client, HttpClient } from '../../src/client/client.ts';
import type { Config } from '../../src/core/config/schema.ts';
import { configSchema } from '../../src/core/config/schema.ts';
import type { RuntimeOptions } from '../../src/server/runtime/base.ts';
import { type Runtime, startRuntime } from '../../src/server/runtime/start.ts';
import { openForTest, shared } from './shared.ts';
import { asDataDirectory, tempDirectory } from './temp.ts';

/** A runtime in this process, with a real store, a real port and a client. */
export interface TestRuntime {
  runtime: Runtime;
  client: Client;
  url: string;
  token: string;
  directory: string;
  /** Log lines of the server, parsed. */
  logLines(): Record<string, unknown>[];
  /** Closes the client and stops the runtime; another call changes nothing. */
  stop(signal?: AbortSignal): Promise<void>;
  /** The runtime itself, for a test that also takes its parts. */
  given: TestRuntime;
}

export type TestRuntimeOptions = Partial<Omit<RuntimeOptions, 'directory' | 'config'>> & {
  config?: Record<string, unknown>;
  directory?: string;
};

/** Starts a runtime on a directory; the caller stops it. `testRuntime` stops it when the test has finished. */
export async function openRuntime(
  directory: string,
  options: TestRuntimeOptions = {},
): Promise<TestRuntime> {
  const { config: given = {}, ...rest } = options;
  asDataDirectory(directory);
  const sink = new PassThrough();
  let text = '';
  sink.setEncoding('utf8').on('data', (part: string) => (text += part));
  const config: Config = configSchema.parse({
    ...given,
    server: { bind_address: '127.0.0.1:0', drain_ms: 200, ...(given.server as object | undefined) },
  });
  const runtime = await startRuntime({
    logTo: sink,
    onFatal(error) {
      throw error;
    },
    // Scripted agents start no sidecar.
    toolsWithinMs: Infinity,
    // Scripted agents do not report whether they are logged in.
    asksLogins: false,
    ...rest,
    directory,
    config,
  });
  const { url, token } = runtime;
  const logLines = () =>
    text
      .trim()
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  const client = new HttpClient({ url, token });
  const stop = (signal?: AbortSignal) => {
    client.close();
    return runtime.stop(signal);
  };
  const parts = { runtime, client, url, token, directory, logLines, stop };
  const self: TestRuntime = {
    ...parts,
    get given() {
      return self;
    },
  };
  return self;
}

/** Runs `test` with a new runtime; always stops it afterwards. */
export async function withRuntime<T>(
  test: (given: TestRuntime) => Promise<T>,
  options: TestRuntimeOptions = {},
): Promise<T> {
  await using own = tempDirectory('runtime');
  const given = await openRuntime(options.directory ?? own.path, options);
  try {
    return await test(given);
  } finally {
    // With a manual clock, the drain time would never pass.
    await given.stop(options.clock ? AbortSignal.abort() : undefined);
  }
}

/** Starts a runtime, which is stopped when the test has finished. */
export function testRuntime(options?: TestRuntimeOptions): Promise<TestRuntime> {
  return openForTest((use) => withRuntime(use, options));
}

/** One runtime for all tests of a file or `describe`, for tests whose changes do not affect each other. */
export function sharedRuntime(options?: TestRuntimeOptions): () => TestRuntime {
  return shared('runtime', (use) => withRuntime(use, options));
}
