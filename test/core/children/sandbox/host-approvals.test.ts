import { describe, expect, test } from 'vitest';
import {
  HostApprovals,
  type HostAnswer,
} from '../../../../src/core/children/sandbox/network/host-approvals.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

function scene() {
  const clock = new ManualClock();
  const questions: { host: string; signal: AbortSignal; answer: (answer: HostAnswer) => void }[] =
    [];
  const hosts = new HostApprovals((host, _port, signal) => {
    const { promise, resolve } = Promise.withResolvers<HostAnswer>();
    questions.push({ host, signal, answer: resolve });
    return promise;
  }, clock);
  const gone = new AbortController();
  const ask = (signal = gone.signal) => hosts.allows('a.test', 443, signal);
  return { clock, questions, ask, gone };
}

describe('hosts that a person decides about', () => {
  test('Connections that wait for the same host share one question and its answer.', async () => {
    const { questions, ask } = scene();
    const waiting = [ask(), ask(), ask()];
    expect(questions).toHaveLength(1);
    questions[0]?.answer('once');
    expect(await Promise.all(waiting)).toEqual([true, true, true]);
    void ask();
    expect(questions).toHaveLength(2);
  });

  test('An acceptance for the session needs no further question.', async () => {
    const { questions, ask } = scene();
    const first = ask();
    questions[0]?.answer('session');
    expect([await first, await ask()]).toEqual([true, true]);
    expect(questions).toHaveLength(1);
  });

  test('A refusal of a person holds for five minutes.', async () => {
    const { clock, questions, ask } = scene();
    const first = ask();
    questions[0]?.answer('no');
    expect([await first, await ask()]).toEqual([false, false]);
    clock.advance(299_000);
    expect(await ask()).toBe(false);
    expect(questions).toHaveLength(1);
    clock.advance(2000);
    void ask();
    expect(questions).toHaveLength(2);
  });

  test('The next connection asks again if nobody could be asked.', async () => {
    const { questions, ask } = scene();
    const first = ask();
    questions[0]?.answer('nobody');
    expect(await first).toBe(false);
    void ask();
    expect(questions).toHaveLength(2);
  });

  test('The question is withdrawn when the last connection is closed, and a closed connection asks nothing.', async () => {
    const { questions, ask } = scene();
    const [one, other] = [new AbortController(), new AbortController()];
    void ask(one.signal);
    void ask(other.signal);
    one.abort();
    expect(questions[0]?.signal.aborted).toBe(false);
    other.abort();
    expect(questions[0]?.signal.aborted).toBe(true);
    expect(await ask(other.signal)).toBe(false);
    expect(questions).toHaveLength(1);
  });
});
