import type { ActionName } from '../../../core/lib/screen-actions.ts';
import { nameOf, sessionTitleOf } from '../list/row-text.ts';
import { sessionIdOf, type ListItem } from '../list/list-items.ts';
import { moveKeys, type KeyTable } from '../keyboard.ts';
import { lenses } from '../list/sections.ts';
import { list } from './mode.ts';
import { type Batch, declining, pinning, stoppingAll } from './batch.ts';
import { canSave } from './save.tsx';
import type { ScreenState } from './screen-state.ts';
import { stopping } from './stop.ts';
import { visit } from './visit.ts';

/** The keys of the list. */
export function listKeys(shown: ScreenState): KeyTable {
  const { place, view, height, setPeeks } = shown;
  const { listState } = place;
  const step = (by: number) => () => listState.step(by);
  return {
    ...place.keys.table(actionKeys(shown)),
    ...moveKeys({
      height,
      by: step,
      toStart: step(-view.choices.length),
      toEnd: step(view.choices.length),
    }),
    escape: () => {
      if (shown.marks.things.length > 0) return shown.marks.set([]);
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
    ...shown.place.keys.table({ ...actions, quit: back }),
    escape: shown.hold === 'escape' ? undefined : back,
  };
}

/** Every action of the screen. */
export function actionKeys(shown: ScreenState): Record<ActionName, () => void> {
  const { place, view, setMode, setPeeks, onLeave } = shown;
  const { listState } = place;
  const lens = (index: number) => () => listState.changeView({ lens: lenses[index] ?? 'all' });
  return {
    ...listItemKeys(shown),
    show_needs_you: lens(0),
    show_running: lens(1),
    show_idle: lens(2),
    show_ended: lens(3),
    show_all: lens(4),
    sort: () => listState.changeView({ order: view.order === 'stable' ? 'attention' : 'stable' }),
    filter: () => setMode({ name: 'filter' }),
    collapse: () => fold(shown, true),
    expand: () => fold(shown, false),
    open: () => enter(shown),
    mark: () => mark(shown),
    pane: () => setPeeks((peeks) => !peeks),
    quit: onLeave,
    ...(shown.marks.things.length > 0 ? markedKeys(shown) : {}),
  };
}

/** The actions that the list and the pane have in common. */
function listItemKeys(shown: ScreenState) {
  const { setMode, onEvents } = shown;
  const withListItem = (act: (thing: ListItem) => void) => () => {
    if (shown.thing) act(shown.thing);
    else shown.tell(noRow(shown));
  };
  return {
    next: () => {
      if (!shown.place.listState.nextThatNeedsMe()) shown.tell('nothing needs you');
    },
    prompt: withListItem((thing) => say(shown, thing)),
    new_session: () => setMode({ name: 'new' }),
    stop: withListItem((thing) => stop(shown, thing)),
    restart: withListItem((thing) => restart(shown, thing)),
    approve: withListItem((thing) => answer(shown, thing, 'accept')),
    decline: withListItem((thing) => answer(shown, thing, 'decline')),
    pin: withListItem((thing) => pin(shown, thing)),
    snooze: withListItem((thing) => snooze(shown, thing)),
    mute: withListItem((thing) => mute(shown, thing)),
    rename: withListItem((thing) => rename(shown, thing)),
    mode: withListItem((thing) => changeSettings(shown, thing)),
    queue: withListItem((thing) => queue(shown, thing)),
    shell: withListItem((thing) => visit(shown, thing, 'shell')),
    editor: withListItem((thing) => visit(shown, thing, 'editor')),
    diff: withListItem((thing) => diff(shown, thing)),
    merge: withListItem((thing) => finish(shown, thing)),
    copy: withListItem(() => setMode({ name: 'copy' })),
    save: withListItem((thing) => save(shown, thing)),
    events: withListItem((thing) => onEvents(scopeOf(thing), thing.id)),
    all_events: () => onEvents({}, shown.thing?.id),
    search: () => setMode({ name: 'search' }),
    server: () => setMode({ name: 'server' }),
    usage: () => setMode({ name: 'usage' }),
    help: () => setMode({ name: 'help' }),
    palette: () => setMode({ name: 'palette' }),
  } satisfies Partial<Record<ActionName, () => void>>;
}

/** The keys that act on all marked rows in place of the selected one. */
function markedKeys({ marks, place, setMode }: ScreenState) {
  const { overviewStore, acts } = place;
  const overview = overviewStore.overview.get();
  const ask = (of: () => Batch) => () => setMode({ name: 'batch', batch: of() });
  return {
    decline: ask(() => declining(marks.things, overview, acts)),
    stop: ask(() => stoppingAll(marks.things, overview, acts)),
    pin: ask(() => pinning(marks.things, acts)),
  };
}

/** Why there is no row to act on. */
function noRow({ view }: ScreenState): string {
  const { chosen } = view;
  return chosen && 'section' in chosen
    ? `the section "${chosen.section}" is collapsed: press → to expand it`
    : 'no row is selected: press n to open a session';
}

/** Marks the selected row, or unmarks it, and goes to the next one. */
function mark(shown: ScreenState): void {
  const { thing, marks, place, tell } = shown;
  if (!thing) return tell(noRow(shown));
  marks.toggle(thing.id);
  place.listState.step(1);
}

function enter({ view, place, setMode }: ScreenState): void {
  const { chosen } = view;
  if (!chosen) return;
  if ('section' in chosen) place.listState.fold(chosen.section, false);
  else setMode({ name: 'pane' });
}

function fold({ view, place }: ScreenState, isFolded: boolean): void {
  const { chosen, sections } = view;
  if (!chosen) return;
  const name =
    'section' in chosen
      ? chosen.section
      : sections.find(({ things }) => things.some(({ id }) => id === chosen.id))?.name;
  if (name !== undefined) place.listState.fold(name, isFolded);
}

function scopeOf(thing: ListItem) {
  if (thing.kind === 'process') return { processId: thing.id };
  if (thing.kind === 'team') return { teamId: thing.id };
  return { sessionId: sessionIdOf(thing) ?? thing.id };
}

/** The session of a thing, if it is in the list. */
function sessionOf({ place }: ScreenState, thing: ListItem) {
  const { sessions } = place.overviewStore.overview.get();
  return sessions.get(sessionIdOf(thing) ?? '')?.session ?? null;
}

function say(shown: ScreenState, thing: ListItem): void {
  const session = sessionOf(shown, thing);
  if (!session) return shown.tell(`"${nameOf(thing)}" is not a session: cannot send a prompt`);
  if (session.status === 'closed')
    return shown.tell(
      `session "${sessionTitleOf(session)}" is closed: press ${shown.place.keys.label('new_session')} to open a new one`,
    );
  shown.setMode({ name: 'say', session });
}

function stop({ place, setMode, tell }: ScreenState, thing: ListItem): void {
  const question = stopping(thing, place.overviewStore.overview.get(), place.acts);
  if (typeof question === 'string') tell(question);
  else setMode({ name: 'confirm', question });
}

function restart(shown: ScreenState, thing: ListItem): void {
  const { place, setMode, tell, attempt } = shown;
  const { acts } = place;
  if (thing.kind === 'session' && thing.now.session.status === 'failed')
    return attempt(acts.resume(thing.now.session));
  if (thing.kind !== 'process') return tell('select a process or a failed session');
  const work = async () => {
    const { process_id } = await acts.restart(thing.process);
    place.listState.selectOnceThere(process_id);
    tell(`Restarted "${nameOf(thing)}"`);
  };
  if (thing.process.ended_at !== null) return attempt(work());
  const answers = [{ keys: 'yr', label: 'y yes', work }];
  setMode({ name: 'confirm', question: { text: `Restart "${nameOf(thing)}"?`, answers } });
}

function answer(shown: ScreenState, thing: ListItem, intent: 'accept' | 'decline'): void {
  const { approvals } = shown.place.overviewStore.overview.get();
  const session = sessionIdOf(thing);
  const approval =
    thing.kind === 'approval'
      ? thing.approval
      : [...approvals.values()].find(({ session_id }) => session_id === session);
  if (approval) shown.setMode({ name: 'sheet', asked: { approval, intent } });
  else
    shown.tell(
      `no pending approval here: press ${shown.place.keys.label('next')} for the next one`,
    );
}

function pin(shown: ScreenState, thing: ListItem): void {
  const session = sessionOf(shown, thing);
  if (!session) return shown.tell('only sessions can be pinned');
  shown.attempt(shown.place.acts.update(session.id, { pinned: !session.pinned }));
}

function mute(shown: ScreenState, thing: ListItem): void {
  const session = sessionOf(shown, thing);
  if (!session) return shown.tell('only sessions can be muted');
  shown.attempt(shown.place.acts.update(session.id, { muted: !session.muted }));
}

function rename(shown: ScreenState, thing: ListItem): void {
  const session = sessionOf(shown, thing);
  if (!session) return shown.tell('only sessions can be renamed');
  shown.setMode({ name: 'rename', session });
}

function changeSettings(shown: ScreenState, thing: ListItem): void {
  const session = sessionOf(shown, thing);
  if (!session) return shown.tell('only sessions have a model and a mode');
  if (session.status === 'closed')
    return shown.tell(`session "${sessionTitleOf(session)}" is closed`);
  shown.setMode({ name: 'settings', session });
}

function queue(shown: ScreenState, thing: ListItem): void {
  const session = sessionOf(shown, thing);
  if (!session) return shown.tell('only sessions have a queue');
  shown.setMode({ name: 'queue', session });
}

function diff(shown: ScreenState, thing: ListItem): void {
  const session = sessionOf(shown, thing);
  if (!session) return shown.tell('only sessions have a diff');
  shown.setMode({ name: 'diff', session });
}

function save({ setMode, tell }: ScreenState, thing: ListItem): void {
  if (canSave(thing)) setMode({ name: 'save', thing });
  else tell('only conversations and logs can be saved');
}

function finish(shown: ScreenState, thing: ListItem): void {
  const session = sessionOf(shown, thing);
  if (!session || session.worktree_id === null)
    return shown.tell('only sessions with a worktree can be merged');
  shown.setMode({ name: 'finish', session });
}

function snooze(shown: ScreenState, thing: ListItem): void {
  const session = sessionOf(shown, thing);
  if (!session) return shown.tell('only sessions can be snoozed');
  const { acts, clock } = shown.place;
  const { snoozed_until: until } = session;
  // One that sleeps is woken by the same key.
  if (until !== null && until > clock.now())
    return shown.attempt(acts.update(session.id, { snoozed_until: null }));
  shown.setMode({ name: 'snooze', session });
}
