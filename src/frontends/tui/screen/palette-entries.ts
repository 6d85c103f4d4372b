import { type ActionName, explainedKeys } from '../../../core/lib/screen-actions.ts';
import type { PaletteEntry } from '../dialogs/command-palette.tsx';
import type { ListItem } from '../list/list-items.ts';
import { nameOf } from '../list/row-text.ts';
import { actionKeys } from './keys.ts';
import { wordsOf } from './own-keys.ts';
import type { ScreenState } from './screen-state.ts';

/** Every action of the screen, and every session, team and process to go to. */
export function paletteEntries(shown: ScreenState): PaletteEntry[] {
  const table = actionKeys(shown);
  const { place, view, back, setMode } = shown;
  const run = (work: () => void) => () => {
    back();
    work();
  };
  const goTo = ({ id }: ListItem) => {
    place.listState.select(id);
    setMode({ name: 'pane' });
  };
  return [
    ...explainedKeys.flatMap(({ actions, meaning }) =>
      actions
        .filter((name) => name !== 'palette')
        .map((name: ActionName) => ({
          id: name,
          label: place.keys.label(name),
          name: wordsOf(name),
          detail: meaning,
          run: run(table[name]),
        })),
    ),
    ...view.things
      .filter(({ kind }) => kind !== 'approval')
      .map((thing) => ({
        id: thing.id,
        label: thing.kind,
        name: nameOf(thing),
        detail: [thing.node?.name, thing.id.slice(-8)].filter(Boolean).join('  '),
        run: run(() => goTo(thing)),
      })),
  ];
}
