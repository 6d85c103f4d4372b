import { Box } from 'ink';
import type { ReactNode } from 'react';
import type { SearchHit } from '../../../api/search.ts';
import { ApprovalDialog } from '../dialogs/approval.tsx';
import { BatchDialog } from '../dialogs/batch.tsx';
import { CommandPalette, type PaletteEntry } from '../dialogs/command-palette.tsx';
import { DiffDialog } from '../dialogs/diff.tsx';
import { ForkDialog } from '../dialogs/fork.tsx';
import { MergeDialog } from '../dialogs/merge.tsx';
import { QueueDialog } from '../dialogs/queue.tsx';
import { SearchDialog } from '../dialogs/search.tsx';
import { ServerDialog } from '../dialogs/server.tsx';
import { SettingsDialog } from '../dialogs/settings.tsx';
import { UsageDialog } from '../dialogs/usage.tsx';
import { NewSessionForm, recentDirectories } from '../forms/new-session.tsx';
import { Help, type Keys } from '../help.tsx';
import { useObservable } from '../react-hooks.ts';
import { StyledText } from '../styled-text.tsx';
import { sessionName } from '../titles.ts';
import { PaneArea } from './pane-area.tsx';
import { ClickableList } from './mouse-areas.tsx';
import type { DialogProps, ScreenContext } from './screen-context.ts';
import type { ScreenState } from './screen-state.ts';
import { type ActionName, explainedKeys } from '../../../core/lib/screen-actions.ts';
import { type ListItem, type ItemStatus, itemStatuses } from '../list/list-items.ts';
import { nameOf, symbols } from '../list/row-text.ts';
import { actionKeys } from './keys.ts';
import { KeyBindings, wordsOf } from './key-bindings.ts';
import type { Pane } from './use-pane.ts';

/** Everything between the first line and the last: the list and the pane, or a dialog or a form over both. */
export function Body({ shown }: { shown: ScreenState }): ReactNode {
  const { mode, back, context, height, columns } = shown;
  const dialog: DialogProps = { context, notices: shown, rows: height, columns, onLeave: back };
  // Some dialogs have a last line of their own, in place of the one of the screen.
  const tall = { ...dialog, rows: height + 1 };
  switch (mode.name) {
    case 'help':
      return <Help {...dialog} keys={keysFor(shown.pane, context.keys)} />;
    case 'server':
      return <ServerDialog {...dialog} />;
    case 'new':
      return (
        <NewSessionForm
          {...dialog}
          actionsOn={context.actionsOn}
          nodes={liveNodes(context)}
          choices={context.choices}
          recent={recentDirectories(context.overviewStore.overview.get())}
          onCreate={async (wanted, actions) => {
            const opening = actions.open(wanted).then(({ id }) => {
              back();
              context.history?.add(wanted.prompt);
              context.listState.selectOnceThere(id);
            });
            shown.attempt(opening);
            // The form stays open with its fields if the server refuses them.
            return opening.then(
              () => true,
              () => false,
            );
          }}
        />
      );
    case 'usage':
      return <UsageDialog {...dialog} />;
    case 'palette':
      return <CommandPalette {...dialog} entries={paletteEntries(shown)} />;
    case 'search':
      return <SearchDialog {...dialog} onOpen={(hit) => openHit(shown, hit)} />;
    case 'batch':
      return (
        <BatchDialog {...dialog} batch={mode.batch} now={shown.view.now} onDone={shown.marks.set} />
      );
    case 'queue':
      return <QueueDialog {...dialog} session={mode.session} />;
    case 'fork':
      return (
        <ForkDialog
          {...dialog}
          session={mode.session}
          onFork={(turnId) => {
            back();
            const forking = context.actions.fork(mode.session.id, turnId);
            shown.attempt(forking.then(({ id }) => context.listState.selectOnceThere(id)));
          }}
        />
      );
    case 'settings':
      return <SettingsDialog {...dialog} session={mode.session} />;
    case 'diff':
      return <DiffDialog key={mode.session.id} {...tall} session={mode.session} />;
    case 'merge':
      return <MergeDialog {...dialog} worktreeId={mode.session.worktree_id ?? ''} />;
    case 'approval':
      return <ApprovalDialog key={mode.asked.approval.id} {...tall} asked={mode.asked} />;
    default:
      return <ListAndPane shown={shown} />;
  }
}

function openHit(shown: ScreenState, hit: SearchHit): void {
  const { session_id, turn_id, item_id, session_title } = hit;
  shown.back();
  if (!shown.context.listState.select(session_id))
    return shown.showNotice(
      `${sessionName(session_id, session_title)} is not in the list: see cadre sessions show ${session_id}`,
    );
  const keys = [item_id, turn_id].filter((key) => key !== null);
  if (keys.length > 0) shown.showAt(session_id, keys);
  shown.setMode({ name: 'pane' });
}

/** The names of the servers on which a session can be opened, if there are several. */
function liveNodes({ overviewStore }: ScreenContext): string[] {
  return overviewStore.nodes.get().flatMap(({ name, state }) => (state === 'live' ? [name] : []));
}

function ListAndPane({ shown }: { shown: ScreenState }): ReactNode {
  const { view, mode, height, columns, peeks, isWide } = shown;
  const hasItem = view.choices.length > 0;
  const isInPane = mode.name === 'pane' || mode.name === 'say';
  if (!hasItem && !isInPane) return <Nothing shown={shown} />;
  if (isWide) {
    if (peeks) return <PaneArea shown={shown} rows={height} columns={columns} />;
    const width = Math.max(40, Math.min(64, Math.floor(columns * 0.36)));
    return (
      <Box height={height}>
        <ClickableList shown={shown} columns={width} height={height} />
        <Box width={2} height={height} flexShrink={0}>
          <StyledText tone="faint">
            {Array.from({ length: height }, () => '│').join('\n')}
          </StyledText>
        </Box>
        <PaneArea shown={shown} rows={height} columns={columns - width - 2} />
      </Box>
    );
  }
  if (isInPane) return <PaneArea shown={shown} rows={height} columns={columns} />;
  const below = peeks ? Math.floor(height / 2) : 0;
  return (
    <Box flexDirection="column" height={height}>
      <ClickableList shown={shown} columns={columns} height={height - below} />
      {below > 0 && (
        <>
          <StyledText tone="faint">{'─'.repeat(columns)}</StyledText>
          <PaneArea shown={shown} rows={below - 1} columns={columns} />
        </>
      )}
    </Box>
  );
}

/** Shown instead of an empty list. */
function Nothing({ shown }: { shown: ScreenState }): ReactNode {
  const { view, height, context } = shown;
  const isLive = useObservable(context.overviewStore.connection).state === 'live';
  const text =
    view.items.length > 0
      ? view.filter === ''
        ? `No rows here: press ${context.keys.label('show_all')} to show all ${view.items.length}`
        : `No row contains "${view.filter}": press esc to show all`
      : `No sessions: press ${context.keys.label('new_session')} to open one`;
  return (
    <Box height={height} flexDirection="column" paddingLeft={2} paddingTop={1}>
      {isLive && (
        <StyledText tone="faint" wrap="wrap">
          {text}
        </StyledText>
      )}
    </Box>
  );
}

/** Every action of the screen, and every session, team and process to go to. */
function paletteEntries(shown: ScreenState): PaletteEntry[] {
  const table = actionKeys(shown);
  const { context, view, back, setMode } = shown;
  const run = (work: () => void) => () => {
    back();
    work();
  };
  const goTo = ({ id }: ListItem) => {
    context.listState.select(id);
    setMode({ name: 'pane' });
  };
  return [
    ...explainedKeys.flatMap(({ actions, meaning }) =>
      actions
        .filter((name) => name !== 'palette')
        .map((name: ActionName) => ({
          id: name,
          label: context.keys.label(name),
          name: wordsOf(name),
          detail: meaning,
          run: run(table[name]),
        })),
    ),
    ...view.items
      .filter(({ kind }) => kind !== 'approval')
      .map((item) => ({
        id: item.id,
        label: item.kind,
        name: nameOf(item),
        detail: [item.node?.name, item.id.slice(-8)].filter(Boolean).join('  '),
        run: run(() => goTo(item)),
      })),
  ];
}

/** The keys of the screen and of the open pane, and the symbols. */
export function keysFor(pane: Pane | null, own = new KeyBindings()): Keys {
  return [
    ...own.help(),
    ['', ''],
    ['In the pane', ''],
    ...paneKeys[pane?.kind ?? 'conversation'],
    ['', ''],
    ['Symbols', ''],
    ...legend,
  ];
}

const statusNames: Record<ItemStatus, string> = {
  waiting: 'Needs approval',
  failed: 'Failed',
  unseen: 'New output, not seen yet',
  running: 'Running',
  idle: 'Idle',
  snoozed: 'Snoozed',
  done: 'Done',
};

const legend: Keys = [
  ...itemStatuses.map((itemStatus) => [symbols[itemStatus][0], statusNames[itemStatus]] as const),
  ['★ m', 'Pinned; muted'],
  ['*', 'Marked row'],
  ['▌', 'Selected row, line or field'],
  ['▾ ▸', 'Expanded section; collapsed section'],
  ['NAME?', 'Server that does not respond'],
  ['>', 'Prompt; in the list of prompts: the selected one'],
  ['… ✓ ✗', 'Tool call: running; completed; failed or interrupted'],
  ['?', 'Approval request in a conversation'],
  ['!', 'Notice; in a diff: stale comment'],
  ['[ ] [>] [x]', 'Step of a plan: pending; in progress; completed'],
  ['│', 'Tool output or quote; in a diff: selected lines'],
  ['┃', 'Comment in a diff'],
  ['● ○', 'Answer to a question: selected; not selected'],
  ['→', 'Sender and recipient; old and new name of a file'],
  ['↻', 'Prompt that repeats on a schedule'],
  ['12+', 'Sum without the turns that reported no numbers'],
  ['…', 'Text that is cut to fit'],
  ['⏎ ^S', 'Enter; Ctrl and S'],
];

const readerKeys: Keys = [
  ['↑ ↓ k j', 'Scroll by a line'],
  ['pgup pgdn', 'Scroll by a page; at the top, load older text'],
  ['g G', 'Go to the top; go to the end, and follow new text'],
  ['/ n N', 'Search; previous match, next match; esc ends the search'],
];

const paneKeys: Record<Pane['kind'], Keys> = {
  conversation: [
    ...readerKeys,
    ['t', 'Expand or collapse tool calls and reasoning'],
    ['[ ]', 'Previous prompt, next prompt'],
    ['o', 'List the prompts; ⏎ goes to the selected one'],
  ],
  log: [...readerKeys, ['o', 'Show stdout and stderr, stdout only, stderr only']],
  team: readerKeys,
};
