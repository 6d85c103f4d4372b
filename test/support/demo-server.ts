import path from 'node:path';
import { selfCommand } from '../../src/lib/self.ts';
import { type TestRuntime, withRuntime } from './runtime.ts';
import { shared } from './shared.ts';
import { tempDirectory } from './temp.ts';

/**
 * Runs `test` with a server as `cadre serve --demo` is, in this process: that costs a fifth of what a server of its own
 * process costs.
 */
export async function withDemo<T>(test: (server: TestRuntime) => Promise<T>): Promise<T> {
  await using own = tempDirectory('server');
  const { file, args } = selfCommand();
  const env = { CADRE_DEMO_STATE: path.join(own.path, 'demo-agent'), HOME: own.path };
  const acp = { command: file, args: [...args, 'demo-agent'], env };
  return await withRuntime(test, {
    directory: own.path,
    config: { providers: { acp }, defaults: { provider: 'acp' } },
  });
}

/** One such server for all tests of a file or `describe`: for those that change nothing another would notice. */
export function sharedDemo(): () => TestRuntime {
  return shared<TestRuntime>('server', (use) => withDemo(use));
}
