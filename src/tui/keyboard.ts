import { type Key, useInput, usePaste } from 'ink';
import { createContext, useContext, useLayoutEffect } from 'react';

export type Handler = (input: string, key: Key) => void;
type PasteHandler = (text: string) => void;

/** The handlers that get every key, and those that get every text that is pasted. */
export interface Keyboard {
  keys: Set<Handler>;
  pastes: Set<PasteHandler>;
}

export const emptyKeyboard = (): Keyboard => ({ keys: new Set(), pastes: new Set() });

export const Listeners = createContext<Keyboard>(emptyKeyboard());

/**
 * Passes every key and every paste to the listeners. Used once, at the root: ink's own hooks subscribe in a passive
 * effect, so a component that has just been shown would miss a key. What is pasted is no key, whatever it contains.
 */
export function useKeyboard({ keys, pastes }: Keyboard, handler: Handler): void {
  useInput((input, key) => {
    handler(input, key);
    for (const listener of keys) listener(input, key);
  });
  usePaste((text) => {
    for (const listener of pastes) listener(text);
  });
}

/** Handles every key from the commit on in which the component is shown. */
export function useKey(handler: Handler, isActive = true): void {
  const { keys } = useContext(Listeners);
  useLayoutEffect(() => {
    if (!isActive) return undefined;
    keys.add(handler);
    return () => void keys.delete(handler);
  });
}

/** Handles every text that is pasted, whole, from the commit on in which the component is shown. */
export function usePasted(handler: PasteHandler, isActive = true): void {
  const { pastes } = useContext(Listeners);
  useLayoutEffect(() => {
    if (!isActive) return undefined;
    pastes.add(handler);
    return () => void pastes.delete(handler);
  });
}

/** The actions of keys, by the name of a key or the character it types. */
export type KeyTable = Record<string, (() => void) | undefined>;

/** Handles keys by a table. */
export function useKeys(table: KeyTable, isActive = true): void {
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
  const name = named.find((name) => key[name]);
  if (name === 'tab' && key.shift) return 'shift tab';
  return name ?? (key.ctrl ? `ctrl ${input}` : key.meta ? '' : input);
}

function isRepeated(input: string): boolean {
  return input !== '' && input === input.charAt(0).repeat(input.length);
}
