import { withPlayedDemoAgent } from './demo-agent/played.ts';
import { type TestRuntime, withRuntime } from './runtime.ts';
import { openForTest, shared } from './shared.ts';
import { tempDirectory } from './temp.ts';

/**
 * Runs `test` with a server as `cadre serve --demo` is, in this process: that costs a fifth of what a server of its own
 * process costs. It can continue with the data and the port of an ended server.
 */
export async function withDemo<T>(
  test: (server: TestRuntime) => Promise<T>,
  before?: { directory: string; port?: number },
): Promise<T> {
  await using own = tempDirectory('server');
  const { directory = own.path, port = 0 } = before ?? {};
  return await withPlayedDemoAgent(directory, (acp) =>
    withRuntime(test, { directory, config: demoConfig(port, acp) }),
  );
}

/** The configuration of a server at a port whose agent is this one. */
export function demoConfig(port: number | string, acp: object): Record<string, unknown> {
  return {
    server: { bind_address: `127.0.0.1:${port}`, drain_ms: 200 },
    providers: { acp },
    defaults: { provider: 'acp' },
  };
}

/** Starts such a server for the rest of a test. */
export function testDemo(before?: { directory: string; port?: number }): Promise<TestRuntime> {
  return openForTest((use) => withDemo(use, before));
}

/** One such server for all tests of a file or `describe`: for those that change nothing another would notice. */
export function sharedDemo(): () => TestRuntime {
  return shared<TestRuntime>('server', (use) => withDemo(use));
}
