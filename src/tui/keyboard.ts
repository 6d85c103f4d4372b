import { type Key, useInput } from 'ink';
import { createContext, useContext, useLayoutEffect } from 'react';

export type Handler = (input: string, key: Key) => void;

/** Who listens to the keyboard. */
export const Listeners = createContext<Set<Handler>>(new Set());

/** Hands every key to who listens. Only at the root: what ink offers itself is late by a moment after each change. */
export function useKeyboard(listeners: ReadonlySet<Handler>, handler: Handler): void {
  useInput((input, key) => {
    handler(input, key);
    for (const listener of listeners) listener(input, key);
  });
}

/** Listens to every key, from the moment on in which what it belongs to is shown. */
export function useKey(handler: Handler, isActive = true): void {
  const listeners = useContext(Listeners);
  useLayoutEffect(() => {
    if (!isActive) return undefined;
    listeners.add(handler);
    return () => void listeners.delete(handler);
  });
}

/** What keys do, by the name of the key, or by what it types. */
export function useKeys(table: Record<string, (() => void) | undefined>, isActive: boolean): void {
  useKey((input, key) => {
    const name = nameOf(input, key);
    // A key that is held down may come several times at once.
    const times = name === input && isRepeated(input) ? input.length : 1;
    for (let i = 0; i < times; i++) table[times === 1 ? name : input.charAt(0)]?.();
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
  return named.find((name) => key[name]) ?? (key.ctrl || key.meta ? '' : input);
}

function isRepeated(input: string): boolean {
  return input !== '' && input === input.charAt(0).repeat(input.length);
}
