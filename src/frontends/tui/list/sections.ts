import { sinceOf, type Standing, standingOf, standings, type ListItem } from './list-items.ts';
import { containsText } from './row-text.ts';

/** The sections of the list, from top to bottom. */
export const sectionNames = [
  'needs approval',
  'sessions',
  'snoozed',
  'processes',
  'teams',
  'done',
] as const;
export type SectionName = (typeof sectionNames)[number];

export interface Section {
  name: SectionName;
  things: readonly ListItem[];
  isFolded: boolean;
}

/** What the list is narrowed to, each with the key of its number. */
export const lenses = ['needs you', 'running', 'idle', 'done', 'all'] as const;
export type Lens = (typeof lenses)[number];

export type Order = 'stable' | 'attention';

/** What a person has chosen to see, and how. */
export interface ListSettings {
  lens: Lens;
  order: Order;
  /** Only things that contain this text; empty: all. */
  filter: string;
  /** The sections that are folded. */
  folded: ReadonlySet<SectionName>;
}

/** What has ended is old after this time, and belongs to the section of what is done. */
const OLD_MS = 60 * 60 * 1000;

/** The sections that are not empty, as they are at a time. A filter and the lens of what is done unfold them. */
export function sectionsOf(all: readonly ListItem[], wish: ListSettings, now: number): Section[] {
  const shown = all
    .filter((thing) => isInLens(thing, wish.lens, now))
    .filter((thing) => containsText(thing, wish.filter));
  const isUnfolded = wish.filter !== '';
  return sectionNames.flatMap((name) => {
    const things = ordered(
      shown.filter((thing) => sectionFor(thing, now) === name),
      wish.order,
      now,
    );
    const isFolded =
      !isUnfolded && wish.folded.has(name) && !(wish.lens === 'done' && name === 'done');
    return things.length === 0 ? [] : [{ name, things, isFolded }];
  });
}

/** How many things each lens shows. */
export function countsOf(all: readonly ListItem[], now: number): Record<Lens, number> {
  const count = (lens: Lens) => all.filter((thing) => isInLens(thing, lens, now)).length;
  return {
    'needs you': all.filter((thing) => needsMe(thing, all, now)).length,
    running: count('running'),
    idle: count('idle'),
    done: count('done'),
    all: all.length,
  };
}

/** Whether a person is needed; of a session that waits, by its approval. */
export function needsMe(thing: ListItem, all: readonly ListItem[], now: number): boolean {
  if (thing.kind === 'approval') return true;
  if (thing.kind !== 'session') return false;
  const standing = standingOf(thing, now);
  if (standing === 'failed' || standing === 'unseen') return true;
  return (
    standing === 'waiting' &&
    !all.some((one) => one.kind === 'approval' && one.approval.session_id === thing.id)
  );
}

const inLens: Record<Exclude<Lens, 'all'>, readonly Standing[]> = {
  'needs you': ['waiting', 'failed', 'unseen'],
  running: ['running', 'waiting'],
  idle: ['idle', 'unseen', 'snoozed'],
  done: ['done'],
};

function isInLens(thing: ListItem, lens: Lens, now: number): boolean {
  if (lens === 'all') return true;
  const standing = standingOf(thing, now);
  if (thing.kind === 'process' && standing === 'failed') return lens === 'done';
  if (thing.kind === 'approval') return lens === 'needs you';
  return thing.kind === 'team' ? false : inLens[lens].includes(standing);
}

function sectionFor(thing: ListItem, now: number): SectionName {
  if (thing.kind === 'approval') return 'needs approval';
  if (thing.kind === 'team') return 'teams';
  const standing = standingOf(thing, now);
  if (thing.kind === 'process') {
    const isOld = standing !== 'running' && now - sinceOf(thing) > OLD_MS;
    return isOld ? 'done' : 'processes';
  }
  return standing === 'done' ? 'done' : standing === 'snoozed' ? 'snoozed' : 'sessions';
}

/** Pinned ones first. */
function ordered(things: readonly ListItem[], order: Order, now: number): readonly ListItem[] {
  const isPinned = (thing: ListItem) => thing.kind === 'session' && thing.now.session.pinned;
  return things.toSorted(
    (a, b) =>
      Number(isPinned(b)) - Number(isPinned(a)) || (order === 'attention' ? byNeed(a, b, now) : 0),
  );
}

/** What waits for a person before the rest, and the longest wait first; of the rest, what was active last. */
function byNeed(a: ListItem, b: ListItem, now: number): number {
  const [one = 0, other = 0] = [a, b].map((thing) => standings.indexOf(standingOf(thing, now)));
  const isWaiting = one < standings.indexOf('running');
  return one - other || (sinceOf(a) - sinceOf(b)) * (isWaiting ? 1 : -1);
}
