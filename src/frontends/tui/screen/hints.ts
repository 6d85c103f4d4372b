import type { Choice } from '../list/layout.ts';
import type { ListItem } from '../list/list-items.ts';

/** The keys that are of use for what is selected, in a few words; the most useful ones first. */
export function hintOf(chosen: Choice | undefined): string {
  if (!chosen) return 'n new session';
  if ('section' in chosen) return '⏎ expand';
  return byKind(chosen.thing).join('  ');
}

function byKind(thing: ListItem): string[] {
  switch (thing.kind) {
    case 'approval':
      return ['a approve', 'd decline', '⏎ open', 'x stop'];
    case 'session': {
      const { status, active_turn_id } = thing.now.session;
      const isAtWork = active_turn_id !== null;
      if (status === 'waiting_for_approval') return ['a approve', 'd decline', '⏎ open', 'x stop'];
      if (status === 'closed') return ['⏎ open', 'y copy', 'n new'];
      if (status === 'failed') return ['r resume', '⏎ open', 'x close'];
      return ['i prompt', '⏎ open', 'n new', isAtWork ? 'x stop' : 'x close', 'z snooze', 'p pin'];
    }
    case 'process':
      return thing.process.ended_at === null
        ? ['⏎ log', 'r restart', 'x kill', 'y copy']
        : ['⏎ log', 'r restart', 'y copy'];
    case 'team':
      return ['⏎ open', 'e events', 'x interrupt all'];
  }
}
