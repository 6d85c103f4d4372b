import { useEffect, useState } from 'react';
import { sessionIdOf, type ListItem } from '../list/list-items.ts';
import { ConversationModel } from '../panes/conversation-model.ts';
import { LogModel } from '../panes/log-model.ts';
import { TeamModel } from '../panes/team-model.ts';
import type { ScreenContext } from './screen-context.ts';

/** What is shown of a thing: of an approval, the conversation that it belongs to. */
export type Pane =
  | { kind: 'conversation'; id: string; model: ConversationModel }
  | { kind: 'log'; id: string; model: LogModel }
  | { kind: 'team'; id: string; model: TeamModel };

/** A selection that moves on within this time is not read. */
const REST_MS = 100;

/** The pane of a thing; null until the selection rests on it. */
export function usePane(place: ScreenContext, thing: ListItem | undefined): Pane | null {
  const [pane, setPane] = useState<Pane | null>(null);
  const kind = thing && kindOf(thing);
  const id = thing && idOf(thing);
  useEffect(() => {
    if (kind === undefined || id === undefined) return undefined;
    let open: Pane | undefined;
    const rest = place.clock.after(REST_MS, () => {
      open = paneFor(place, kind, id);
      open.model.start();
      setPane(open);
    });
    return () => {
      rest[Symbol.dispose]();
      open?.model.stop();
    };
  }, [place, kind, id]);
  return pane && pane.kind === kind && pane.id === id ? pane : null;
}

function kindOf(thing: ListItem): Pane['kind'] {
  if (thing.kind === 'process') return 'log';
  return thing.kind === 'team' ? 'team' : 'conversation';
}

function idOf(thing: ListItem): string {
  return thing.kind === 'process' ? thing.id : (sessionIdOf(thing) ?? thing.id);
}

function paneFor({ client, clock }: ScreenContext, kind: Pane['kind'], id: string): Pane {
  switch (kind) {
    case 'conversation':
      return { kind, id, model: new ConversationModel({ client, clock, sessionId: id }) };
    case 'log':
      return { kind, id, model: new LogModel({ client, clock, processId: id }) };
    case 'team':
      return { kind, id, model: new TeamModel({ client, clock, teamId: id }) };
  }
}
