import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { FailedAuthentications } from '../../../src/core/access/failed-auth.ts';
import { createLog, type Logger } from '../../../src/core/lib/log.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const MINUTE_MS = 60_000;

interface Line {
  msg: string;
  level: string;
  source?: string;
  left_out?: number;
}

/** Returns the counter of failures with a manual clock and its log. */
function noting() {
  const clock = new ManualClock();
  const destination = new PassThrough();
  const lines: Line[] = [];
  destination.setEncoding('utf8').on('data', (text: string) =>
    lines.push(
      ...text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Line),
    ),
  );
  const logger = createLog({ level: 'info', destination, pretty: false, secrets: () => [] });
  const failures = new FailedAuthentications({ clock, logger });
  /** Reports a failure; returns functions that read the state of its response and disconnect its client. */
  const fail = (source: string, log: Logger = logger.child({}), gone = new AbortController()) => {
    let answer: 'waits' | 'at once' | 'hang up' = 'waits';
    const note = failures.note({ source, log, signal: gone.signal }).then(({ hangUp }) => {
      answer = hangUp ? 'hang up' : 'at once';
    });
    return { note, leave: () => gone.abort(), answer: () => answer };
  };
  /** Reports a failure; resolves with the state of its response before any time has passed. */
  const outcome = async (source: string) => {
    const { answer } = fail(source);
    await settled();
    return answer();
  };
  return { clock, logger, lines, failures, fail, outcome };
}

/** Waits until all promises without external events have settled. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

async function times<T>(count: number, work: (i: number) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  for (let i = 0; i < count; i++) results.push(await work(i));
  return results;
}

test('The first 20 failures a minute are answered at once, and later ones after a second.', async () => {
  const { clock, fail, outcome } = noting();
  expect(await times(20, () => outcome('a'))).toEqual(Array(20).fill('at once'));
  const slowed = fail('a');
  await settled();
  expect(slowed.answer()).toBe('waits');
  clock.advance(999);
  await settled();
  expect(slowed.answer()).toBe('waits');
  clock.advance(1);
  await slowed.note;
  expect(slowed.answer()).toBe('at once');
});

test('The failures of one source do not slow down another source.', async () => {
  const { outcome } = noting();
  await times(20, () => outcome('a'));
  expect(await outcome('a')).toBe('waits');
  expect(await outcome('b')).toBe('at once');
});

test('All loopback addresses count as one source.', async () => {
  const { outcome } = noting();
  for (let at = 1; at <= 19; at++) await outcome(`127.0.${at}.1`);
  await outcome('::1');
  expect(await outcome('127.9.9.9')).toBe('waits');
  expect(await outcome('::1')).toBe('waits');
  expect(await outcome('2001:db8::1')).toBe('at once');
  expect(await outcome('link 127.0.0.1')).toBe('at once');
});

test('All addresses of one IPv6 network count as one source.', async () => {
  const { outcome } = noting();
  for (let at = 1; at <= 19; at++) await outcome(`2001:db8:7:1::${at.toString(16)}`);
  await outcome('2001:db8:7:1:a:b:c:d');
  expect(await outcome('2001:db8:7:1:ffff::2')).toBe('waits');
  expect(await outcome('2001:db8:7:2::1')).toBe('at once');
  expect(await outcome('2001:db8::7:1:0:1')).toBe('at once');
  expect(await outcome('192.0.2.1')).toBe('at once');
  expect(await outcome('192.0.2.2')).toBe('at once');
});

test('A failure is answered at once again after fewer than 20 failures in the last minute.', async () => {
  const { clock, outcome } = noting();
  await times(10, () => outcome('a'));
  clock.advance(MINUTE_MS / 2);
  await times(10, () => outcome('a'));
  clock.advance(MINUTE_MS / 2 - 1);
  expect(await outcome('a')).toBe('waits');
  clock.advance(1);
  expect(await times(9, () => outcome('a'))).toEqual(Array(9).fill('at once'));
  expect(await outcome('a')).toBe('waits');
  clock.advance(2 * MINUTE_MS);
  expect(await outcome('a')).toBe('at once');
});

test('The first 1,000 sources are counted separately, and all others together.', async () => {
  const { outcome } = noting();
  expect(await times(1000, (i) => outcome(`known ${i}`))).not.toContain('waits');
  const further = await times(100, (i) => outcome(`further ${i}`));
  expect(further.indexOf('waits')).toBe(20);
  expect(new Set(further.slice(20))).toEqual(new Set(['waits']));
  expect(await times(19, () => outcome('known 7'))).not.toContain('waits');
  expect(await outcome('known 7')).toBe('waits');
});

test('Failures are forgotten after a minute, with all their sources.', async () => {
  const { clock, outcome } = noting();
  await times(1100, (i) => outcome(`old ${i}`));
  clock.advance(MINUTE_MS);
  expect(await times(1000, (i) => outcome(`new ${i}`))).not.toContain('waits');
});

test('At most 1,000 sources and one entry for all others are kept in memory.', async () => {
  const { clock, failures, logger } = noting();
  const log = logger.child({}, { level: 'silent' });
  const gone = AbortSignal.abort();
  for (let i = 0; i < 20_000; i++) {
    if (i % 100 === 0) clock.advance(1);
    await failures.note({ source: `2001:db8:0:${i.toString(16)}::1`, log, signal: gone });
    expect(failures.remembered).toBe(Math.min(i + 1, 1001));
  }
  clock.advance(MINUTE_MS);
  await failures.note({ source: '192.0.2.1', log, signal: gone });
  expect(failures.remembered).toBe(1);
});

test('The log has at most 5 failures a second, and then the number of omitted ones.', async () => {
  const { clock, lines, outcome } = noting();
  await times(12, (i) => outcome(`source ${i}`));
  expect(lines).toHaveLength(5);
  clock.advance(1000);
  expect(lines).toHaveLength(6);
  expect(lines[5]).toMatchObject({
    level: 'warn',
    left_out: 7,
    msg: 'more requests failed to authenticate',
  });
  await outcome('source 99');
  expect(lines[6]).toMatchObject({ source: 'source 99' });
  clock.advance(10_000);
  expect(lines).toHaveLength(7);
});

test('A request whose failure is omitted has no other line in the log.', async () => {
  const { logger, lines, fail } = noting();
  const logs = Array.from({ length: 6 }, () => logger.child({}));
  for (const log of logs) fail('a', log);
  for (const log of logs) log.info('request');
  expect(lines.filter(({ msg }) => msg === 'request')).toHaveLength(5);
  logger.info('another');
  expect(lines.at(-1)).toMatchObject({ msg: 'another' });
});

test('The number of omitted failures is logged at the end.', async () => {
  const { clock, lines, failures, outcome } = noting();
  await times(8, () => outcome('a'));
  failures[Symbol.dispose]();
  expect(lines.at(-1)).toMatchObject({ left_out: 3 });
  expect(clock.waiting).toBe(0);
});
