import { expect, test } from 'vitest';
import { expectEqualTurns, isFoundWithout } from '../cut-anywhere.ts';
import { acpProtocol } from './cut-protocol.ts';
import { wires } from './cut-wires.ts';

test.each(Object.entries(wires))(
  'A turn that another server continues after any update, write and message has the same events: %s.',
  (_name, wire) => expectEqualTurns(wire, acpProtocol(wire)),
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
    expect(await isFoundWithout(wire, acpProtocol(wire), field, empty)).toBe(true);
  },
);
