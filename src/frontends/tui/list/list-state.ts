import type { Clock } from '../../../core/lib/clock.ts';
import type { Overview } from '../overview.ts';
import { Observable } from '../observable.ts';
import { type Choice, selectableIn, idOfSection } from './layout.ts';
import {
  countsOf,
  idsInTab,
  type ListTab,
  needsMe,
  type Section,
  type SectionName,
  sectionsOf,
  type ListSettings,
} from './sections.ts';
import { type ListItem, listItemsOf } from './list-items.ts';

/** The list as it is shown, and the position in it. */
export interface ListView extends ListSettings {
  /** All items, also those that are not shown. */
  items: readonly ListItem[];
  sections: readonly Section[];
  choices: readonly Choice[];
  chosen: Choice | undefined;
  /** Whether a key of the user went to the chosen row. False if the program chose it. */
  isReached: boolean;
  counts: Record<ListTab, number>;
  /** The time that ages count to, in Unix milliseconds: it is renewed when an age may have changed. */
  now: number;
}

/** Ages are in minutes, and an agent is silent after five seconds, so the list looks at the clock this often. */
const LOOK_MS = 5000;

const before: ListView = {
  tab: 'all',
  order: 'stable',
  filter: '',
  folded: new Set<SectionName>(['snoozed', 'ended']),
  kept: new Set(),
  items: [],
  sections: [],
  choices: [],
  chosen: undefined,
  isReached: false,
  counts: { 'needs you': 0, running: 0, idle: 0, ended: 0, all: 0 },
  now: 0,
};

/** The list of all items. It keeps its position by id while the items change. */
export class ListState {
  readonly view: Observable<ListView>;
  readonly #overview: Observable<Overview>;
  readonly #clock: Clock;
  readonly #stops: (() => void)[] = [];
  /** The id to begin at, until it is there or a person has chosen another. */
  #wanted: { id: string; isReached: boolean } | undefined;

  constructor(overview: Observable<Overview>, clock: Clock, wanted?: string) {
    this.view = new Observable(before);
    this.#overview = overview;
    this.#clock = clock;
    this.#wanted = wanted === undefined ? undefined : { id: wanted, isReached: false };
  }

  start(): void {
    const look = () => this.#show(this.view.get());
    const ticks = this.#clock.every(LOOK_MS, look);
    this.#stops.push(this.#overview.subscribe(look), () => ticks[Symbol.dispose]());
    look();
  }

  stop(): void {
    for (const stop of this.#stops.splice(0)) stop();
  }

  /**
   * Changes the tab, filter or order. The position stays at its id. Opening a tab, also the same one again, drops its kept
   * rows.
   */
  changeView(change: Partial<ListSettings>): void {
    const view = this.view.get();
    this.#show({ ...view, ...change, ...(change.tab === undefined ? {} : { kept: new Set() }) });
  }

  step(by: number): void {
    const view = this.view.get();
    const at = view.choices.findIndex(({ id }) => id === view.chosen?.id);
    const to = Math.max(0, Math.min(view.choices.length - 1, at + by));
    this.#choose(view.choices[to]);
  }

  /** Moves the position to an id, and shows it whatever is filtered or folded. False where there is no such item. */
  select(id: string): boolean {
    const found = this.view.get().items.find((item) => item.id.endsWith(id));
    if (!found) return false;
    this.#reveal(found);
    return true;
  }

  /** As `select`, as soon as there is an item with this id. A person who moves on before stays where they are. */
  selectOnceThere(id: string): void {
    if (!this.select(id)) this.#wanted = { id, isReached: true };
  }

  /** Moves to the next item that needs a person, around the end. False where there is none. */
  nextThatNeedsMe(): boolean {
    const { items, choices, chosen, now } = this.view.get();
    const inOrder = [...new Set([...choices.map(listItemOf), ...items])].filter(
      (one) => one !== null,
    );
    const at = inOrder.findIndex(({ id }) => id === chosen?.id);
    const round = [...inOrder.slice(at + 1), ...inOrder.slice(0, at + 1)];
    const next = round.find((item) => needsMe(item, items, now));
    if (next) this.#reveal(next);
    return next !== undefined;
  }

  /** Folds a section, or unfolds it. Its heading is selected while it is folded. */
  fold(name: SectionName, isFolded: boolean): void {
    const view = this.view.get();
    const folded = new Set(view.folded);
    if (isFolded) folded.add(name);
    else folded.delete(name);
    const first = view.sections.find((section) => section.name === name)?.items[0]?.id;
    const id = isFolded ? idOfSection(name) : first;
    const chosen = id === undefined ? view.chosen : { id, section: name };
    this.#show({ ...view, folded, chosen, isReached: true });
  }

  #reveal(item: ListItem): void {
    const view = this.view.get();
    const chosen = { id: item.id, item };
    this.#show({ ...view, chosen, isReached: true });
    if (this.view.get().chosen?.id === item.id) return;
    const all = { ...view, tab: 'all', filter: '', kept: new Set<string>(), chosen } as const;
    this.#show({ ...all, isReached: true });
    if (this.view.get().chosen?.id === item.id) return;
    this.#show({ ...all, folded: new Set(), isReached: true });
  }

  #choose(chosen: Choice | undefined): void {
    this.#wanted = undefined;
    this.view.change((view) => ({ ...view, chosen, isReached: true }));
  }

  #show(view: ListView): void {
    const now = this.#clock.now();
    const items = listItemsOf(this.#overview.get());
    const isTab = view.tab !== 'all';
    const kept = isTab ? new Set([...view.kept, ...idsInTab(items, view.tab, now)]) : view.kept;
    const sections = sectionsOf(items, { ...view, kept }, now);
    const choices = selectableIn(sections);
    const first = this.#first(items, choices, now);
    const chosen = first?.choice ?? nextChoice(view, choices);
    const isSame = view.isReached && chosen?.id === view.chosen?.id;
    this.view.set({
      ...view,
      kept,
      items,
      sections,
      choices,
      chosen,
      isReached: first?.isReached ?? isSame,
      counts: countsOf(items, now),
      now,
    });
  }

  /** Where the list begins: at the id that was asked for, else at what needs a person. */
  #first(
    items: readonly ListItem[],
    choices: readonly Choice[],
    now: number,
  ): { choice: Choice; isReached: boolean } | undefined {
    if (this.#wanted !== undefined) {
      const { id: wanted, isReached } = this.#wanted;
      const found = choices.find(({ id }) => id.endsWith(wanted));
      if (!found) return undefined;
      this.#wanted = undefined;
      return { choice: found, isReached };
    }
    if (this.view.get().chosen) return undefined;
    const choice = choices.find((one) => {
      const item = listItemOf(one);
      return item !== null && needsMe(item, items, now);
    });
    return choice && { choice, isReached: false };
  }
}

/** The choice with the id that was chosen; where it is gone, the one at its position. */
function nextChoice(
  { chosen, choices: before }: ListView,
  choices: readonly Choice[],
): Choice | undefined {
  const same = choices.find(({ id }) => id === chosen?.id);
  if (same || !chosen) return same ?? choices[0];
  const at = before.findIndex(({ id }) => id === chosen.id);
  // The nearest one below that is still there, so that the position stays although rows above went, too.
  const below = before.slice(at + 1).find(({ id }) => choices.some((one) => one.id === id));
  return choices.find(({ id }) => id === below?.id) ?? choices.at(-1);
}

function listItemOf(choice: Choice): ListItem | null {
  return 'item' in choice ? choice.item : null;
}
