import type { ReactNode } from 'react';
import type { Session } from '../../../api/sessions.ts';
import { BatchDialog } from '../dialogs/batch.tsx';
import { SettingsDialog } from '../dialogs/settings.tsx';
import type { Batch } from './batch.ts';
import type { ScreenContext } from './screen-context.ts';
import type { ScreenState } from './screen-state.ts';

/** The question about all marked rows. */
export function BatchQuestion({ shown, batch }: { shown: ScreenState; batch: Batch }): ReactNode {
  const { view, marks, back, height: rows, columns } = shown;
  const props = { batch, now: view.now, rows, columns };
  return <BatchDialog {...props} notices={shown} onDone={marks.set} onLeave={back} />;
}

/** The model and the mode of the next turns of a session. */
export function Settings({ shown, session }: { shown: ScreenState; session: Session }): ReactNode {
  const { place, back, height: rows, columns } = shown;
  const props = { session, acts: place.acts, rows, columns };
  const offersOf = () => place.actsOn(nodeNameOf(place, session.id));
  return <SettingsDialog {...props} offersOf={offersOf} notices={shown} onLeave={back} />;
}

/** The name of the server of a session; empty where there is one server. */
function nodeNameOf({ overviewStore }: ScreenContext, id: string): string {
  return overviewStore.overview.get().nodes.get(id)?.name ?? '';
}
