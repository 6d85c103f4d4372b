import { type Key, useInput, usePaste } from 'ink';
import { createContext, useContext, useLayoutEffect, useState } from 'react';
import { graphemesOf } from './forms/editor.ts';
import { type MouseAction, type MouseRegion, dispatchMouseAction } from './mouse-actions.ts';

export type Handler = (input: string, key: Key) => void;
type PasteHandler = (text: string) => void;

/** The handlers that get every key, and those that get every text that is pasted. */
export interface Keyboard {
  keys: Set<Handler>;
  pastes: Set<PasteHandler>;
  /** The parts of the screen that a mouse can point at. */
  regions: Set<MouseRegion>;
}

export const emptyKeyboard = (): Keyboard => ({
  keys: new Set(),
  pastes: new Set(),
  regions: new Set(),
});

export const Listeners = createContext<Keyboard>(emptyKeyboard());

/** More characters at once were not typed, though the terminal did not say that they were pasted. */
const MOST_TYPED = 32;

/**
 * Passes every key and every paste to the listeners. Used once, at the root: ink's own hooks subscribe in a passive
 * effect, so a component that has just been shown would miss a key. A pasted text is never a key.
 * Keys that arrive together are passed on one after the other, each after the screen has changed for the previous key.
 */
export function useKeyboard(
  { keys, pastes, regions }: Keyboard,
  handler: Handler,
  pointers?: Set<(mouseAction: MouseAction) => void>,
): void {
  const [waiting] = useState<[input: string, key: Key][]>([]);
  const next = () => {
    const [first] = waiting;
    if (!first) return;
    handler(...first);
    for (const listener of keys) listener(...first);
    // React draws in between: a state change of the first turn is drawn before the second turn.
    setImmediate(() =>
      setImmediate(() => {
        waiting.shift();
        next();
      }),
    );
  };
  const pass = (typed: [input: string, key: Key][]) => {
    const isBusy = waiting.length > 0;
    waiting.push(...typed);
    if (!isBusy) next();
  };
  useInput((input, key) => pass(apart(input, key)));
  useListener(pointers, (mouseAction) => pass(dispatchMouseAction(regions, mouseAction)));
  usePaste((text) => {
    for (const listener of pastes) listener(text);
  });
}

const BACKSPACE = '\u007f';
/** Ctrl with a letter, but for those that have keys of their own: tab, enter and the line feed. */
const CONTROLS = new Set(
  Array.from({ length: 26 }, (_, at) => String.fromCharCode(at + 1)).filter(
    (one) => !/[\t\r\n]/.test(one),
  ),
);

function apart(input: string, key: Key): [string, Key][] {
  if (input.length < 2 || input.length > MOST_TYPED) return [[input, key]];
  return graphemesOf(input).map((one) => {
    const letter = CONTROLS.has(one) ? String.fromCharCode(one.charCodeAt(0) + 0x60) : one;
    return [
      one === '\r' || one === '\t' || one === BACKSPACE ? '' : letter,
      {
        ...key,
        return: one === '\r',
        tab: one === '\t',
        backspace: one === BACKSPACE,
        ctrl: letter !== one,
      },
    ];
  });
}

/** Handles every key from the commit on in which the component is shown. */
export function useKey(handler: Handler, isActive = true): void {
  useListener(useContext(Listeners).keys, handler, isActive);
}

/** Handles every text that is pasted, whole, from the commit on in which the component is shown. */
export function usePasted(handler: PasteHandler, isActive = true): void {
  useListener(useContext(Listeners).pastes, handler, isActive);
}

/** Is in a set of listeners while `isActive`. */
export function useListener<T>(listeners: Set<T> | undefined, listener: T, isActive = true): void {
  useLayoutEffect(() => {
    if (!isActive) return undefined;
    listeners?.add(listener);
    return () => void listeners?.delete(listener);
  });
}

/** The actions of keys, by the name of a key or the character it types. */
export type KeyTable = Record<string, (() => void) | undefined>;

interface Moves {
  height: number;
  by: (count: number) => () => void;
  toStart: () => void;
  toEnd: () => void;
}

/** The keys that move in lines or rows of which `height` are shown at a time. `by` makes a move down, or up below 0. */
export function moveKeys({ height, by, toStart, toEnd }: Moves): KeyTable {
  return {
    upArrow: by(-1),
    k: by(-1),
    downArrow: by(1),
    j: by(1),
    pageUp: by(1 - height),
    pageDown: by(height - 1),
    home: toStart,
    g: toStart,
    end: toEnd,
    G: toEnd,
  };
}

/** Handles keys by a table; `before` runs ahead of each key that the table has. */
export function useKeys(table: KeyTable, isActive = true, before?: () => void): void {
  useKey((input, key) => {
    const act = table[nameOf(input, key)];
    if (!act) return;
    before?.();
    act();
  }, isActive);
}

const named = [
  'upArrow',
  'downArrow',
  'leftArrow',
  'rightArrow',
  'pageUp',
  'pageDown',
  'home',
  'end',
  'return',
  'escape',
  'tab',
] as const satisfies (keyof Key)[];

function nameOf(input: string, key: Key): string {
  const name = named.find((name) => key[name]);
  if (name === 'tab' && key.shift) return 'shift tab';
  return name ?? (key.ctrl ? `ctrl ${input}` : key.meta ? '' : input);
}
