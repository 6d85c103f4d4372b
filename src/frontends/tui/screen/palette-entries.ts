import type { PaletteEntry } from '../dialogs/command-palette.tsx';
import { nameOf } from '../list/row-text.ts';
import type { ListItem } from '../list/list-items.ts';
import { actions } from './actions.ts';
import { actionKeys } from './keys.ts';
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
    ...actions
      .filter(({ key }) => key !== ':')
      .map(({ key, label, name, meaning }) => ({
        id: key,
        label: place.keys.label(label),
        name,
        detail: meaning,
        run: run(table[key]),
      })),
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
