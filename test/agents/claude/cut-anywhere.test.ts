import { expect, test } from 'vitest';
import { expectEqualTurns, isFoundWithout } from '../cut-anywhere.ts';
import { claudeProtocol } from './cut-protocol.ts';
import { wiresOf } from './cut-wires.ts';

const { protocol, next } = claudeProtocol();
const wires = wiresOf(next);

test.each(Object.entries(wires))(
  'A turn of claude that another server continues after any update, write and message has the same events: %s.',
  (_name, wire) => expectEqualTurns(wire, protocol),
);

const noTokens = { input: 0, written: 0, cached: 0, output: 0 };

test.each([
  ['texts in pieces and as a whole', 'output.ref', null],
  ['texts in pieces and as a whole', 'output.waiting', ''],
  ['texts in pieces and as a whole', 'state.reader.streamed', []],
  ['texts in pieces and as a whole', 'state.reader.streaming', ''],
  ['texts in pieces and as a whole', 'state.reader.request', null],
  ['texts in pieces and as a whole', 'state.reader.usedBefore', noTokens],
  ['texts in pieces and as a whole', 'state.reader.lastUsed', null],
  ['texts in pieces and as a whole', 'state.reader.lastMessage', null],
  ['texts in pieces and as a whole', 'state.costSoFar', null],
  ['tools with outputs', 'state.reader.hasSpoken', false],
  ['a limit of the account', 'state.reader.rateLimit', null],
  ['an error, and messages that are cut', 'state.reader.omissions', false],
  ['requests that a person decides', 'state.granted.mode', null],
  ['settings that the next turn keeps', 'state.settings.isForBypass', false],
  ['settings that the next turn keeps', 'state.settings.model', null],
  ['settings that the next turn keeps', 'state.settings.effort', null],
  ['settings that the next turn keeps', 'state.modelOfProcess', null],
  ['settings that the next turn keeps', 'state.initialized.models', []],
])(
  'A turn of claude has other events if the saved state lacks a field: %s, %s.',
  async (name, field, empty) => {
    const wire = wires[name] ?? { steps: [] };
    expect(await isFoundWithout(wire, protocol, field, empty)).toBe(true);
  },
);
