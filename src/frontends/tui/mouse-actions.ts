import { type DOMElement, type Key, measureElement } from 'ink';

/** An act of a mouse, and its position in cells from 0. */
export interface MouseAction {
  what: 'click' | 'up' | 'down';
  x: number;
  y: number;
}

/** A report of a mouse in mode 1006. Ink drops it, so it is read beside ink. */
const REPORTS = /\u001B\[<(\d+);(\d+);(\d+)M/g;
const wheels: Readonly<Record<number, MouseAction['what']>> = { 0: 'click', 64: 'up', 65: 'down' };

/** The actions of a mouse that a piece of input reports; none for other reports, such as the release of a button. */
export function mouseActionsIn(input: string): MouseAction[] {
  return [...input.matchAll(REPORTS)].flatMap(([, button, column, line]) => {
    const what = wheels[Number(button)];
    return what === undefined ? [] : [{ what, x: Number(column) - 1, y: Number(line) - 1 }];
  });
}

/** A part of the screen that the pointer of a mouse may be over. */
export interface MouseRegion {
  element: () => DOMElement | null;
  handle: (mouseAction: MouseAction) => void;
}

/**
 * Hands what a mouse did to the part of the screen under the pointer. Returns the keys that take its place where no part
 * is there: the wheel is as some arrows.
 */
export function dispatchMouseAction(
  regions: ReadonlySet<MouseRegion>,
  { what, x, y }: MouseAction,
): [input: string, key: Key][] {
  for (const { element, handle } of [...regions].toReversed()) {
    const found = element();
    if (!found) continue;
    const area = measureElement(found);
    const inside = { what, x: x - area.x, y: y - area.y };
    if (inside.x < 0 || inside.y < 0 || inside.x >= area.width || inside.y >= area.height) continue;
    handle(inside);
    return [];
  }
  if (what === 'click') return [];
  // The other keys are not pressed.
  const key = { upArrow: what === 'up', downArrow: what === 'down' } as Key;
  return Array.from({ length: WHEEL_LINES }, () => ['', key]);
}

export const WHEEL_LINES = 3;
