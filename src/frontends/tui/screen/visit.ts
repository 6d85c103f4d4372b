import type { ListItem } from '../list/list-items.ts';
import { nameOf } from '../list/row-text.ts';
import type { VisitProgram } from '../visit.ts';
import { clientOf } from './screen-context.ts';
import type { ScreenState } from './screen-state.ts';

/** Opens the shell or the editor of the user in the directory of a session or process. */
export function visit(shown: ScreenState, thing: ListItem, program: VisitProgram): void {
  const { place, attempt, tell } = shown;
  const directory = directoryOf(thing);
  if (directory === null) return tell(`"${nameOf(thing)}" has no directory`);
  if (!place.visit) return tell(`no ${program} is available here`);
  attempt(place.visit(program, { directory, url: clientOf(place, { id: thing.id }).url }));
}

function directoryOf(thing: ListItem): string | null {
  switch (thing.kind) {
    case 'approval':
      return thing.session?.cwd ?? null;
    case 'session':
      return thing.now.session.cwd;
    case 'process':
      return thing.process.cwd;
    case 'team':
      return null;
  }
}
