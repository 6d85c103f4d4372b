import { Box, Text } from 'ink';
import { type ReactNode, useEffect, useEffectEvent, useState } from 'react';
import type { EventScope } from '../../../client/event-scope.ts';
import { describeResolved } from '../approval-answer.ts';
import { useKeys } from '../keyboard.ts';
import type { Hold } from '../panes/pane-model.ts';
import { useNotice, useResolved, useSource } from '../react-hooks.ts';
import { useAlerts, useSeen } from './attention.ts';
import { Body } from './body.tsx';
import { Foot, saidIn } from './foot.tsx';
import { Head } from './head.tsx';
import { listKeys, paneKeys } from './keys.ts';
import { useMarks } from './marks.ts';
import { type Base, type Mode, list } from './mode.ts';
import type { ScreenContext } from './screen-context.ts';
import type { ScreenState } from './screen-state.ts';
import { usePane, useTarget } from './use-pane.ts';

/** From this width on the pane is beside the list. */
const WIDE = 100;

export interface ScreenProps {
  place: ScreenContext;
  rows: number;
  columns: number;
  /** A notice that is shown at first. */
  notice?: string | undefined;
  onEvents: (scope: EventScope, id?: string) => void;
  onLeave: () => void;
}

/** The list of all items, and the pane of the selected one. */
export function Screen({
  place,
  rows,
  columns,
  notice: first,
  onEvents,
  onLeave,
}: ScreenProps): ReactNode {
  const view = useSource(place.listState.view);
  const notices = useNotice(place.clock, place.overviewStore);
  const [mode, setAnyMode] = useState<Mode>(list);
  const [base, setBase] = useState<Base>('list');
  const setMode = (next: Mode) => {
    if (next.name === 'list' || next.name === 'pane') setBase(next.name);
    setAnyMode(next);
  };
  const [peeks, setPeeks] = useState(false);
  const [hold, setHold] = useState<Hold>(null);
  const { overviewStore, acts } = place;
  const connection = useSource(overviewStore.connection);
  const said = saidIn(mode.name, { notice: notices.notice, connection }, columns, place.keys);
  const isWide = columns >= WIDE;
  const thing = view.chosen && 'thing' in view.chosen ? view.chosen.thing : undefined;

  const marks = useMarks(view.things);

  useResolved(overviewStore, (resolved) => {
    notices.tell(describeResolved(resolved, acts.isMine(resolved.id)));
    if (mode.name === 'sheet' && mode.asked.approval.id === resolved.id) setMode({ name: base });
  });
  useFirstNotice(notices.tell, first);
  useAlerts(place);
  const showsPane = isWide || peeks || mode.name === 'pane' || mode.name === 'say';
  const pane = usePane(place, thing);
  const showAt = useTarget(pane, notices);
  const isOpened = view.isReached || mode.name === 'pane' || mode.name === 'say';
  useSeen(place, showsPane && isOpened ? thing : undefined, pane?.model);
  const shown: ScreenState = {
    ...notices,
    place,
    view,
    thing,
    marks,
    mode,
    setMode,
    back: () => setMode({ name: base }),
    hold,
    setHold,
    pane,
    copyable: () => pane?.model.copyable() ?? (thing ? [{ name: 'id', text: thing.id }] : []),
    peeks,
    setPeeks,
    isWide,
    said,
    height: Math.max(1, rows - 1 - Math.max(1, said.length)),
    columns,
    showAt,
    onEvents,
    onLeave,
  };
  // A notice stands where the keys are shown of what comes next.
  const endNotice = () => notices.tell('');
  useKeys(listKeys(shown), mode.name === 'list', endNotice);
  useKeys(paneKeys(shown), mode.name === 'pane' && hold !== 'all', endNotice);

  if (rows < 12 || columns < 40) return <TooSmall rows={rows} columns={columns} />;
  return (
    <Box flexDirection="column" width={columns} height={rows}>
      <Head shown={shown} />
      <Body shown={shown} />
      <Foot shown={shown} />
    </Box>
  );
}

/** Shows the notice with which the screen opens. */
function useFirstNotice(tell: (text: string) => void, first: string | undefined): void {
  const tellFirst = useEffectEvent(() => {
    if (first !== undefined) tell(first);
  });
  useEffect(() => tellFirst(), []);
}

function TooSmall({ rows, columns }: { rows: number; columns: number }): ReactNode {
  return (
    <Box width={columns} height={rows}>
      <Text>{`Terminal too small: ${columns}x${rows} (min. 40x12)`}</Text>
    </Box>
  );
}
