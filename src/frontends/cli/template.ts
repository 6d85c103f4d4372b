import { z } from 'zod';
import { invalidError, usageError } from '../../api/errors.ts';
import { goalLimits } from '../../api/goals.ts';
import { isCommonMode } from '../../api/permission-modes.ts';
import { providerId } from '../../api/provider-kinds.ts';
import { teamName } from '../../api/teams.ts';
import { parseToml } from '../../core/config/toml.ts';
import { parseDuration } from '../../core/lib/duration.ts';
import { plain } from '../../core/lib/plain.ts';
import { shorten } from '../../core/lib/shorten.ts';
import type { GoalOptions } from './commands/session-conditions.ts';
import type { OpenOptions } from './session/open-session.ts';

const name = z.string().min(1);
const duration = z.string().transform((text, context) => {
  const time = parseDuration(text);
  if (time === null) context.addIssue('expected a duration such as 90s or 1h30m');
  return time ?? 0;
});

/** The keys but the team are the options of `cadre run`. A sandbox and its network have only the strictest values. */
const schema = z.strictObject({
  description: z.string().optional(),
  prompt: name,
  provider: providerId.optional(),
  agent: name.optional(),
  model: name.optional(),
  effort: name.optional(),
  permission_mode: z
    .string()
    .refine(isCommonMode, 'expected a permission mode that all agents have')
    .optional(),
  title: name.optional(),
  worktree: z.union([z.literal(true), name]).optional(),
  team: name.optional(),
  sandbox: z.literal('require').optional(),
  network: z.literal('none').optional(),
  until: name.optional(),
  max: z.int().min(1).max(goalLimits.maxRounds).optional(),
  check_timeout: duration.optional(),
  within: duration.optional(),
  variables: z
    .record(
      z.string().regex(/^[A-Za-z]\w*$/, 'expected letters, digits and underscores'),
      z.strictObject({ description: z.string().optional(), default: z.string().optional() }),
    )
    .default({}),
});
export type Template = z.output<typeof schema>;

export interface TemplateOptions extends OpenOptions, GoalOptions {
  until?: string;
  team?: string;
}

/** The fields in which variables are replaced. The command of a goal has none, because a shell would run their values. */
const texts = ['prompt', 'title', 'worktree', 'team'] as const;
const VARIABLE = /\{\{\s*([A-Za-z]\w*)\s*\}\}/g;

/** Reads a template. Throws `invalid` for anything that is not a template, and for undeclared variables. */
export function parseTemplate(templateName: string, text: string): Template {
  const file = `template "${templateName}"`;
  const { data: template, error } = schema.safeParse(parseToml(text, file));
  if (!template) throw invalidError(`${file} is invalid: ${plain(z.prettifyError(error))}`);
  for (const field of texts)
    for (const variable of variablesIn(template[field]))
      if (!Object.hasOwn(template.variables, variable))
        throw invalidError(
          `${file} uses the variable "${variable}" in ${field}: declare it with [variables.${variable}]`,
        );
  if (variablesIn(template.until).length > 0)
    throw invalidError(`${file} has a variable in until: variables are replaced only in ${list}`);
  const extra = (['max', 'check_timeout', 'within'] as const).find((one) => template[one]);
  if (extra !== undefined && template.until === undefined)
    throw invalidError(`${file} has ${extra} without until: add until`);
  return template;
}

const list = 'prompt, title, worktree and team';

function variablesIn(text: string | true | undefined): string[] {
  if (typeof text !== 'string') return [];
  return [...text.matchAll(VARIABLE)].map(([, variable = '']) => variable);
}

/** Replaces the variables by `words` of the form name=value, or their defaults. Throws `usage` for unknown and missing ones. */
export function fillTemplate(
  templateName: string,
  template: Template,
  words: readonly string[],
): Template {
  const { variables } = template;
  const values = new Map(
    Object.entries(variables).flatMap(([variable, { default: value }]) =>
      value === undefined ? [] : [[variable, value]],
    ),
  );
  const known = Object.keys(variables).join(', ') || 'none';
  for (const word of words) {
    const [, variable, value] = /^(.*?)=(.*)$/s.exec(word) ?? [];
    if (variable === undefined || value === undefined)
      throw usageError(
        `"${word}" is not a variable of template "${templateName}": pass NAME=VALUE`,
      );
    if (!Object.hasOwn(variables, variable))
      throw usageError(
        `template "${templateName}" has no variable "${variable}" (variables: ${known})`,
      );
    values.set(variable, value);
  }
  const missing = Object.keys(variables).filter((variable) => !values.has(variable));
  if (missing.length > 0)
    throw usageError(
      `template "${templateName}" needs a value for ${missing.join(', ')}: pass ${missing.map((one) => `${one}=VALUE`).join(' ')}`,
    );
  const filled = (text: string) =>
    text.replaceAll(VARIABLE, (_all, variable: string) => values.get(variable) ?? '');
  const { prompt, title, worktree } = template;
  const team = template.team === undefined ? undefined : filled(template.team);
  if (team !== undefined && !teamName.safeParse(team).success)
    throw usageError(
      `invalid team "${shorten(plain(team), 80)}" of template "${templateName}": expected 1 to 200 characters that are not all blank`,
    );
  return {
    ...template,
    prompt: filled(prompt),
    ...(title === undefined ? {} : { title: filled(title) }),
    ...(typeof worktree === 'string' ? { worktree: filled(worktree) } : {}),
    ...(team === undefined ? {} : { team }),
  };
}

/** The options of `cadre run` for a template. `flags` win; another agent also gets no model and effort of the template. */
export function optionsWith<T extends TemplateOptions>(template: Template, flags: T): T {
  const { provider, agent, model, effort } = template;
  const isOtherAgent = flags.provider !== undefined || flags.agent !== undefined;
  const { title, worktree, team, sandbox, network, until, max, check_timeout, within } = template;
  const options = {
    ...(isOtherAgent ? {} : { provider, agent, model, effort }),
    title,
    worktree,
    team,
    sandbox,
    network,
    ...(flags.until === undefined ? { until, max, checkTimeout: check_timeout, within } : {}),
    modeLimit: template.permission_mode,
  };
  return { ...options, ...flags };
}
