import { z } from 'zod';

const rule = z.looseObject({ toolName: z.string(), ruleContent: z.string().nullish() });
const grant = z.discriminatedUnion('type', [
  z.looseObject({
    type: z.literal('addRules'),
    behavior: z.literal('allow'),
    rules: z.array(rule).min(1),
  }),
  z.looseObject({ type: z.literal('addDirectories'), directories: z.array(z.string()).min(1) }),
  z.looseObject({ type: z.literal('setMode'), mode: z.literal('acceptEdits') }),
]);

/** Something that claude proposes to allow from now on. Its `destination` is the session, whatever claude proposes. */
export type Grant = z.output<typeof grant> & { destination: 'session' };

/**
 * Reads the `permission_suggestions` of a request. Empty unless cadre knows all of them: they belong together, and a
 * part alone may not be what a person would read.
 */
export function readGrants(suggestions: unknown): Grant[] {
  const { data = [] } = z.array(grant).safeParse(suggestions ?? []);
  return data.map((one) => ({ ...one, destination: 'session' }));
}

/** What the grants allow, for people. */
export function grantsText(grants: readonly Grant[]): string {
  return grants.map(wordsOfOne).join('; ');
}

/** Whether claude accepts edits without asking once it has the grants. */
export function acceptsEdits(grants: readonly Grant[]): boolean {
  return grants.some(({ type }) => type === 'setMode');
}

function wordsOfOne(one: Grant): string {
  switch (one.type) {
    case 'addRules':
      return one.rules
        .map(({ toolName, ruleContent }) => toolName + (ruleContent ? `(${ruleContent})` : ''))
        .join(', ');
    case 'addDirectories':
      return `access to ${one.directories.join(', ')}`;
    case 'setMode':
      return 'all file changes in the working directory, including those made by commands such as mv, rm and sed';
  }
}
