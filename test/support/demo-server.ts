import { withInProcessDemoAgent } from './demo-agent/in-process.ts';
import { type TestRuntime, withRuntime } from './runtime.ts';
import { openForTest, shared } from './shared.ts';
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
  return await withInProcessDemoAgent(directory, (acp) =>
    withRuntime(test, { directory, config: demoConfig(port, acp) }),
  );
}

/** Returns the configuration of a server on this port with this agent. */
export function demoConfig(port: number | string, acp: object): Record<string, unknown> {
  return {
    server: { bind_address: `127.0.0.1:${port}`, drain_ms: 200 },
    providers: { acp: { ...acp, agents: { demo: acp } } },
    defaults: { provider: 'acp' },
  };
}

/** Starts such a server, which is closed when the test has finished. */
export function testDemo(before?: { directory: string; port?: number }): Promise<TestRuntime> {
  return openForTest((use) => withDemo(use, before));
}

/** One such server for all tests of a file or `describe`, for tests whose changes do not affect each other. */
export function sharedDemo(): () => TestRuntime {
  return shared<TestRuntime>('server', (use) => withDemo(use));
}
