import { isDeepStrictEqual } from 'node:util';
import { expect, test } from 'vitest';
import type { RuntimeEventRecord } from '../../../src/api/events.ts';
import { pageOf } from '../../support/entries.ts';
import { type TestStore, testStore } from '../../support/memory-store.ts';
import { settle } from '../../support/settle.ts';
import { type Cut, CutTurn, type Wire } from './cut-anywhere.ts';
import { wires } from './cut-wires.ts';

const MAX_STATE_CHARACTERS = 64 * 1024;

test.each(Object.entries(wires))(
  'A turn that another server continues after any update and any message has the same events: %s.',
  async (_name, wire) => {
    const base = await testStore();
    const whole = new CutTurn(base, wire);
    const expected = comparable(base, whole, await whole.run());
    for (const cut of cutsOf(wire, expected.updates)) {
      const turn = new CutTurn(base, wire);
      await turn.run(cut);
      expect({ cut, ...comparable(base, turn, expected.updates) }).toEqual({ cut, ...expected });
      expect(turn.stateSize).toBeLessThanOrEqual(MAX_STATE_CHARACTERS);
    }
  },
);

test.each([
  ['texts with and without ids, and half characters', 'state.prompt', 99],
  ['texts with and without ids, and half characters', 'output.ref', null],
  ['texts with and without ids, and half characters', 'output.waiting', ''],
  ['usage, titles, commands, modes and notices', 'output.usage', null],
  ['usage, titles, commands, modes and notices', 'output.outOfRange', []],
  ['requests that a person decides', 'state.reports.calls.open', []],
  ['tools with content and terminals', 'state.reports.calls.shown', []],
  ['subagents, plans and images', 'state.reports.subagents', []],
  [
    'usage, titles, commands, modes and notices',
    'state.meter.cost',
    { forgotten: 0, counted: 0, isFirst: true },
  ],
  ['usage, titles, commands, modes and notices', 'state.meter.requests', null],
  ['usage, titles, commands, modes and notices', 'state.reports.omissions', false],
  ['a request that nobody is asked', 'state.refused', null],
  [
    'an agent that never asks',
    'state.promptMonitor',
    { hasAsked: false, isTold: false, isModeTold: false },
  ],
  ['a limit of the account', 'state.reports.rateLimit', null],
])(
  'A turn has other events if the saved state lacks a field: %s, %s.',
  async (name, field, empty) => {
    const wire = wires[name] ?? { steps: [] };
    const base = await testStore();
    const whole = new CutTurn(base, wire);
    const expected = comparable(base, whole, await whole.run());
    let isFound = false;
    for (const cut of cutsOf(wire, expected.updates)) {
      const turn = new CutTurn(base, wire);
      const run = turn.run(cut, (saved) => setField(saved, field, empty));
      // A person cannot decide a request that is not stored.
      const isRun = await run.then(
        () => true,
        () => false,
      );
      isFound = !isRun || !isDeepStrictEqual(comparable(base, turn, expected.updates), expected);
      if (isFound) break;
    }
    expect(isFound).toBe(true);
  },
);

function cutsOf({ steps }: Wire, updates: number): Cut[] {
  return [
    ...Array.from({ length: updates }, (_, at) => ({ updates: at + 1 })),
    ...steps.map((_step, at) => ({ steps: at + 1 })),
  ];
}

function setField(saved: object, field: string, value: unknown): void {
  const names = field.split('.');
  const last = names.pop() ?? '';
  const owner = names.reduce((one, name) => Reflect.get(one, name) as object, saved);
  Reflect.set(owner, last, value);
}

/** All that people see of a turn, and all that its agent is answered. */
function comparable(base: TestStore, turn: CutTurn, updates: number) {
  return { events: settle(eventsOf(base, turn.sessionId)), told: turn.told, updates };
}

/** The events of a session, without their times, and with other ids in their order. */
function eventsOf({ log }: TestStore, sessionId: string): RuntimeEventRecord[] {
  const bounds = { after: 0, upTo: Number.MAX_SAFE_INTEGER, limit: 1e6, maxBytes: 1e9 };
  const { entries } = pageOf(log, { name: 'session', id: sessionId }, bounds);
  const names = new Map<string, string>();
  const named = (id: string) => {
    const name = names.get(id) ?? `id ${names.size}`;
    names.set(id, name);
    return name;
  };
  return entries.map(({ text }) => {
    const plain = text
      .replaceAll(/\bevt_\w+/g, 'evt')
      .replaceAll(/\b(?:item|apr|run|sess|turn)_\w+/g, named)
      .replaceAll(/\b17500000\d{5}\b/g, '0');
    return { ...(JSON.parse(plain) as RuntimeEventRecord), seq: 0 };
  });
}
