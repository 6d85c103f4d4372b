import type { Keys } from './help.tsx';
import { scopes } from './scope.ts';

/** The keys of the page of events. */
export const tailKeys: Keys = [
  ['↑ ↓ k j', 'Previous event, next event; stops following'],
  ['pgup pgdn', 'Previous page, next page; at the top, older events are loaded'],
  ['g home, G end', 'First loaded event; last event, and follow new events'],
  ['space', 'Pause: count new events without scrolling; again: follow'],
  ['⏎', 'Show the whole event; ← → for the previous or next event'],
  ['/ n N', 'Search; previous match; next match; esc ends the search'],
  ['f', 'Filter by kind, for example turn tool.completed'],
  ...scopes.map(({ key, noun }) => [key, `Only the ${noun} of this event`] as const),
  ['e', 'All events'],
  ['a d', 'Show the pending approval, to approve or decline it'],
  ['tab', 'Next pending approval'],
  ['q ^C', 'Quit'],
  ['', ''],
  ['Symbols', ''],
  ['>', 'Selected event'],
  ['~ …', 'Text that is cut to fit'],
];
