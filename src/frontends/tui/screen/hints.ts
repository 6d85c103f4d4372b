import type { Choice } from '../list/layout.ts';
import type { ListItem } from '../list/list-items.ts';
import { hint } from './actions.ts';

/** The keys that are of use for what is selected, in a few words; the most useful ones first. */
export function hintOf(chosen: Choice | undefined): string {
  if (!chosen) return hint('n');
  if ('section' in chosen) return hint('return', 'expand');
  return byKind(chosen.thing).join('  ');
}

/** The keys that are of use for the marked rows. */
export const markedHint = [hint('d'), hint('x'), hint('p'), 'esc clear marks'].join('  ');

function byKind(thing: ListItem): string[] {
  switch (thing.kind) {
    case 'approval':
      return [hint('a'), hint('d'), hint('return'), hint('x')];
    case 'session': {
      const { status, active_turn_id } = thing.now.session;
      const isAtWork = active_turn_id !== null;
      if (status === 'waiting_for_approval')
        return [hint('a'), hint('d'), hint('return'), hint('x')];
      if (status === 'closed') return [hint('return'), hint('y'), hint('n', 'new')];
      const stop = isAtWork ? hint('x') : hint('x', 'close');
      if (status === 'failed') return [hint('r', 'resume'), hint('return'), stop];
      return [hint('i'), hint('return'), hint('n', 'new'), stop, hint('z'), hint('p')];
    }
    case 'process':
      return [
        hint('return', 'log'),
        hint('r'),
        ...(thing.process.ended_at === null ? [hint('x', 'kill')] : []),
        hint('y'),
      ];
    case 'team':
      return [hint('return'), hint('e'), hint('x', 'interrupt all')];
  }
}
