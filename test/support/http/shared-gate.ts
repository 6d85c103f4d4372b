import { beforeEach } from 'vitest';
import { ManualClock } from '../manual-clock.ts';
import { sharedRuntime } from '../runtime.ts';
import { scriptedProvider } from '../scripted-provider.ts';

/**
 * One runtime for all tests of a file or `describe` that ask without a valid token. Answers to those are delayed after
 * some within a minute, so each test has a minute of its own.
 */
export function sharedGate() {
  const clock = new ManualClock();
  beforeEach(() => clock.advance(60_000));
  return sharedRuntime({ clock, providers: [scriptedProvider()] });
}
