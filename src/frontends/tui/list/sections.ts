import {
  type ListItem,
  type ItemStatus,
  sinceOf,
  itemStatusOf,
  itemStatuses,
} from './list-items.ts';
import { containsText, rowTextOf } from './row-text.ts';

/** The sections of the list, from top to bottom. */
export const sectionNames = [
  'needs approval',
  'sessions',
  'snoozed',
  'processes',
  'teams',
  'ended',
] as const;
export type SectionName = (typeof sectionNames)[number];

export interface Section {
  name: SectionName;
  items: readonly ListItem[];
  isFolded: boolean;
  /** How many of the items run or need a person. */
  busy: number;
}

/** The filters of the list, in the order of their number keys. */
export const listTabs = ['needs you', 'running', 'idle', 'ended', 'all'] as const;
export type ListTab = (typeof listTabs)[number];

/** The orders of the list, in the order in which a key goes through them. */
export const orders = ['stable', 'attention', 'activity', 'title'] as const;
export type Order = (typeof orders)[number];

/** The filter, order and collapsed sections that the user has chosen. */
export interface ListSettings {
  tab: ListTab;
  order: Order;
  /** Only items that contain this text; empty: all. */
  filter: string;
  folded: ReadonlySet<SectionName>;
  /** The ids that the tab has shown since it was opened. They stay, so that no row goes before somebody has seen it. */
  kept: ReadonlySet<string>;
}

/** A process that ended belongs to the section of what has ended after this time. */
const OLD_MS = 60_000;

/** The sections that are not empty, as they are at a time. A filter and the tab of what has ended unfold them. */
export function sectionsOf(
  all: readonly ListItem[],
  settings: ListSettings,
  now: number,
): Section[] {
  const tabOf = tabLookup(all, now);
  const shown = all
    .filter((item) => settings.kept.has(item.id) || isInTab(tabOf(item), settings.tab))
    .filter((item) => containsText(item, settings.filter));
  const isUnfolded = settings.filter !== '';
  return sectionNames.flatMap((name) => {
    const items = ordered(
      shown.filter((item) => sectionFor(item, now) === name),
      settings.order,
      now,
    );
    const isFolded =
      !isUnfolded && settings.folded.has(name) && !(settings.tab === 'ended' && name === 'ended');
    const busy = items.filter((item) => busyStatuses.has(itemStatusOf(item, now))).length;
    return items.length === 0 ? [] : [{ name, items, isFolded, busy }];
  });
}

const busyStatuses: ReadonlySet<ItemStatus> = new Set(['waiting', 'failed', 'unseen', 'running']);

export function idsInTab(all: readonly ListItem[], tab: ListTab, now: number): string[] {
  const tabOf = tabLookup(all, now);
  return all.flatMap((item) => (isInTab(tabOf(item), tab) ? [item.id] : []));
}

/** The number of items in each tab. In `all`, an approval and its session are one item. */
export function countsOf(all: readonly ListItem[], now: number): Record<ListTab, number> {
  const tabOf = tabLookup(all, now);
  const counts = { 'needs you': 0, running: 0, idle: 0, ended: 0, all: 0 };
  const sessions = new Set(all.flatMap(({ kind, id }) => (kind === 'session' ? [id] : [])));
  for (const item of all) {
    const tab = tabOf(item);
    if (tab !== null) counts[tab]++;
    if (item.kind !== 'approval' || !sessions.has(item.approval.session_id)) counts.all++;
  }
  return counts;
}

/** Whether an item needs the user. A waiting session needs the user only through its approval. */
export function needsMe(item: ListItem, all: readonly ListItem[], now: number): boolean {
  if (item.kind === 'approval') return true;
  if (item.kind !== 'session') return false;
  const itemStatus = itemStatusOf(item, now);
  if (itemStatus === 'failed' || itemStatus === 'unseen') return true;
  return (
    itemStatus === 'waiting' &&
    !all.some((one) => one.kind === 'approval' && one.approval.session_id === item.id)
  );
}

/** The tab of each item status: each item is in one tab, so that their numbers add up. */
const tabOfStatus: Record<ItemStatus, Exclude<ListTab, 'all'>> = {
  waiting: 'needs you',
  failed: 'needs you',
  unseen: 'needs you',
  running: 'running',
  idle: 'idle',
  snoozed: 'idle',
  done: 'ended',
};

/**
 * Returns the function that gives the tab of an item beside `all`. It gives null for a team, and for a session that waits
 * for an approval in the list, which is shown in its place.
 */
function tabLookup(
  all: readonly ListItem[],
  now: number,
): (item: ListItem) => Exclude<ListTab, 'all'> | null {
  const asking = new Set(
    all.flatMap((one) => (one.kind === 'approval' ? [one.approval.session_id] : [])),
  );
  return (item) => {
    if (item.kind === 'team') return null;
    const itemStatus = itemStatusOf(item, now);
    if (item.kind === 'process' && itemStatus === 'failed') return 'ended';
    if (item.kind === 'session' && itemStatus === 'waiting' && asking.has(item.id)) return null;
    return tabOfStatus[itemStatus];
  };
}

function isInTab(own: Exclude<ListTab, 'all'> | null, tab: ListTab): boolean {
  return tab === 'all' || own === tab;
}

function sectionFor(item: ListItem, now: number): SectionName {
  if (item.kind === 'approval') return 'needs approval';
  if (item.kind === 'team') return 'teams';
  const itemStatus = itemStatusOf(item, now);
  if (item.kind === 'process') {
    const isOld = itemStatus !== 'running' && now - sinceOf(item) > OLD_MS;
    return isOld ? 'ended' : 'processes';
  }
  return itemStatus === 'done' ? 'ended' : itemStatus === 'snoozed' ? 'snoozed' : 'sessions';
}

/** Pinned sessions first, and processes that run before those that ended. */
function ordered(items: readonly ListItem[], order: Order, now: number): readonly ListItem[] {
  const rankOf = (item: ListItem) => {
    if (item.kind === 'session') return item.now.session.pinned ? 0 : 1;
    return item.kind === 'process' && itemStatusOf(item, now) !== 'running' ? 1 : 0;
  };
  const compare = comparisonFor(items, order, now);
  return items.toSorted((a, b) => rankOf(a) - rankOf(b) || compare(a, b));
}

function comparisonFor(items: readonly ListItem[], order: Order, now: number) {
  if (order === 'attention') return (a: ListItem, b: ListItem) => byNeed(a, b, now);
  if (order === 'activity') return (a: ListItem, b: ListItem) => sinceOf(b) - sinceOf(a);
  if (order === 'stable') return () => 0;
  const titles = new Map(items.map((item) => [item, rowTextOf(item, now).title]));
  return (a: ListItem, b: ListItem) => collator.compare(titles.get(a) ?? '', titles.get(b) ?? '');
}

const collator = new Intl.Collator(undefined, { numeric: true });

/** Items that need the user come first, the longest wait at the top; the others follow, the newest activity first. */
function byNeed(a: ListItem, b: ListItem, now: number): number {
  const [one = 0, other = 0] = [a, b].map((item) => itemStatuses.indexOf(itemStatusOf(item, now)));
  const isWaiting = one < itemStatuses.indexOf('running');
  return one - other || (sinceOf(a) - sinceOf(b)) * (isWaiting ? 1 : -1);
}
