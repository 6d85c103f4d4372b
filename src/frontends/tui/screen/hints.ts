import type { Choice } from '../list/layout.ts';
import type { ListItem } from '../list/list-items.ts';

/** The keys that are of use for what is selected, in a few words; the most useful ones first. */
export function hintOf(chosen: Choice | undefined): string {
  if (!chosen) return 'n new session';
  if ('section' in chosen) return 'enter unfold';
  return byKind(chosen.thing).join('  ');
}

function byKind(thing: ListItem): string[] {
  switch (thing.kind) {
    case 'approval':
      return ['a accept', 'd decline', 'enter look', 'x stop'];
    case 'session': {
      const { status } = thing.now.session;
      if (status === 'waiting_for_approval')
        return ['a accept', 'd decline', 'enter open', 'x stop'];
      if (status === 'closed') return ['enter open', 'y copy', 'n new'];
      if (status === 'failed') return ['r resume', 'enter open', 'x close'];
      return ['i say', 'enter open', 'n new', 'x stop', 'z snooze', 'p pin'];
    }
    case 'process':
      return ['enter log', 'r restart', 'x end', 'y copy'];
    case 'team':
      return ['enter open', 'e events', 'x interrupt all'];
  }
}
