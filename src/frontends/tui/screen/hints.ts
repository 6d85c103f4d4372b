import type { Choice } from '../list/layout.ts';
import type { ListItem } from '../list/list-items.ts';
import type { OwnKeys } from './own-keys.ts';

/** The most useful keys for the selected row or section, in a few words. */
export function hintOf(chosen: Choice | undefined, keys: OwnKeys): string {
  if (!chosen) return keys.hint('new_session');
  if ('section' in chosen) return keys.hint('open', 'expand');
  return hintsFor(chosen.thing, keys).join('  ');
}

/** The keys for the marked rows. */
export function markedHint(keys: OwnKeys): string {
  return [keys.hint('decline'), keys.hint('stop'), keys.hint('pin'), 'esc clear marks'].join('  ');
}

function hintsFor(thing: ListItem, keys: OwnKeys): string[] {
  const hint = keys.hint.bind(keys);
  const answer = [hint('approve'), hint('decline'), hint('open'), hint('stop')];
  switch (thing.kind) {
    case 'approval':
      return answer;
    case 'session': {
      const { status, active_turn_id } = thing.now.session;
      if (status === 'waiting_for_approval') return answer;
      const open = hint('open');
      const create = hint('new_session', 'new');
      if (status === 'closed') return [open, hint('copy'), create];
      const stop = active_turn_id === null ? hint('stop', 'close') : hint('stop');
      if (status === 'failed') return [hint('restart', 'resume'), open, stop];
      return [hint('prompt'), open, create, stop, hint('snooze'), hint('pin')];
    }
    case 'process':
      return [
        hint('open', 'log'),
        hint('restart'),
        ...(thing.process.ended_at === null ? [hint('stop', 'kill')] : []),
        hint('copy'),
      ];
    case 'team':
      return [hint('open'), hint('events'), hint('stop', 'interrupt all')];
  }
}
