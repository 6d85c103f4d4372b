import { nameOf, sessionTitleOf } from '../list/row-text.ts';
import { sessionIdOf, type ListItem } from '../list/list-items.ts';
import { moveKeys, type KeyTable } from '../keyboard.ts';
import { lenses, orders } from '../list/sections.ts';
import type { ActionKey } from './actions.ts';
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
    ...actionKeys(shown),
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

/** Every action of the screen, by its key. */
export function actionKeys(shown: ScreenState): Record<ActionKey, () => void> {
  const { place, view, setMode, setPeeks, onLeave } = shown;
  const { listState } = place;
  const lens = (index: number) => () => listState.changeView({ lens: lenses[index] ?? 'all' });
  return {
    ...listItemKeys(shown),
    1: lens(0),
    2: lens(1),
    3: lens(2),
    4: lens(3),
    5: lens(4),
    s: () => listState.changeView({ order: orders[orders.indexOf(view.order) + 1] ?? 'stable' }),
    '/': () => setMode({ name: 'filter' }),
    leftArrow: () => fold(shown, true),
    rightArrow: () => fold(shown, false),
    return: () => enter(shown),
    ' ': () => mark(shown),
    '+': () => setPeeks((peeks) => !peeks),
    q: onLeave,
    ...(shown.marks.things.length > 0 ? markedKeys(shown) : {}),
  };
}

/** The keys that the list and the pane have in common: what is done with the thing that is selected. */
export function listItemKeys(shown: ScreenState) {
  const { setMode, onEvents } = shown;
  const withListItem = (act: (thing: ListItem) => void) => () => {
    if (shown.thing) act(shown.thing);
    else shown.tell(noRow(shown));
  };
  return {
    tab: () => {
      if (!shown.place.listState.nextThatNeedsMe()) shown.tell('nothing needs you');
    },
    i: withListItem((thing) => say(shown, thing)),
    n: () => setMode({ name: 'new' }),
    x: withListItem((thing) => stop(shown, thing)),
    r: withListItem((thing) => restart(shown, thing)),
    a: withListItem((thing) => answer(shown, thing, 'accept')),
    d: withListItem((thing) => answer(shown, thing, 'decline')),
    p: withListItem((thing) => pin(shown, thing)),
    z: withListItem((thing) => snooze(shown, thing)),
    m: withListItem((thing) => mute(shown, thing)),
    R: withListItem((thing) => rename(shown, thing)),
    c: withListItem((thing) => changeSettings(shown, thing)),
    w: withListItem((thing) => queue(shown, thing)),
    '!': withListItem((thing) => visit(shown, thing, 'shell')),
    O: withListItem((thing) => visit(shown, thing, 'editor')),
    D: withListItem((thing) => diff(shown, thing)),
    M: withListItem((thing) => finish(shown, thing)),
    y: withListItem(() => setMode({ name: 'copy' })),
    S: withListItem((thing) => save(shown, thing)),
    e: withListItem((thing) => onEvents(scopeOf(thing), thing.id)),
    E: () => onEvents({}, shown.thing?.id),
    f: () => setMode({ name: 'search' }),
    v: () => setMode({ name: 'server' }),
    u: () => setMode({ name: 'usage' }),
    '?': () => setMode({ name: 'help' }),
    ':': () => setMode({ name: 'palette' }),
  } satisfies Partial<Record<ActionKey, () => void>>;
}

/** The keys that act on all marked rows in place of the selected one. */
function markedKeys({ marks, place, setMode }: ScreenState) {
  const { overviewStore, acts } = place;
  const overview = overviewStore.overview.get();
  const ask = (of: () => Batch) => () => setMode({ name: 'batch', batch: of() });
  return {
    d: ask(() => declining(marks.things, overview, acts)),
    x: ask(() => stoppingAll(marks.things, overview, acts)),
    p: ask(() => pinning(marks.things, acts)),
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
      `session "${sessionTitleOf(session)}" is closed: press ${shown.place.keys.label('n')} to open a new one`,
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
    shown.tell(`no pending approval here: press ${shown.place.keys.label('tab')} for the next one`);
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
