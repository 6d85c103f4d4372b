import { useApp, useWindowSize } from 'ink';
import { type ReactNode, useEffect, useState } from 'react';
import type { Client } from '../../client/client.ts';
import type { Defaults } from '../../client/defaults.ts';
import type { EventScope } from '../../client/event-scope.ts';
import type { Edit } from '../../client/review.ts';
import { serversOf } from '../../client/routed.ts';
import type { Clock } from '../../core/lib/clock.ts';
import type { PromptHistory } from '../../core/lib/prompt-history.ts';
import { type ScreenSettings, defaultScreen } from '../../core/lib/screen-settings.ts';
import { Acts } from './acts.ts';
import { firstChoices } from './forms/new-session.tsx';
import { JoinedOverview } from './joined-overview.ts';
import { Listeners, emptyKeyboard, useKeyboard } from './keyboard.ts';
import { ListState } from './list/list-state.ts';
import { Observable } from './observable.ts';
import { ServerOverview } from './overview-store.ts';
import { EventModel } from './panes/event-model.ts';
import { EventPage } from './screen/event-page.tsx';
import { OwnKeys } from './screen/own-keys.ts';
import { type ScreenContext, clientOf } from './screen/screen-context.ts';
import { Screen } from './screen/screen.tsx';
import type { Terminal } from './terminal.ts';
import type { Visit } from './visit.ts';

/** The page that is shown first. */
export type Start =
  | { page: 'top'; select?: string | undefined; notice?: string | undefined }
  | {
      page: 'tail';
      scope: EventScope;
      after?: number | 'latest' | undefined;
      onSeq?: (seq: number) => void;
    };

export interface AppProps {
  client: Client;
  clock: Clock;
  defaults: Defaults;
  start: Start;
  terminal: Terminal;
  onInterrupt: () => void;
  /** The configured settings; without them everything is as usual. */
  settings?: ScreenSettings | undefined;
  /** The prompts that were sent before; without it nothing is kept. */
  history?: PromptHistory | null | undefined;
  /** Has a person edit a text in a program that takes the terminal; without it nothing can be edited so. */
  edit?: Edit | undefined;
  /** Opens a shell or an editor in a directory; without it neither can be opened. */
  visit?: Visit | undefined;
}

/** The screen, with its two pages: the place to work, and the events of a scope. */
export function App(props: AppProps): ReactNode {
  const { client, clock, start, terminal, onInterrupt } = props;
  const { exit, suspendTerminal } = useApp();
  const { rows, columns } = useWindowSize();
  const [events, setEvents] = useState(() =>
    start.page === 'tail' ? new EventModel({ client, clock, ...start }) : null,
  );
  const [place] = useState(() => placeFor(props, lender(terminal, suspendTerminal)));
  const { overviewStore, listState } = place;
  useEffect(() => {
    listState.start();
    overviewStore.start();
    return () => {
      overviewStore.stop();
      listState.stop();
    };
  }, [overviewStore, listState]);
  useEffect(() => {
    events?.start();
    return () => events?.stop();
  }, [events]);
  const [keyboard] = useState(emptyKeyboard);
  useKeyboard(
    keyboard,
    (input, key) => {
      if (key.ctrl && input === 'z') void suspendTerminal(() => terminal.suspend());
      if (!key.ctrl || input !== 'c') return;
      onInterrupt();
      exit();
    },
    terminal.pointers,
  );
  const size = { rows, columns };
  const leaveEvents = () => (start.page === 'tail' ? exit() : setEvents(null));
  return (
    <Listeners value={keyboard}>
      {events ? (
        <EventPage {...size} place={place} model={events} onLeave={leaveEvents} />
      ) : (
        <Screen
          {...size}
          place={place}
          notice={start.page === 'top' ? start.notice : undefined}
          onEvents={(scope, id) => {
            const node = overviewStore.overview.get().nodes.get(id ?? '')?.name;
            setEvents(new EventModel({ client: clientOf(place, { id }), clock, scope, node }));
          }}
          onLeave={() => exit()}
        />
      )}
    </Listeners>
  );
}

/** Runs a work to which the terminal is lent, and passes on how it ended. */
type Lend = <T>(work: () => Promise<T>) => Promise<T>;

function lender(
  terminal: Terminal,
  suspend: (work: () => Promise<void>) => Promise<unknown>,
): Lend {
  return async <T,>(work: () => Promise<T>) => {
    let result = (): T => {
      throw new Error('cannot start the program, because the screen has not released the terminal');
    };
    await suspend(() =>
      terminal.lend(async () => {
        try {
          const done = await work();
          result = () => done;
        } catch (error) {
          result = () => {
            throw error;
          };
        }
      }),
    );
    terminal.listen();
    return result();
  };
}

function placeFor(
  {
    client,
    clock,
    defaults,
    start,
    terminal,
    edit,
    visit,
    settings = defaultScreen,
    history = null,
  }: AppProps,
  lend: Lend,
): ScreenContext {
  const watches = start.page === 'tail' ? 'approvals' : 'everything';
  const servers = serversOf(client);
  const overviewStore = servers
    ? new JoinedOverview(servers, clock)
    : new ServerOverview({ client, clock, watches });
  const wanted = start.page === 'top' ? start.select : undefined;
  const lentEdit: Edit | null = edit
    ? (name, text, read) => lend(() => edit(name, text, read))
    : null;
  const acts = new Acts(client, defaults, lentEdit);
  const place: ScreenContext = {
    client,
    clock,
    overviewStore,
    terminal,
    keys: new OwnKeys(settings.keys),
    diff: settings.diff,
    history,
    listState: new ListState(overviewStore.overview, clock, wanted),
    acts,
    visit: visit ? async (program, where) => lend(await visit(program, where)) : null,
    actsOn: (name) => (servers ? acts.on(clientOf(place, { name })) : acts),
    drafts: new Map(),
    choices: new Observable(firstChoices(terminal.directory)),
  };
  return place;
}
