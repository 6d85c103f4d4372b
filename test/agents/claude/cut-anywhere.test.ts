import { expect, test } from 'vitest';
import { expectEqualTurns, isFoundWithout } from '../cut-anywhere.ts';
import { claudeProtocol } from './cut-protocol.ts';
import { wiresOf } from './cut-wires.ts';

const { protocol, next } = claudeProtocol();
const wires = wiresOf(next);

test.each(Object.entries(wires))(
  'A turn of claude that another server continues after any update and any message has the same events: %s.',
  (_name, wire) => expectEqualTurns(wire, protocol),
);
