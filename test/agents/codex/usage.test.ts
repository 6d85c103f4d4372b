import { expect, test } from 'vitest';
import { Meter } from '../../../src/agents/codex/usage.ts';

function used(input: number, cached: number, output: number): object {
  return {
    totalTokens: input + output,
    inputTokens: input,
    cachedInputTokens: cached,
    outputTokens: output,
  };
}

function usageReport(total: object, last: object): object {
  return { tokenUsage: { total, last, modelContextWindow: 1000 } };
}

test('The usage is the increase since the start of the turn.', () => {
  const meter = new Meter();
  meter.read(usageReport(used(100, 10, 5), used(40, 4, 2)));
  meter.begin();
  meter.read(usageReport(used(120, 15, 6), used(20, 5, 1)));
  expect(meter.read(usageReport(used(150, 20, 9), used(30, 5, 3)))).toEqual({
    input_tokens: 40,
    cached_input_tokens: 10,
    output_tokens: 4,
    total_tokens: 54,
    context_tokens: 33,
    context_window: 1000,
  });
});

test('The usage starts with the first request of the turn if the earlier total is unknown.', () => {
  const meter = new Meter();
  meter.begin();
  const first = usageReport(used(100, 10, 5), used(40, 4, 2));
  for (let times = 0; times < 2; times++)
    expect(meter.read(first)).toMatchObject({ input_tokens: 36, output_tokens: 2 });
});

test('The usage is never negative.', () => {
  const meter = new Meter();
  meter.read(usageReport(used(100, 10, 5), used(40, 4, 2)));
  meter.begin();
  const less = meter.read(usageReport(used(10, 0, 1), used(10, 0, 1)));
  expect(less).toMatchObject({ input_tokens: 0, total_tokens: 0 });
});

test('A report that cannot be read is not counted.', () => {
  expect(new Meter().read({ tokenUsage: { total: 3 } })).toBe('unknown');
});

test('The usage of the turn after one that another server continued is the increase since then.', () => {
  const meter = new Meter();
  meter.begin();
  meter.read(usageReport(used(100, 10, 5), used(40, 4, 2)));
  const next = new Meter();
  next.restore(JSON.parse(JSON.stringify(meter.save())));
  next.begin();
  const second = next.read(usageReport(used(150, 20, 9), used(30, 5, 3)));
  expect(second).toMatchObject({ input_tokens: 40, output_tokens: 4, total_tokens: 54 });
});
