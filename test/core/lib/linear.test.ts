import type { Message } from '../../../src/api/team-messages.ts';
import { describe, expect, test } from 'vitest';
import { assertAddressed, hostName, identify } from '../../../src/core/access/admit.ts';
import { AppError } from '../../../src/api/errors.ts';
import { plain } from '../../../src/core/lib/plain.ts';
import { splitWords } from '../../../src/server/work/processes/command.ts';
import { messageInput } from '../../../src/server/teams/dispatcher.ts';
import { isAtLength } from '../../support/at-length.ts';

const AGAIN = 8;
/** Linear work grows eightfold and quadratic work 64-fold. The rest is variation of the machine. */
const AT_MOST = 32;
/** The shortest time that is measured, in microseconds. Shorter work is not a danger. */
const QUICK = 2000;

/** Functions that read texts of others, each with texts that could be slow. */
const readers: [name: string, read: (text: string) => unknown, parts: string[]][] = [
  [
    'plain',
    plain,
    [
      '\u001b]',
      '\u001b]0;',
      '\u001b[1',
      '\u001b[',
      '\u001b(',
      '\u009b;',
      '\u001bP',
      ';?',
      '\u001b',
      'a',
      '\u200d',
      '\u{1f468}\u200d',
      '\u{1f3f4}\u{e0061}',
      '1\ufe0f',
      '\ud800',
    ],
  ],
  ['splitWords', (text) => splitWords(`a ${text}`), ['"a" ', '\\a', "'a'", 'a ', ' ']],
  ['the frames of messages', framed, ['<', '< ', '</', '<team_messag', ' ', '<\u200b']],
  ['hostName', hostName, ['a.', '-', 'a:1', '[::', '1']],
  ['bearer tokens', (text) => enter({ authorization: text }), ['Bearer ', ' ', 'a']],
  ['full addresses', (text) => enter({}, text), ['http://', 'a', 'a+', '/']],
];

function framed(text: string): unknown {
  const input = { type: 'text', text };
  const ids = { id: 'msg_1', team_id: 'team_1', scope: 'direct' };
  const message = { ...ids, input, images: [], sender_agent_id: text } as unknown as Message;
  return messageInput(message, text);
}

function enter(headers: Record<string, string>, url = '/'): void {
  const rules = {
    holderOf: () => null,
    sessionOf: () => null,
    allowedHosts: () => [],
    allowedOrigins: () => [],
  };
  assertAddressed({ headers, raw: { url, rawHeaders: ['Host', '127.0.0.1'] } }, rules);
  identify(headers.authorization, rules);
}

describe.each(readers)('a long text for %s', (_name, read, parts) => {
  describe.each(parts)('a repeated %j', (part) => {
    const text = part.repeat(60_000 / part.length);
    const long = part.repeat((60_000 / part.length) * AGAIN);

    test('A long text is read to its end or refused.', () => {
      expect(refusalOf(() => read(long))).toSatisfy(isRefusal);
    });

    test.runIf(isAtLength)('The work for a long text grows in proportion to its length.', () => {
      const work = Math.max(
        workOf(() => read(text), QUICK),
        QUICK,
      );
      expect(workOf(() => read(long), work * AT_MOST)).toBeLessThan(work * AT_MOST);
    });
  });
});

function refusalOf(read: () => unknown): unknown {
  try {
    read();
    return null;
  } catch (error) {
    return error;
  }
}

/** Reports whether a text was read, or refused with an error for its sender. */
function isRefusal(error: unknown): boolean {
  return error === null || error instanceof AppError;
}

/** Returns the least CPU time of three runs, or the first one below `enough`. */
function workOf(read: () => unknown, enough: number): number {
  let least = Number.POSITIVE_INFINITY;
  for (let i = 0; i < 3 && least >= enough; i++) {
    const before = process.cpuUsage();
    refusalOf(read);
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, user + system);
  }
  return least;
}
