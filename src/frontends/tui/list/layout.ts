import { sum } from '../../../core/lib/sum.ts';
import type { ListItem } from './list-items.ts';
import type { Section, SectionName } from './sections.ts';

/** A line of the list, or the several lines of a row. */
export type Line =
  | { heading: Section; from: number; to: number; isChosen: boolean }
  | { item: ListItem; isChosen: boolean };

/** A selectable line: an item, or the heading of a folded section. */
export type Choice = { id: string; item: ListItem } | { id: string; section: SectionName };

/** Everything that can be selected, from top to bottom. */
export function selectableIn(sections: readonly Section[]): Choice[] {
  return sections.flatMap((section): Choice[] =>
    section.isFolded
      ? [{ id: idOfSection(section.name), section: section.name }]
      : section.items.map((item) => ({ id: item.id, item })),
  );
}

export function idOfSection(name: SectionName): string {
  return `section ${name}`;
}

/**
 * The lines that are shown in `height` lines. Every section keeps its heading and a share of the rows, each of
 * `rowHeight` lines: what runs or needs a person comes first. The section with the chosen row shows that row.
 */
export function layout(
  sections: readonly Section[],
  chosen: string | undefined,
  height: number,
  rowHeight: number,
): Line[] {
  const needs = sections.map(({ isFolded, items }) => (isFolded ? 0 : items.length));
  const room = Math.floor((height - sections.length) / rowHeight);
  const open = needs.filter((need) => need > 0).length;
  if (room < open) return around(whole(sections, chosen, needs), height, rowHeight);
  const busy = sections.map((section) => (section.isFolded ? 0 : section.busy));
  return whole(sections, chosen, sharesByNeed(needs, busy, room));
}

/**
 * Divides the room: a row for each section that has rows, then rows for what runs or needs a person, then the same for all.
 * `busy`: how many rows of each section run or need a person.
 */
function sharesByNeed(needs: readonly number[], busy: readonly number[], room: number): number[] {
  const one = needs.map((need) => Math.min(1, need));
  const after = busy.map((count, i) => Math.max(0, count - (one[i] ?? 0)));
  const more = shares(after, room - sum(one));
  const sure = one.map((rows, i) => rows + (more[i] ?? 0));
  const rest = needs.map((need, i) => need - (sure[i] ?? 0));
  const others = shares(rest, room - sum(sure));
  return sure.map((rows, i) => rows + (others[i] ?? 0));
}

/** The heading and the rows of every section, of each as many as it has a share for. */
function whole(
  sections: readonly Section[],
  chosen: string | undefined,
  shares: readonly number[],
): Line[] {
  return sections.flatMap((section, i): Line[] => {
    const share = shares[i] ?? 0;
    const { name, items, isFolded } = section;
    const at = items.findIndex(({ id }) => id === chosen);
    const from = windowStart(items.length, share, at);
    const rows = isFolded ? [] : items.slice(from, from + share);
    return [
      { heading: section, from, to: from + rows.length, isChosen: chosen === idOfSection(name) },
      ...rows.map((item) => ({ item, isChosen: item.id === chosen })),
    ];
  });
}

/** Divides the room: each gets the same, and what one does not need goes to those that need more. */
export function shares(needs: readonly number[], room: number): number[] {
  const sizes = needs.map(() => 0);
  for (let left = room; left > 0;) {
    const hungry = needs.flatMap((need, i) => (need > (sizes[i] ?? 0) ? [i] : []));
    if (hungry.length === 0) break;
    const each = Math.max(1, Math.floor(left / hungry.length));
    for (const i of hungry) {
      const more = Math.min(each, left, (needs[i] ?? 0) - (sizes[i] ?? 0));
      sizes[i] = (sizes[i] ?? 0) + more;
      left -= more;
    }
  }
  return sizes;
}

/** The lines around the chosen one, where not even the headings have room. */
function around(lines: readonly Line[], height: number, rowHeight: number): Line[] {
  const count = Math.max(1, Math.floor(height / rowHeight));
  const at = lines.findIndex(({ isChosen }) => isChosen);
  const from = windowStart(lines.length, count, at);
  return lines.slice(from, from + count);
}

/** The first of the `shown` rows of `all` that have the row `at` in their middle, or as near to it as they can. */
function windowStart(all: number, shown: number, at: number): number {
  return Math.max(0, Math.min(all - shown, at - Math.floor(shown / 2)));
}
