import { useEffect, useState } from 'react';
import { type ListItem, sessionIdOf } from '../list/list-items.ts';
import { ConversationModel } from '../panes/conversation-model.ts';
import { LogModel } from '../panes/log-model.ts';
import { TeamModel } from '../panes/team-model.ts';
import type { Notices } from '../react-hooks.ts';
import { clientOf, type ScreenContext } from './screen-context.ts';

/** The pane of an item. The pane of an approval is the conversation of its session. */
export type Pane =
  | { kind: 'conversation'; id: string; model: ConversationModel }
  | { kind: 'log'; id: string; model: LogModel }
  | { kind: 'team'; id: string; model: TeamModel };

/** A selection that moves on within this time is not read. */
const REST_MS = 100;

/** Returns the pane of an item; null while the selection is still moving. */
export function usePane(context: ScreenContext, item: ListItem | undefined): Pane | null {
  const [pane, setPane] = useState<Pane | null>(null);
  const kind = item && kindOf(item);
  const id = item && idOf(item);
  useEffect(() => {
    if (kind === undefined || id === undefined) return undefined;
    let open: Pane | undefined;
    const rest = context.clock.after(REST_MS, () => {
      open = paneFor(context, kind, id);
      open.model.start();
      setPane(open);
    });
    return () => {
      rest[Symbol.dispose]();
      open?.model.stop();
    };
  }, [context, kind, id]);
  return pane && pane.kind === kind && pane.id === id ? pane : null;
}

function kindOf(item: ListItem): Pane['kind'] {
  if (item.kind === 'process') return 'log';
  return item.kind === 'team' ? 'team' : 'conversation';
}

function idOf(item: ListItem): string {
  return item.kind === 'process' ? item.id : (sessionIdOf(item) ?? item.id);
}

function paneFor(context: ScreenContext, kind: Pane['kind'], id: string): Pane {
  const { client, clock } = context;
  switch (kind) {
    case 'conversation':
      return { kind, id, model: new ConversationModel({ client, clock, sessionId: id }) };
    case 'log':
      return { kind, id, model: new LogModel({ client, clock, processId: id }) };
    case 'team':
      // The stream of a team names no record by which the client of several servers would find the server.
      return {
        kind,
        id,
        model: new TeamModel({ client: clientOf(context, { id }), clock, teamId: id }),
      };
  }
}

interface Target {
  session: string;
  keys: readonly string[];
}

/** Returns the function that shows a position of a conversation, as soon as its pane is open. */
export function useTarget(
  pane: Pane | null,
  { attempt }: Notices,
): (session: string, keys: readonly string[]) => void {
  const [target, setTarget] = useState<Target | null>(null);
  useEffect(() => {
    if (pane?.kind !== 'conversation' || pane.id !== target?.session) return;
    setTarget(null);
    attempt(pane.model.reveal(target.keys));
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- once for each target, and not with each drawing
  }, [pane, target]);
  return (session, keys) => setTarget({ session, keys });
}
