import { z } from 'zod';
import { nearest } from '../lib/nearest.ts';
import { configurableActions, keyProblem } from '../lib/screen-keys.ts';
import { colorNames, colorRoles, diffLayouts, themes } from '../lib/screen-settings.ts';

const color = z.string().superRefine((name, issue) => {
  if (colorNames.includes(name) || /^#[\da-f]{6}$/i.test(name)) return;
  issue.addIssue(`"${name}" is not a colour: use ${meant(colorNames, name)}, or #rrggbb`);
});

const role = nameOf('a role of a colour', colorRoles);

const action = nameOf('an action of the screen', configurableActions);

function noConflict(keys: Record<string, string>, issue: z.RefinementCtx): void {
  for (const [name, key] of Object.entries(keys)) {
    const message = keyProblem(name, key, keys);
    if (message !== null) issue.addIssue({ code: 'custom', message, path: [name] });
  }
}

/** Settings of the screen and of colours, which the server does not read. */
export const screenSection = z
  .strictObject({
    /** The colours of the screen and of commands; `auto`: the colours of the terminal, or `light` where it says that it is light. */
    theme: z.enum(themes).default('auto'),
    /** Colours of your own, by what they mean. */
    colors: z.record(role, color).default({}),
    /** Keys of your own, by the names of actions. */
    keys: z.record(action, z.string()).superRefine(noConflict).default({}),
    /** Whether the screen uses clicks and the wheel of a mouse; the terminal then selects text with Shift. */
    mouse: z.boolean().default(false),
    /** How the diff of a session is shown; `auto`: side by side from 160 columns on. */
    diff: z.enum(diffLayouts).default('auto'),
  })
  .prefault({});

function nameOf(noun: string, names: readonly string[]): z.ZodString {
  return z.string().superRefine((name, issue) => {
    if (!names.includes(name))
      issue.addIssue(`"${name}" is not ${noun}: use ${meant(names, name)}`);
  });
}

function meant(names: readonly string[], typed: string): string {
  const [near] = nearest(names, typed, (name) => name);
  return near === undefined ? `one of ${names.join(', ')}` : `"${near}"`;
}

/** The section `[client]`: settings of commands, which the server does not read. */
export const clientSection = z
  .strictObject({
    /**
     * Whether `run`, `sessions` and `acp` start a server in the background if none runs; null: always on a terminal and
     * for `acp`, else never.
     */
    autostart: z.enum(['always', 'ask', 'never']).nullable().default(null),
    /** The mode of new sessions for which a person can be asked, where no flag and no `defaults.permission_mode` chooses one. */
    permission_mode: z.string().min(1).default('require_approval'),
    /** Whether prompts that are sent from a terminal are kept in the data directory, to be sent again. */
    history: z.boolean().default(true),
  })
  .prefault({});
