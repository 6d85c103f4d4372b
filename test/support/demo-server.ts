import { withPlayedDemoAgent } from './demo-agent/played.ts';
import { type TestRuntime, withRuntime } from './runtime.ts';
import { shared } from './shared.ts';
import { tempDirectory } from './temp.ts';

/**
 * Runs `test` with a server like `cadre serve --demo` in this process, which takes a fifth of the time of a separate
 * process. It can continue with the data and the port of an ended server.
 */
export async function withDemo<T>(
  test: (server: TestRuntime) => Promise<T>,
  before?: { directory: string; port?: number },
): Promise<T> {
  await using own = tempDirectory('server');
  const { directory = own.path, port = 0 } = before ?? {};
  return await withPlayedDemoAgent(directory, (acp) =>
    withRuntime(test, {
      directory,
      config: {
        server: { bind_address: `127.0.0.1:${port}`, drain_ms: 200 },
        providers: { acp },
        defaults: { provider: 'acp' },
      },
    }),
  );
}

/** One such server for all tests of a file or `describe`, for tests whose changes do not affect each other. */
export function sharedDemo(): () => TestRuntime {
  return shared<TestRuntime>('server', (use) => withDemo(use));
}
