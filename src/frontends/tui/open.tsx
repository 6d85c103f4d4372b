import { render, useApp, useWindowSize } from 'ink';
import { type ReactNode, useEffect, useState } from 'react';
import type { Client } from '../../client/client.ts';
import type { Defaults } from '../../client/defaults.ts';
import type { EventScope } from '../../client/event-scope.ts';
import type { Edit } from '../../client/review.ts';
import { serversOf } from '../../client/routed.ts';
import type { Clock } from '../../core/lib/clock.ts';
import type { PromptHistory } from '../../core/lib/prompt-history.ts';
import { type ScreenSettings, defaultScreen } from '../../core/lib/screen-settings.ts';
import { paletteFor } from '../terminal/palette.ts';
import { UserActions } from './user-actions.ts';
import { firstChoices } from './forms/new-session.tsx';
import { JoinedOverview } from './joined-overview.ts';
import { Listeners, emptyKeyboard, useKeyboard } from './keyboard.ts';
import { ListState } from './list/list-state.ts';
import { Observable } from './observable.ts';
import { ServerOverview } from './overview-store.ts';
import { EventModel } from './panes/event-model.ts';
import { EventPage } from './screen/event-page.tsx';
import { KeyBindings } from './screen/key-bindings.ts';
import { clientOf, type ScreenContext, type PrepareProgram } from './screen/screen-context.ts';
import { Screen } from './screen/screen.tsx';
import { takeTerminal, type Terminal } from './terminal.ts';
import { Colors } from './styled-text.tsx';

/** The page that is shown first. */
export type Start =
  | { page: 'top'; select?: string | undefined; notice?: string | undefined }
  | {
      page: 'tail';
      scope: EventScope;
      after?: number | 'latest' | undefined;
      onSeq?: (seq: number) => void;
    };

interface AppProps {
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
  runProgram?: PrepareProgram | undefined;
}

/**
 * Events come in batches, which limit how often they are drawn. A key has to be drawn at once, so its frame waits at most
 * one frame of this rate behind another.
 */
const MAX_FPS = 60;

interface OpenOptions extends Omit<AppProps, 'terminal' | 'onInterrupt'> {
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WriteStream;
  env: NodeJS.ProcessEnv;
  /** Closes the screen when it aborts. */
  signal: AbortSignal;
}

/** Draws on the terminal's alternate screen until the user leaves it. Resolves with whether the user pressed Ctrl-C. */
export async function openScreen(options: OpenOptions): Promise<{ interrupted: boolean }> {
  const { stdin, stdout, env, signal, settings } = options;
  // The signal may have come while the screen was loaded.
  if (signal.aborted) return { interrupted: false };
  let interrupted = false;
  using terminal = takeTerminal({ ...options, mouse: settings?.mouse === true });
  const onInterrupt = () => (interrupted = true);
  const app = render(
    <Colors value={paletteFor(stdout, env)}>
      <App {...options} terminal={terminal} onInterrupt={onInterrupt} />
    </Colors>,
    {
      stdin,
      stdout,
      // Without it ink draws nothing where the variable CI is set. The caller has checked that there is a terminal.
      interactive: true,
      alternateScreen: true,
      incrementalRendering: true,
      maxFps: MAX_FPS,
      exitOnCtrlC: false,
    },
  );
  terminal.listen();
  signal.addEventListener('abort', () => app.unmount(), { once: true });
  // ink ends the process on a signal that nothing else listens to, and the listener behind `signal` runs only once.
  // With these the process lives until the terminal is restored.
  for (const name of signals) process.on(name, ignore);
  try {
    await app.waitUntilExit();
  } finally {
    for (const name of signals) process.off(name, ignore);
  }
  return { interrupted };
}

const signals = ['SIGINT', 'SIGTERM'] as const;
const ignore = () => undefined;

/** The screen, with its two pages: the place to work, and the events of a scope. */
export function App(props: AppProps): ReactNode {
  const { client, clock, start, terminal, onInterrupt } = props;
  const { exit, suspendTerminal } = useApp();
  const { rows, columns } = useWindowSize();
  const [events, setEvents] = useState(() =>
    start.page === 'tail' ? new EventModel({ client, clock, ...start }) : null,
  );
  const [context] = useState(() => contextFor(props, lender(terminal, suspendTerminal)));
  const { overviewStore, listState } = context;
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
        <EventPage {...size} context={context} model={events} onLeave={leaveEvents} />
      ) : (
        <Screen
          {...size}
          context={context}
          notice={start.page === 'top' ? start.notice : undefined}
          onEvents={(scope, id) => {
            const node = overviewStore.overview.get().nodes.get(id ?? '')?.name;
            setEvents(new EventModel({ client: clientOf(context, { id }), clock, scope, node }));
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
    let done: Promise<T> | undefined;
    await suspend(() =>
      terminal.lend(async () => {
        done = work();
        await done.catch(() => undefined);
      }),
    );
    terminal.listen();
    if (done) return done;
    throw new Error('cannot start the program, because the screen has not released the terminal');
  };
}

function contextFor(props: AppProps, lend: Lend): ScreenContext {
  const { client, clock, defaults, start, terminal, edit, runProgram } = props;
  const { settings = defaultScreen, history = null } = props;
  const watches = start.page === 'tail' ? 'approvals' : 'everything';
  const servers = serversOf(client);
  const overviewStore = servers
    ? new JoinedOverview(servers, clock)
    : new ServerOverview({ client, clock, watches });
  const wanted = start.page === 'top' ? start.select : undefined;
  const actions = new UserActions(client, defaults);
  const context: ScreenContext = {
    client,
    clock,
    overviewStore,
    terminal,
    keys: new KeyBindings(settings.keys),
    diff: settings.diff,
    history,
    listState: new ListState(overviewStore.overview, clock, wanted),
    actions,
    edit: edit ? (name, text, read) => lend(() => edit(name, text, read)) : null,
    runProgram: runProgram
      ? async (program, where) => lend(await runProgram(program, where))
      : null,
    actionsOn: (name) => (servers ? actions.on(clientOf(context, { name })) : actions),
    drafts: new Map(),
    choices: new Observable(firstChoices(terminal.directory)),
  };
  return context;
}
