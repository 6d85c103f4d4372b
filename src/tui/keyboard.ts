import { type Key, useInput } from 'ink';
import { createContext, useContext, useLayoutEffect } from 'react';

export type Handler = (input: string, key: Key) => void;

/** The handlers that get every key. */
export const Listeners = createContext<Set<Handler>>(new Set());

/**
 * Passes every key to the listeners. Used once, at the root: ink's own hook subscribes in a passive effect, so a
 * component that has just been shown would miss a key.
 */
export function useKeyboard(listeners: ReadonlySet<Handler>, handler: Handler): void {
  useInput((input, key) => {
    handler(input, key);
    for (const listener of listeners) listener(input, key);
  });
}

/** Handles every key from the commit on in which the component is shown. */
export function useKey(handler: Handler, isActive = true): void {
  const listeners = useContext(Listeners);
  useLayoutEffect(() => {
    if (!isActive) return undefined;
    listeners.add(handler);
    return () => void listeners.delete(handler);
  });
}

/** Handles keys by a table from the name of a key, or the character it types, to an action. */
export function useKeys(table: Record<string, (() => void) | undefined>, isActive: boolean): void {
  useKey((input, key) => {
    const name = nameOf(input, key);
    // A key that is held down may arrive several times in one input.
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
