import { beforeEach } from 'vitest';
import { ManualClock } from '../manual-clock.ts';
import { sharedRuntime } from '../runtime.ts';
import { scriptedProvider } from '../scripted-provider.ts';

/**
 * One runtime for all tests of a file or `describe` that send requests without a valid token. Many such requests within
 * a minute are answered late, so that each test has a separate minute.
 */
export function sharedAuthRuntime() {
  const clock = new ManualClock();
  beforeEach(() => clock.advance(60_000));
  return sharedRuntime({ clock, providers: [scriptedProvider()] });
}
