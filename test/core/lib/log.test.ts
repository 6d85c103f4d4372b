import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from 'vitest';
import { createLog, silentLog, UnknownPath } from '../../../src/core/lib/log.ts';

function logTo(secrets: string[], pretty = false) {
  const sink = new PassThrough();
  let text = '';
  sink.setEncoding('utf8').on('data', (part: string) => (text += part));
  const logger = createLog({ level: 'debug', destination: sink, pretty, secrets: () => secrets });
  return { logger, text: () => text, lines: () => text.split('\n').filter(Boolean) };
}

describe('a log line', () => {
  test('is one JSON object with level, time, pid and message.', () => {
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

  test('has the cause and the stack of an error.', () => {
    const { logger, lines } = logTo([]);
    logger.error({ err: new Error('outer', { cause: new Error('inner') }) }, 'bad');
    const { err } = JSON.parse(lines()[0] ?? '') as { err: { message: string; stack: string } };
    expect(err.message).toContain('outer');
    expect(err.stack).toContain('inner');
  });

  test('for people is short: time, level, message, details, and the stack below.', () => {
    const { logger, text } = logTo([], true);
    logger.info({ url: 'http://x', n: 2, list: [1] }, 'listening');
    expect(text()).toMatch(
      /^\d\d:\d\d:\d\d\.\d{3} info {2}listening url=http:\/\/x n=2 list=\[1\]\n$/,
    );
    logger.error({ err: new Error('boom') }, 'bad');
    expect(text()).toMatch(/error bad.*\nError: boom\n {4}at /s);
  });

  test('for people holds nothing that moves their terminal, whatever an agent said.', () => {
    const { logger, text } = logTo([], true);
    const evil = 'x\u001b]52;c;aGk=\u0007\u001b[2Jy\u009b31m';
    logger.warn({ err: new Error(evil), said: evil }, evil);
    expect(text()).toBe(stripVTControlCharacters(text()));
    expect(text()).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
  });
});

describe('a secret', () => {
  const secret = 'abc-DEF_123-secret';

  test('is in no line, wherever it would stand: message, field, name, list, error, stack.', () => {
    for (const pretty of [false, true]) {
      const { logger, text } = logTo([secret, 'another-one'], pretty);
      logger.info(`says ${secret} and ${secret}`);
      logger.info({ [secret]: { deep: [secret, `x${secret}y`] } }, 'another-one');
      logger.error(
        { err: new Error(`failed with ${secret}`, { cause: new Error(secret) }) },
        'bad',
      );
      logger.child({ token: secret }).warn('child');
      expect(text()).not.toContain(secret);
      expect(text()).not.toContain('another-one');
      expect(text().split('[secret]').length).toBeGreaterThan(8);
      expect(text()).toContain('says [secret] and [secret]');
    }
  });

  test('that is known only later is in no later line; an empty one hides nothing.', () => {
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

  test('that a server made is known by its form, wherever a client has put it.', () => {
    const { logger, text } = logTo([]);
    const token = `cadre_${'x'.repeat(21)}-${'Y'.repeat(21)}`;
    logger.info({ route: `/v1/${token}/x` }, token);
    expect(text()).not.toContain(token);
    expect(text()).toContain('/v1/[secret]/x');
  });

  test('that JSON writes otherwise is hidden as well: with quotes, backslashes or line ends in it.', () => {
    for (const odd of ['pass"word-1', 'pass\\word-2', 'pass\nword-3', 'pässwörd-4']) {
      const { logger, lines } = logTo([odd]);
      logger.info({ odd }, `it is ${odd}`);
      const line = JSON.parse(lines()[0] ?? '') as { odd: string; msg: string };
      expect(line).toMatchObject({ odd: '[secret]', msg: 'it is [secret]' });
    }
  });

  test('that contains another one is replaced as a whole, and so is one with the marks of a pattern.', () => {
    const { logger, lines } = logTo([
      'short-one',
      'short-one.and-more',
      'a+b(c)[d]|e$',
      '[secret]x',
    ]);
    logger.info('short-one.and-more a+b(c)[d]|e$ short-one-and-more [secret]x');
    expect((JSON.parse(lines()[0] ?? '') as { msg: string }).msg).toBe(
      '[secret] [secret] [secret]-and-more [secret]',
    );
  });

  test('changes no part of the time, an id or a route of a line, but hides an id that a client made of it.', () => {
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

  test('that also stands where none is meant leaves the line one that can be read.', () => {
    // `MAX_THINKING_TOKENS=1` is a variable of an agent whose name sounds like a secret.
    const { logger, lines } = logTo(['1', 'level', '2048']);
    logger.info({ seq: 2048 }, 'hello');
    for (const line of lines()) expect(() => JSON.parse(line) as unknown).not.toThrow();
    expect(lines()).toHaveLength(1);
  });

  test('that also stands where none is meant does not bring the log for people down.', () => {
    const { logger, text } = logTo(['1', '2048'], true);
    expect(() => logger.info({ seq: 2048 }, 'hello')).not.toThrow();
    expect(text()).toContain('hello');
  });
});

test('A silent log says nothing, and costs nothing to call.', () => {
  expect(() => silentLog().error({ err: new Error('x') }, 'nobody hears')).not.toThrow();
});
