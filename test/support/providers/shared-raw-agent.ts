import { shared } from '../shared.ts';
import { type RawOptions, type RawStage, type Role, withRawAgent } from './raw-agent.ts';

/** One runtime for all tests of a file or `describe`, whose agents play another role in each. No test may restart it. */
export function sharedRawAgent(options: RawOptions = {}) {
  const current: Role = {};
  const stage = shared<RawStage>('runtime', (use) => withRawAgent(current, use, options));
  return async (role: Role, test: (stage: RawStage) => Promise<void>): Promise<void> => {
    current.methods = role.methods ?? {};
    current.turns = role.turns ?? {};
    // What a test and its end both say is told of both.
    await using _left = { [Symbol.asyncDispose]: () => stage().clear() };
    await test(stage());
  };
}
