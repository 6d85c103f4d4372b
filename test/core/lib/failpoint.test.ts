import { afterEach, expect, test, vi } from 'vitest';
import { failpointsFrom, noFailpoints } from '../../../src/core/lib/failpoint.ts';

afterEach(() => vi.restoreAllMocks());

test('Without CADRE_FAILPOINTS, no failpoint does anything.', () => {
  expect(failpointsFrom(undefined)).toBe(noFailpoints);
  expect(failpointsFrom('')).toBe(noFailpoints);
  expect(() => noFailpoints('commit.after')).not.toThrow();
});

test('A failpoint throws once, at its first hit.', () => {
  const hit = failpointsFrom('commit.before=throw');
  hit('commit.after');
  expect(() => hit('commit.before')).toThrow('failpoint commit.before');
  expect(() => hit('commit.before')).not.toThrow();
});

test('A failpoint with @N throws at its N-th hit.', () => {
  const hit = failpointsFrom('commit.before=throw@3');
  hit('commit.before');
  hit('sync.after');
  hit('commit.before');
  expect(() => hit('commit.before')).toThrow('failpoint commit.before');
  expect(() => hit('commit.before')).not.toThrow();
});

test('Failpoints are separated by commas, and spaces around them are ignored.', () => {
  const hit = failpointsFrom('commit.before=throw@2, turn.started=throw');
  expect(() => hit('turn.started')).toThrow('failpoint turn.started');
  hit('commit.before');
  expect(() => hit('commit.before')).toThrow('failpoint commit.before');
});

test('A failpoint with kill sends SIGKILL to its own process.', () => {
  const kill = vi.spyOn(process, 'kill').mockImplementation(() => true);
  const hit = failpointsFrom('turn.ending=kill@2');
  hit('turn.ending');
  expect(kill).not.toHaveBeenCalled();
  expect(() => hit('turn.ending')).toThrow(Error);
  expect(kill).toHaveBeenCalledExactlyOnceWith(process.pid, 'SIGKILL');
});

test.for([
  'commit.before',
  'commit.before=',
  'commit.before=die',
  '=kill',
  'commit.before=kill@',
  'commit.before=kill@x',
  'commit.before=kill,',
  'a b=kill',
])('The invalid failpoint %j is refused.', (text) => {
  expect(() => failpointsFrom(text)).toThrow(
    /^invalid entry ".*" in CADRE_FAILPOINTS: expected name=kill\|throw\[@N\]$/,
  );
});
