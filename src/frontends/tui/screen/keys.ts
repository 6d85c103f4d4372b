import { endpoints } from '../../../api/index.ts';
import type { Session } from '../../../api/sessions.ts';
import type { ActionName } from '../../../core/lib/screen-actions.ts';
import { type KeyTable, moveKeys } from '../keyboard.ts';
import { type ListItem, sessionIdOf } from '../list/list-items.ts';
import { nameOf, sessionTitleOf } from '../list/row-text.ts';
import { listTabs, orders } from '../list/sections.ts';
import { type Batch, declining, pinning, stoppingAll } from './batch.ts';
import { clientOf, type DirectoryProgram } from './screen-context.ts';
import { list, type ScreenState } from './screen-state.ts';
import { stopping } from './stop.ts';

export function listKeys(shown: ScreenState): KeyTable {
  const { context, view, height, setPeeks } = shown;
  const { listState } = context;
  const step = (by: number) => () => listState.step(by);
  return {
    ...context.keys.table(actionKeys(shown)),
    ...moveKeys({
      height,
      by: step,
      toStart: step(-view.choices.length),
      toEnd: step(view.choices.length),
    }),
    escape: () => {
      if (shown.marks.items.length > 0) return shown.marks.set([]);
      setPeeks(() => false);
      listState.changeView({ filter: '' });
    },
  };
}

/** The keys of the screen while the pane has the focus. */
export function paneKeys(shown: ScreenState): KeyTable {
  const back = () => shown.setMode(list);
  const { new_session: _ofList, ...actions } = listItemKeys(shown);
  return {
    ...shown.context.keys.table({ ...actions, quit: back }),
    escape: shown.hold === 'escape' ? undefined : back,
  };
}

export function actionKeys(shown: ScreenState): Record<ActionName, () => void> {
  const { context, view, setMode, setPeeks, onLeave } = shown;
  const { listState } = context;
  const tab = (index: number) => () => listState.changeView({ tab: listTabs[index] ?? 'all' });
  return {
    ...listItemKeys(shown),
    show_needs_you: tab(0),
    show_running: tab(1),
    show_idle: tab(2),
    show_ended: tab(3),
    show_all: tab(4),
    sort: () => listState.changeView({ order: orders[orders.indexOf(view.order) + 1] ?? 'stable' }),
    filter: () => setMode({ name: 'filter' }),
    collapse: () => fold(shown, true),
    expand: () => fold(shown, false),
    open: () => enter(shown),
    mark: () => mark(shown),
    pane: () => setPeeks((peeks) => !peeks),
    quit: onLeave,
    ...(shown.marks.items.length > 0 ? markedKeys(shown) : {}),
  };
}

/** The actions that the list and the pane have in common. */
function listItemKeys(shown: ScreenState) {
  const { setMode, onEvents, showNotice, attempt, context } = shown;
  const withListItem = (act: (item: ListItem) => void) => () => {
    if (shown.item) act(shown.item);
    else showNotice(noRow(shown));
  };
  const withSession = (only: string, act: (session: Session) => void) =>
    withListItem((item) => {
      const session = sessionOf(shown, item);
      if (session) act(session);
      else showNotice(`only sessions ${only}`);
    });
  const update = (session: Session, change: Parameters<typeof context.actions.update>[1]) =>
    attempt(context.actions.update(session.id, change));
  return {
    next: () => {
      if (!context.listState.nextThatNeedsMe()) showNotice('nothing needs you');
    },
    prompt: withListItem((item) => say(shown, item)),
    new_session: () => setMode({ name: 'new' }),
    stop: withListItem((item) => stop(shown, item)),
    restart: withListItem((item) => restart(shown, item)),
    approve: withListItem((item) => answer(shown, item, 'accept')),
    decline: withListItem((item) => answer(shown, item, 'decline')),
    pin: withSession('can be pinned', (session) => update(session, { pinned: !session.pinned })),
    snooze: withSession('can be snoozed', (session) => snooze(shown, session)),
    mute: withSession('can be muted', (session) => update(session, { muted: !session.muted })),
    rename: withSession('can be renamed', (session) => setMode({ name: 'rename', session })),
    mode: withSession('have a model and a mode', (session) => {
      if (session.status !== 'closed') setMode({ name: 'settings', session });
      else showNotice(`session "${sessionTitleOf(session)}" is closed`);
    }),
    fork: withSession('can be forked', (session) => setMode({ name: 'fork', session })),
    queue: withSession('have a queue', (session) => setMode({ name: 'queue', session })),
    shell: withListItem((item) => runProgram(shown, item, 'shell')),
    editor: withListItem((item) => runProgram(shown, item, 'editor')),
    diff: withSession('have a diff', (session) => setMode({ name: 'diff', session })),
    merge: withSession('with a worktree can be merged', (session) => {
      if (session.worktree_id !== null) setMode({ name: 'merge', session });
      else showNotice('only sessions with a worktree can be merged');
    }),
    copy: withListItem(() => setMode({ name: 'copy' })),
    save: withListItem((item) => {
      if (item.kind === 'team') showNotice('only conversations and logs can be saved');
      else setMode({ name: 'save', item });
    }),
    events: withListItem((item) => onEvents(scopeOf(item), item.id)),
    all_events: () => onEvents({}, shown.item?.id),
    search: () => setMode({ name: 'search' }),
    server: () => setMode({ name: 'server' }),
    usage: () => setMode({ name: 'usage' }),
    help: () => setMode({ name: 'help' }),
    palette: () => setMode({ name: 'palette' }),
  } satisfies Partial<Record<ActionName, () => void>>;
}

/** The keys that act on all marked rows in place of the selected one. */
function markedKeys({ marks, context, setMode }: ScreenState) {
  const { overviewStore, actions, client } = context;
  const overview = overviewStore.overview.get();
  const ask = (of: () => Batch) => () => setMode({ name: 'batch', batch: of() });
  return {
    decline: ask(() => declining(marks.items, overview, actions)),
    stop: ask(() => stoppingAll(marks.items, overview, client)),
    pin: ask(() => pinning(marks.items, actions)),
  };
}

/** Why there is no row to act on. */
function noRow({ view, context: { keys } }: ScreenState): string {
  const { chosen } = view;
  return chosen && 'section' in chosen
    ? `the section "${chosen.section}" is collapsed: press ${keys.label('expand')} to expand it`
    : `no row is selected: press ${keys.label('new_session')} to open a session`;
}

/** Marks the selected row, or unmarks it, and goes to the next one. */
function mark(shown: ScreenState): void {
  const { item, marks, context, showNotice } = shown;
  if (!item) return showNotice(noRow(shown));
  marks.toggle(item.id);
  context.listState.step(1);
}

function enter({ view, context, setMode }: ScreenState): void {
  const { chosen } = view;
  if (!chosen) return;
  if ('section' in chosen) context.listState.fold(chosen.section, false);
  else setMode({ name: 'pane' });
}

function fold({ view, context }: ScreenState, isFolded: boolean): void {
  const { chosen, sections } = view;
  if (!chosen) return;
  const name =
    'section' in chosen
      ? chosen.section
      : sections.find(({ items }) => items.some(({ id }) => id === chosen.id))?.name;
  if (name !== undefined) context.listState.fold(name, isFolded);
}

function scopeOf(item: ListItem) {
  if (item.kind === 'process') return { processId: item.id };
  if (item.kind === 'team') return { teamId: item.id };
  return { sessionId: sessionIdOf(item) ?? item.id };
}

function sessionOf({ context }: ScreenState, item: ListItem) {
  const { sessions } = context.overviewStore.overview.get();
  return sessions.get(sessionIdOf(item) ?? '')?.session ?? null;
}

function say(shown: ScreenState, item: ListItem): void {
  const session = sessionOf(shown, item);
  if (!session) return shown.showNotice(`"${nameOf(item)}" is not a session: cannot send a prompt`);
  if (session.status === 'closed')
    return shown.showNotice(
      `session "${sessionTitleOf(session)}" is closed: press ${shown.context.keys.label('new_session')} to open a new one`,
    );
  shown.setMode({ name: 'say', session });
}

function stop({ context, setMode, showNotice }: ScreenState, item: ListItem): void {
  const question = stopping(item, context.overviewStore.overview.get(), context.client);
  if (typeof question === 'string') showNotice(question);
  else setMode({ name: 'confirm', question });
}

function restart(shown: ScreenState, item: ListItem): void {
  const { context, setMode, showNotice, attempt } = shown;
  const { client } = context;
  if (item.kind === 'session' && item.now.session.status === 'failed') {
    const call = { params: { session_id: item.id }, body: {} };
    return attempt(client.call(endpoints.resumeSession, call));
  }
  if (item.kind !== 'process') return showNotice('select a process or a failed session');
  const work = async () => {
    const call = { params: { process_id: item.id }, body: {} };
    const { process } = await client.call(endpoints.restartProcess, call);
    context.listState.selectOnceThere(process.process_id);
    showNotice(`Restarted "${nameOf(item)}"`);
  };
  if (item.process.ended_at !== null) return attempt(work());
  const answers = [{ keys: 'yr', label: 'y yes', work }];
  setMode({ name: 'confirm', question: { text: `Restart "${nameOf(item)}"?`, answers } });
}

function answer(shown: ScreenState, item: ListItem, intent: 'accept' | 'decline'): void {
  const { approvals } = shown.context.overviewStore.overview.get();
  const session = sessionIdOf(item);
  const approval =
    item.kind === 'approval'
      ? item.approval
      : [...approvals.values()].find(({ session_id }) => session_id === session);
  if (approval) shown.setMode({ name: 'approval', asked: { approval, intent } });
  else
    shown.showNotice(
      `no pending approval here: press ${shown.context.keys.label('next')} for the next one`,
    );
}

function snooze({ context, attempt, setMode }: ScreenState, session: Session): void {
  const { actions, clock } = context;
  const { snoozed_until: until } = session;
  // The same key wakes a session that sleeps.
  if (until !== null && until > clock.now())
    return attempt(actions.update(session.id, { snoozed_until: null }));
  setMode({ name: 'snooze', session });
}

/** Opens the shell or the editor of the user in the directory of a session or process. */
function runProgram(shown: ScreenState, item: ListItem, program: DirectoryProgram): void {
  const { context, attempt, showNotice } = shown;
  const directory = directoryOf(item);
  if (directory === null) return showNotice(`"${nameOf(item)}" has no directory`);
  if (!context.runProgram) return showNotice(`no ${program} is available here`);
  attempt(context.runProgram(program, { directory, url: clientOf(context, { id: item.id }).url }));
}

function directoryOf(item: ListItem): string | null {
  switch (item.kind) {
    case 'approval':
      return item.session?.cwd ?? null;
    case 'session':
      return item.now.session.cwd;
    case 'process':
      return item.process.cwd;
    case 'team':
      return null;
  }
}
