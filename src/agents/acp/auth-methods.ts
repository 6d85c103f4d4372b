import { z } from 'zod';
import { arrayOf, fieldOf, maybe, maybeText } from '../lenient.ts';
import { ownEntry } from '../../core/lib/own-entry.ts';

/** A way to log in that an agent offers in its answer to `initialize`. */
export interface AuthMethod {
  id: string;
  name: string;
  description: string | null;
  /**
   * `agent`: the agent logs in by itself when it is asked to, often with a browser. `env_var`: the agent reads variables
   * of its environment. `terminal`: the agent's login program runs in a terminal; the protocol forbids `authenticate`.
   */
  type: 'agent' | 'env_var' | 'terminal';
  /** The variables that it reads, as far as the agent says. */
  variables: readonly { name: string; isOptional: boolean }[];
  isKey: boolean;
  /** How its login program starts; `command` is null where that is the command of the agent, with more arguments. */
  program: { command: string | null; args: readonly string[]; env: Record<string, string> } | null;
  /** Where people get what it needs. */
  link: string | null;
}

/** Returns the methods in an agent's answer to `initialize`. Unreadable methods are left out. */
export function readAuthMethods(answer: unknown): AuthMethod[] {
  return methods.parse(fieldOf(answer, 'authMethods'));
}

/** Whether a method needs a person, or a variable that `env`, the environment of the agent, does not have. */
export function needsPerson(method: AuthMethod, env: Readonly<Record<string, string>>): boolean {
  const isSet = (name: string) => (ownEntry(env, name) ?? '') !== '';
  const { type, variables, isKey } = method;
  if (type === 'terminal') return true;
  if (type === 'env_var')
    return variables.some(({ name, isOptional }) => !isOptional && !isSet(name));
  if (variables.length > 0) return !variables.some(({ name }) => isSet(name));
  return !isKey || !Object.keys(env).some((name) => name.endsWith('_API_KEY') && isSet(name));
}

/** The method as people read it: its id, its name, and what it needs. */
export function methodInWords({ id, name, type, variables }: AuthMethod): string {
  const names = variables.map((one) => one.name).join(type === 'env_var' ? ' and ' : ' or ');
  const needs = type === 'terminal' ? 'needs a terminal' : names === '' ? '' : `needs ${names}`;
  const about = [name === id ? '' : name, needs].filter(Boolean).join(', ');
  return about === '' ? id : `${id} (${about})`;
}

const strings = z.array(z.string()).catch([]);
const variables = z.record(z.string(), z.string()).catch({});

const methodShape = z.looseObject({
  id: z.string().min(1),
  name: maybeText,
  description: maybeText,
  type: maybeText,
  args: strings,
  env: variables,
  vars: z.array(z.looseObject({ name: z.string(), optional: maybe(z.boolean()) })).catch([]),
  /** How earlier drafts of `env_var` named a single variable. */
  varName: maybeText,
  link: maybeText,
  _meta: maybe(
    z.looseObject({
      'api-key': z.unknown().optional(),
      // How agents offered a terminal method before the protocol had one: the whole command.
      'terminal-auth': maybe(
        z.looseObject({ command: z.string().min(1), args: strings, env: variables }),
      ),
    }),
  ),
});

const methods = arrayOf(
  methodShape.transform((method): AuthMethod => {
    const { id, description, link, _meta: meta } = method;
    const name = method.name ?? id;
    const old = meta?.['terminal-auth'] ?? null;
    const type =
      method.type === 'terminal' || method.type === 'env_var'
        ? method.type
        : old
          ? 'terminal'
          : 'agent';
    return {
      id,
      name,
      description,
      type,
      variables: variablesOf(method, `${id} ${name} ${description ?? ''}`),
      isKey: Boolean(meta?.['api-key']) || /api[ _-]?key/i.test(`${id} ${name}`),
      program: type === 'terminal' ? programOf(method, old) : null,
      link,
    };
  }),
).catch([]);

/** An agent that also speaks the standard is started by its own command, which the user has configured. */
function programOf(
  { type, args, env }: z.output<typeof methodShape>,
  old: { command: string; args: string[]; env: Record<string, string> } | null,
): AuthMethod['program'] {
  if (type !== 'terminal' && old) return { command: old.command, args: old.args, env: old.env };
  return { command: null, args, env };
}

/** The variables that a method names; of a method that the agent does by itself, those that its description names. */
function variablesOf(
  { type, vars, varName }: z.output<typeof methodShape>,
  words: string,
): { name: string; isOptional: boolean }[] {
  if (type === 'env_var') {
    const named = vars.map(({ name, optional }) => ({ name, isOptional: optional === true }));
    return varName ? [...named, { name: varName, isOptional: false }] : named;
  }
  const mentioned = words.match(/\b[A-Z][A-Z0-9]*_[A-Z0-9_]*(?:KEY|TOKEN)\b/g) ?? [];
  return [...new Set(mentioned)].map((name) => ({ name, isOptional: false }));
}
