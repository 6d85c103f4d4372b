import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { createLog, silentLog, UnknownPath } from '../../../src/core/lib/log.ts';

function logTo(secrets: string[], pretty = false) {
  const sink = new PassThrough();
  let text = '';
  sink.setEncoding('utf8').on('data', (part: string) => (text += part));
  const logger = createLog({ level: 'debug', destination: sink, pretty, secrets: () => secrets });
  return { logger, text: () => text, lines: () => text.split('\n').filter(Boolean) };
}

test('A log line is one JSON object with level, time, pid and message.', () => {
  const { logger, text, lines } = logTo([]);
  logger.info({ a: 1, words: 'two\nlines' }, 'hello');
  logger.debug('more');
  logger.trace('too much');
  expect(lines().map((line) => JSON.parse(line) as unknown)).toEqual([
    {
      level: 'info',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      pid: process.pid,
      a: 1,
      words: 'two\nlines',
      msg: 'hello',
    },
    expect.objectContaining({ level: 'debug', msg: 'more' }),
  ]);
  expect(text().endsWith('\n')).toBe(true);
});

test('The log line of an error has its cause and stack.', () => {
  const { logger, lines } = logTo([]);
  logger.error({ err: new Error('outer', { cause: new Error('inner') }) }, 'bad');
  const { err } = JSON.parse(lines()[0] ?? '') as { err: { message: string; stack: string } };
  expect(err.message).toContain('outer');
  expect(err.stack).toContain('inner');
});

test('The pretty format has time, level, message and details in one line, and the stack below.', () => {
  const { logger, text } = logTo([], true);
  logger.info({ url: 'http://x', n: 2, list: [1] }, 'listening');
  expect(text()).toMatch(
    /^\d\d:\d\d:\d\d\.\d{3} info {2}listening url=http:\/\/x n=2 list=\[1\]\n$/,
  );
  logger.error({ err: new Error('boom') }, 'bad');
  expect(text()).toMatch(/error bad.*\nError: boom\n {4}at /s);
});

test('The pretty format removes all control sequences, whatever an agent has printed.', () => {
  const { logger, text } = logTo([], true);
  const evil = 'x\u001b]52;c;aGk=\u0007\u001b[2Jy\u009b31m';
  logger.warn({ err: new Error(evil), said: evil }, evil);
  expect(text()).toBe(stripVTControlCharacters(text()));
  expect(text()).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
});

const secret = 'abc-DEF_123-secret';

test('No log line contains a secret in its message, fields, names, lists, errors or stacks.', () => {
  for (const pretty of [false, true]) {
    const { logger, text } = logTo([secret, 'another-one'], pretty);
    logger.info(`says ${secret} and ${secret}`);
    logger.info({ [secret]: { deep: [secret, `x${secret}y`] } }, 'another-one');
    logger.error({ err: new Error(`failed with ${secret}`, { cause: new Error(secret) }) }, 'bad');
    logger.child({ token: secret }).warn('child');
    expect(text()).not.toContain(secret);
    expect(text()).not.toContain('another-one');
    expect(text().split('[secret]').length).toBeGreaterThan(8);
    expect(text()).toContain('says [secret] and [secret]');
  }
});

test('A secret that is added later is hidden from then on, and an empty secret hides nothing.', () => {
  const secrets = [''];
  const { logger, lines } = logTo(secrets);
  logger.info(`before ${secret}`);
  secrets.push(secret);
  logger.info(`after ${secret}`);
  expect(lines().map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual([
    `before ${secret}`,
    'after [secret]',
  ]);
});

test('A token that a server has created is hidden because of its form.', () => {
  const { logger, text } = logTo([]);
  const token = `cadre_${'x'.repeat(21)}-${'Y'.repeat(21)}`;
  logger.info({ route: `/v1/${token}/x` }, token);
  expect(text()).not.toContain(token);
  expect(text()).toContain('/v1/[secret]/x');
});

test('A secret is hidden even if JSON escapes its quotes, backslashes or line ends.', () => {
  for (const odd of ['pass"word-1', 'pass\\word-2', 'pass\nword-3', 'pässwörd-4']) {
    const { logger, lines } = logTo([odd]);
    logger.info({ odd }, `it is ${odd}`);
    const line = JSON.parse(lines()[0] ?? '') as { odd: string; msg: string };
    expect(line).toMatchObject({ odd: '[secret]', msg: 'it is [secret]' });
  }
});

test('A secret with pattern characters, or that contains another secret, is hidden as a whole.', () => {
  const { logger, lines } = logTo(['short-one', 'short-one.and-more', 'a+b(c)[d]|e$', '[secret]x']);
  logger.info('short-one.and-more a+b(c)[d]|e$ short-one-and-more [secret]x');
  expect((JSON.parse(lines()[0] ?? '') as { msg: string }).msg).toBe(
    '[secret] [secret] [secret]-and-more [secret]',
  );
});

test('Secrets do not hide the time, generated ids or routes of a line, but hide an id that equals one.', () => {
  const year = String(new Date().getFullYear());
  const { logger, lines } = logTo([`${year}-`, 'turn_019', 'sessions', 'info', 'whole-id']);
  const line = {
    route: '/v1/sessions/:session_id',
    turn_id: 'turn_019abc',
    token_id: 'whole-id',
  };
  logger.child({ reqId: 'turn_019-1' }).info(line, 'of sessions');
  logger.info({ route: new UnknownPath('/v1/x/sessions-mine') }, 'hello');
  expect(lines().map((text) => JSON.parse(text) as unknown)).toEqual([
    {
      ...line,
      level: 'info',
      time: expect.stringMatching(year),
      pid: process.pid,
      reqId: 'turn_019-1',
      token_id: '[secret]',
      msg: 'of [secret]',
    },
    expect.objectContaining({ route: '/v1/x/[secret]-mine' }),
  ]);
});

test('A secret that also occurs in names and numbers leaves the line valid JSON.', () => {
  // Such a secret is the value of an agent's variable with a misleading name, like `MAX_THINKING_TOKENS=1`.
  const { logger, lines } = logTo(['1', 'level', '2048']);
  logger.info({ seq: 2048 }, 'hello');
  for (const line of lines()) expect(() => JSON.parse(line) as unknown).not.toThrow();
  expect(lines()).toHaveLength(1);
});

test('A secret that also occurs in names and numbers does not break the pretty format.', () => {
  const { logger, text } = logTo(['1', '2048'], true);
  expect(() => logger.info({ seq: 2048 }, 'hello')).not.toThrow();
  expect(text()).toContain('hello');
});

test('A silent log writes nothing.', () => {
  expect(() => silentLog().error({ err: new Error('x') }, 'nobody hears')).not.toThrow();
});
