import { Argument, Command, Option } from 'commander';
import { z } from 'zod';
import type { BodyInputOf, Endpoint, ResponseOf } from '../../api/endpoint.ts';
import type { CallInput } from '../../client/client.ts';
import { usageError } from '../../api/errors.ts';
import { oneLine } from '../../core/lib/plain.ts';
import { choicesOf } from './choices.ts';
import type { Layout } from './layout.ts';
import { asList, asRecord } from './output-options.ts';
import { clientAction, type CommandContext, type World } from './world.ts';

/** Adds a command to the one above it. */
export type Register = (parent: Command, world: World) => void;

/** A noun, such as `sessions`, and the commands below it. */
export function commandGroup(
  name: string,
  description: string,
  commands: readonly Register[],
): Register {
  return (program, world) => {
    const group = program.command(name).description(description);
    for (const register of commands) register(group, world);
  };
}

/** A hidden command of the program that does the same as one of a group: `cadre ps` for `cadre processes list`. */
export function shortcut(name: string, group: Register, command: string): Register {
  return (program, world) => {
    const holder = new Command();
    group(holder, world);
    const found = holder.commands[0]?.commands.find((one) => one.name() === command);
    if (!found)
      throw new Error(
        `the shortcut ${name} refers to the command ${command}, which does not exist`,
      );
    program.addCommand(found.name(name).copyInheritedSettings(program), { hidden: true });
  };
}

/** A command that calls one endpoint. */
export interface EndpointCommand<E extends Endpoint> {
  name: string;
  /** An old name, which help and completion do not show. */
  alias?: string;
  /** Whether help and completion leave the command out. */
  hidden?: boolean;
  /** Whether it prints a list, and takes the options of lists. A `print` by `listOf` makes it one in any case. */
  isList?: boolean;
  description: string;
  endpoint: E;
  operands?: readonly Parameter<E>[];
  options?: readonly OptionParameter<E>[];
  /** Fields that no parameter sets. `options` has the values of all options, by the names that commander gives them. */
  fields?(options: Options): Partial<Fields<E>>;
  /** The document for `--json`; without it, the answer. */
  document?(answer: ResponseOf<E>, call: Call): unknown;
  /** The text for people, printed without `--json`. */
  print: (answer: ResponseOf<E>, call: Call) => string;
  /** A remark on an empty list. */
  empty?: string;
  /** The question on a terminal before the request, with the text of the first argument; --yes answers it. */
  confirm?: (said: string) => string;
  /** Runs after the answer was printed, for the exit code and for notes on stderr. */
  after?(answer: ResponseOf<E>, world: World): void;
}

/** An argument or an option, which sets fields of the request. */
export interface Parameter<E extends Endpoint> {
  /** In commander's notation: `<team>`, `[turn]`, `--limit <n>`. */
  flags: string;
  description?: string;
  /** The field that gets the value unchanged. If its schema is an enum, the parameter has its values as choices. */
  field?: keyof Fields<E>;
  /** The fields for a value that is not passed on unchanged. Throws an AppError for a wrong value. */
  read?(value: Value, reading: Reading): Partial<Fields<E>> | Promise<Partial<Fields<E>>>;
  /** The fields where the command line has no value for the parameter. */
  absent?(reading: Reading): Promise<Partial<Fields<E>>>;
}

export interface OptionParameter<E extends Endpoint> extends Parameter<E> {
  required?: boolean;
  default?: string | number;
  /** Reads the value; `before` is what an earlier one of the same option was read as. */
  parse?: (text: string, before?: unknown) => unknown;
}

/** All fields of an endpoint's path, query and body: no endpoint has the same name in two of them. */
export type Fields<E extends Endpoint> = Inputs<E['params']> &
  Inputs<E['query']> &
  (BodyInputOf<E> extends null | Record<string, never> ? unknown : BodyInputOf<E>);
type Inputs<S extends Record<string, z.ZodType>> = { [K in keyof S]: z.input<S[K]> };

type Value = string | number | boolean | string[] | undefined;
type Options = Readonly<Record<string, Value>>;

/** The context of `read` and `absent`; `fields` are those that earlier parameters have set. */
export interface Reading extends Pick<CommandContext, 'world' | 'client' | 'global'> {
  /** The values of all options, by the names that commander gives them. */
  options: Options;
  fields: Readonly<Record<string, unknown>>;
}

/** A call that was answered at `now`, in Unix milliseconds, and how its answer is shown to people. */
export interface Call {
  layout: Layout;
  fields: Readonly<Record<string, unknown>>;
  options: Options;
  now: number;
}

export function endpointCommand<E extends Endpoint>(entry: EndpointCommand<E>): Register {
  const { name, description, endpoint, operands = [], options = [] } = entry;
  return (parent, world) => {
    const command = parent
      .command(name, { hidden: entry.hidden === true })
      .description(description);
    if (entry.alias !== undefined) command.alias(entry.alias);
    const declared = options.map((one) => optionOf(one, endpoint));
    for (const one of operands) command.addArgument(argumentOf(one, endpoint));
    for (const one of declared) command.addOption(one);
    if (entry.confirm) command.option('--yes', 'Skip the confirmation on a terminal');
    if (entry.isList === true || 'isList' in entry.print) asList(command);
    else if (name === 'show' || name === 'get') asRecord(command);
    command.action(
      clientAction(
        world,
        async ({ client, global, show, note, layout }, ...typed: [...Value[], Options]) => {
          const flags = typed.at(-1) as Options;
          const values = [
            ...(typed.slice(0, -1) as Value[]),
            ...declared.map((one) => flags[one.attributeName()]),
          ];
          const fields: Record<string, unknown> = { ...entry.fields?.(flags) };
          for (const [at, one] of [...operands, ...options].entries())
            Object.assign(
              fields,
              await fieldsOf(one, values[at], { world, client, global, options: flags, fields }),
            );
          if (entry.confirm) await confirm(world, flags, entry.confirm(oneLine(String(values[0]))));
          const { value: answer, headers } = await client.ask(endpoint, inputOf(endpoint, fields));
          const call = { fields, options: flags, now: world.clock.now(), layout };
          const document = entry.document ? entry.document(answer, call) : answer;
          show(document, () => entry.print(answer, call));
          if (entry.empty !== undefined && Array.isArray(answer) && answer.length === 0)
            note(entry.empty);
          if (!global.json && headers['x-next-cursor'] !== undefined && Array.isArray(answer))
            world.stderr.write(`cadre: ${moreText(answer.length, options)}\n`);
          entry.after?.(answer, world);
        },
      ),
    );
  };
}

/** The largest limit of a list. */
const MOST = 500;

/** The remark on a list that has more records than are shown. */
function moreText(shown: number, options: readonly { flags: string }[]): string {
  const more = `the first ${shown} are shown, and more exist`;
  const hasLimit = options.some(({ flags }) => flags.includes('--limit'));
  if (!hasLimit) return more;
  return shown < MOST ? `${more}: pass --limit ${MOST}` : `${more}: use the filters of the command`;
}

/** Asks before a request that cannot be taken back. Without a terminal nobody is asked. Throws `usage` for no. */
async function confirm(world: World, { yes }: Options, question: string): Promise<void> {
  if (yes === true || !world.stdin.isTTY || !world.stderr.isTTY) return;
  const { askYes } = await import('./ask-yes.ts');
  if (await askYes(world, `${question} [y/N] `)) return;
  throw usageError('not confirmed: nothing was changed');
}

function argumentOf<E extends Endpoint>(operand: Parameter<E>, endpoint: E): Argument {
  const argument = new Argument(operand.flags, operand.description);
  const choices = choicesOf(schemaOf(endpoint, operand.field));
  return choices ? argument.choices(choices) : argument;
}

function optionOf<E extends Endpoint>(parameter: OptionParameter<E>, endpoint: E): Option {
  const { flags, description, field, required = false, parse } = parameter;
  const option = new Option(flags, description).makeOptionMandatory(required);
  const choices = choicesOf(schemaOf(endpoint, field));
  if (choices) option.choices(choices);
  if (parse) option.argParser(parse);
  return parameter.default === undefined ? option : option.default(parameter.default);
}

function schemaOf(endpoint: Endpoint, field: PropertyKey | undefined): unknown {
  const shapes: Record<PropertyKey, unknown> = {
    ...endpoint.params,
    ...endpoint.query,
    ...bodyShape(endpoint),
  };
  return field === undefined ? undefined : shapes[field];
}

async function fieldsOf<E extends Endpoint>(
  parameter: Parameter<E>,
  value: Value,
  reading: Reading,
): Promise<object | undefined> {
  if (value === undefined) return parameter.absent?.(reading);
  if (parameter.read) return parameter.read(value, reading);
  return parameter.field === undefined ? undefined : { [parameter.field]: value };
}

/** Each field where the endpoint has it; one that is undefined is left out. */
function inputOf<E extends Endpoint>(
  endpoint: E,
  fields: Readonly<Record<string, unknown>>,
): CallInput<E> {
  const those = (shape: object) =>
    Object.fromEntries(
      Object.entries(fields).filter(([name, value]) => name in shape && value !== undefined),
    );
  const { params, query, body } = endpoint;
  const input = { params: those(params), query: those(query) };
  return (body ? { ...input, body: those(bodyShape(endpoint)) } : input) as CallInput<E>;
}

function bodyShape({ body }: Endpoint): Record<string, z.ZodType> {
  return body instanceof z.ZodObject ? body.shape : {};
}
