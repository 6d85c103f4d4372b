import { type ActionName, defaultKeys } from './screen-actions.ts';

/** The actions that only the list has: in the pane their keys are free, or have another meaning. */
const ofList = /^(?:new_session|open|mark|pane|filter|sort|show_)/;

/** Keys that no action can have, because they move, leave, or belong to the terminal. */
export const fixedKeys: readonly string[] = [
  ...'upArrow downArrow leftArrow rightArrow pageUp pageDown home end'.split(' '),
  ...'k j g G escape'.split(' '),
  ...['c', 'h', 'i', 'j', 'm', 'z'].map((letter) => `ctrl ${letter}`),
];

/** The actions whose keys can be changed. */
export const configurableActions: readonly string[] = Object.entries(defaultKeys)
  .filter(([, key]) => !fixedKeys.includes(key))
  .map(([name]) => name);

/** The keys of panes, which no action can have that panes have, too. */
export const paneKeys: readonly string[] = ['/', 'n', 'N', 't', '[', ']', 'o'];

const named: Readonly<Record<string, string>> = {
  space: ' ',
  enter: 'return',
  tab: 'tab',
  'shift-tab': 'shift tab',
};

/** How keys are written in the configuration. */
export const keyForms = `one character, ${Object.keys(named).join(', ')}, or ctrl-LETTER`;

/** The key that the configuration means, by the name that the screen has for it; null for none. */
export function readKey(text: string): string | null {
  const control = /^ctrl-([a-z])$/i.exec(text)?.[1];
  if (control) return `ctrl ${control.toLowerCase()}`;
  if (Object.hasOwn(named, text)) return named[text] ?? null;
  return /^[\p{L}\p{N}\p{P}\p{S}]$/u.test(text) ? text : null;
}

/** Why an action cannot have the key that the configuration gives it; null where it can. */
export function keyProblem(
  action: string,
  text: string,
  configured: Readonly<Record<string, string>>,
): string | null {
  const key = readKey(text);
  if (key === null) return `"${text}" is not a key: use ${keyForms}`;
  if (fixedKeys.includes(key)) return `"${text}" moves or leaves, and cannot be changed`;
  if (paneKeys.includes(key) && !ofList.test(action))
    return `"${text}" is a key of the pane: use another key`;
  const other = configurableActions.find(
    (name) => name !== action && keyOf(name as ActionName, configured) === key,
  );
  return other === undefined
    ? null
    : `"${text}" is the key of ${other}: use another key, or give ${other} another key, too`;
}

export function keyOf(action: ActionName, configured: Readonly<Record<string, string>>): string {
  const text = configured[action];
  return (text === undefined ? null : readKey(text)) ?? defaultKeys[action];
}
