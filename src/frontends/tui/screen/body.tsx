import { Box } from 'ink';
import type { ReactNode } from 'react';
import type { SearchHit } from '../../../api/search.ts';
import type { Session } from '../../../api/sessions.ts';
import { NewSessionForm } from '../forms/new-session.tsx';
import { recentDirectories } from '../forms/recent.ts';
import { Help } from '../help.tsx';
import { useSource } from '../react-hooks.ts';
import { ApprovalDialog } from '../dialogs/approval.tsx';
import { BatchDialog } from '../dialogs/batch.tsx';
import { CommandPalette } from '../dialogs/command-palette.tsx';
import { DiffDialog } from '../dialogs/diff.tsx';
import { MergeDialog } from '../dialogs/merge.tsx';
import { QueueDialog } from '../dialogs/queue.tsx';
import { SearchDialog } from '../dialogs/search.tsx';
import { ServerDialog } from '../dialogs/server.tsx';
import { SettingsDialog } from '../dialogs/settings.tsx';
import { UsageDialog } from '../dialogs/usage.tsx';
import { Tint } from '../tint.tsx';
import { sessionName } from '../titles.ts';
import type { Batch } from './batch.ts';
import { keysFor } from './help.ts';
import { paletteEntries } from './palette-entries.ts';
import { PanePart } from './pane-part.tsx';
import { PointedList } from './pointed.tsx';
import type { ScreenContext } from './screen-context.ts';
import type { ScreenState } from './screen-state.ts';

/** Everything between the first line and the last: the list and the pane, or a sheet or a form over both. */
export function Body({ shown }: { shown: ScreenState }): ReactNode {
  const { mode, back, place, height, columns, attempt } = shown;
  const room = { rows: height, columns };
  switch (mode.name) {
    case 'help':
      return <Help {...room} keys={keysFor(shown.pane, shown.place.keys)} onLeave={back} />;
    case 'server':
      return (
        <ServerDialog
          {...room}
          overviewStore={place.overviewStore}
          url={place.client.url}
          onLeave={back}
        />
      );
    case 'new':
      return (
        <NewSessionForm
          {...room}
          actsOn={place.actsOn}
          nodes={liveNodes(place)}
          choices={place.choices}
          recent={recentDirectories(place.overviewStore.overview.get())}
          onLeave={back}
          onCreate={(wanted, acts) => {
            back();
            place.history?.add(wanted.prompt);
            attempt(acts.open(wanted).then(({ id }) => place.listState.selectOnceThere(id)));
          }}
        />
      );
    case 'usage':
      return <Usage shown={shown} />;
    case 'palette':
      return <CommandPalette {...room} entries={paletteEntries(shown)} onLeave={back} />;
    case 'search':
      return <Search shown={shown} />;
    case 'batch':
      return <BatchQuestion shown={shown} batch={mode.batch} />;
    case 'queue':
      return <Queue shown={shown} session={mode.session} />;
    case 'settings':
      return <Settings shown={shown} session={mode.session} />;
    case 'diff':
      return <Diff shown={shown} session={mode.session} />;
    case 'finish':
      return (
        <MergeDialog
          worktreeId={mode.session.worktree_id ?? ''}
          acts={place.acts}
          notices={shown}
          rows={height}
          columns={columns}
          onLeave={back}
        />
      );
    case 'sheet':
      // The sheet has its own last line, so it takes the one of the page, too.
      return (
        <ApprovalDialog
          key={mode.asked.approval.id}
          {...room}
          rows={height + 1}
          asked={mode.asked}
          acts={place.acts}
          notices={shown}
          onDone={back}
        />
      );
    default:
      return <ListAndPane shown={shown} />;
  }
}

function Queue({ shown, session }: { shown: ScreenState; session: Session }): ReactNode {
  const { place, height: rows, columns, back } = shown;
  const { queueSeq: version } = useSource(place.overviewStore.overview);
  const { acts, clock } = place;
  const props = { session, acts, clock, version, rows, columns };
  return <QueueDialog {...props} notices={shown} onLeave={back} />;
}

function Usage({ shown }: { shown: ScreenState }): ReactNode {
  const { place, height: rows, back } = shown;
  const { queueSeq: version, sessions, teams } = useSource(place.overviewStore.overview);
  const props = { acts: place.acts, sessions, teams };
  return <UsageDialog {...props} notices={shown} version={version} rows={rows} onLeave={back} />;
}

function Diff({ shown, session }: { shown: ScreenState; session: Session }): ReactNode {
  const { place, height, columns, back } = shown;
  const { reviewSeq: version } = useSource(place.overviewStore.overview);
  // The sheet has its own last line, so it takes the one of the page, too.
  const props = { session, acts: place.acts, version, rows: height + 1, columns };
  return <DiffDialog key={session.id} {...props} notices={shown} onLeave={back} />;
}

function Search({ shown }: { shown: ScreenState }): ReactNode {
  const { place, height: rows, columns, back, tell, setMode, showAt } = shown;
  const open = (hit: SearchHit) => {
    const { session_id, turn_id, item_id } = hit;
    back();
    if (!place.listState.select(session_id))
      return tell(
        `${sessionName(session_id, hit.session_title)} is not in the list: see cadre sessions show ${session_id}`,
      );
    const keys = [item_id, turn_id].filter((key) => key !== null);
    if (keys.length > 0) showAt(session_id, keys);
    setMode({ name: 'pane' });
  };
  const props = { client: place.client, clock: place.clock, rows, columns };
  return <SearchDialog {...props} notices={shown} onOpen={open} onLeave={back} />;
}

/** The names of those of several servers on which a session can be opened. */
function liveNodes({ overviewStore }: ScreenContext): string[] {
  return overviewStore.nodes.get().flatMap(({ name, state }) => (state === 'live' ? [name] : []));
}

function ListAndPane({ shown }: { shown: ScreenState }): ReactNode {
  const { view, mode, height, columns, peeks, isWide } = shown;
  const isActive = mode.name === 'list' || mode.name === 'filter';
  const hasThing = view.choices.length > 0;
  const listed = { shown, view, isActive, marked: shown.marks.ids };
  const isInPane = mode.name === 'pane' || mode.name === 'say';
  if (!hasThing && !isInPane) return <Nothing shown={shown} />;
  if (isWide) {
    if (peeks) return <PanePart shown={shown} rows={height} columns={columns} />;
    const width = Math.max(40, Math.min(64, Math.floor(columns * 0.36)));
    return (
      <Box height={height}>
        <PointedList {...listed} columns={width} height={height} />
        <Divider height={height} />
        <PanePart shown={shown} rows={height} columns={columns - width - 2} />
      </Box>
    );
  }
  if (isInPane) return <PanePart shown={shown} rows={height} columns={columns} />;
  const below = peeks ? Math.floor(height / 2) : 0;
  return (
    <Box flexDirection="column" height={height}>
      <PointedList {...listed} columns={columns} height={height - below} />
      {below > 0 && (
        <>
          <Tint tone="faint">{'─'.repeat(columns)}</Tint>
          <PanePart shown={shown} rows={below - 1} columns={columns} />
        </>
      )}
    </Box>
  );
}

function Divider({ height }: { height: number }): ReactNode {
  return (
    <Box width={2} height={height} flexShrink={0}>
      <Tint tone="faint">{Array.from({ length: height }, () => '│').join('\n')}</Tint>
    </Box>
  );
}

/** What to do where there is nothing to show. */
function Nothing({ shown }: { shown: ScreenState }): ReactNode {
  const { view, height, place } = shown;
  const isLive = useSource(place.overviewStore.connection).state === 'live';
  const text =
    view.things.length > 0
      ? view.filter === ''
        ? `No rows here: press ${place.keys.label('5')} to show all ${view.things.length}`
        : `No row contains "${view.filter}": press esc to show all`
      : `No sessions: press ${place.keys.label('n')} to open one`;
  return (
    <Box height={height} flexDirection="column" paddingLeft={2} paddingTop={1}>
      {isLive && <Tint tone="faint">{text}</Tint>}
    </Box>
  );
}

/** The question about all marked rows. */
function BatchQuestion({ shown, batch }: { shown: ScreenState; batch: Batch }): ReactNode {
  const { view, marks, back, height: rows, columns } = shown;
  const props = { batch, now: view.now, rows, columns };
  return <BatchDialog {...props} notices={shown} onDone={marks.set} onLeave={back} />;
}

/** The model and the mode of the next turns of a session. */
function Settings({ shown, session }: { shown: ScreenState; session: Session }): ReactNode {
  const { place, back, height: rows, columns } = shown;
  const props = { session, acts: place.acts, rows, columns };
  const offersOf = () => place.actsOn(nodeNameOf(place, session.id));
  return <SettingsDialog {...props} offersOf={offersOf} notices={shown} onLeave={back} />;
}

/** The name of the server of a session; empty where there is one server. */
function nodeNameOf({ overviewStore }: ScreenContext, id: string): string {
  return overviewStore.overview.get().nodes.get(id)?.name ?? '';
}
