import type { Command, Option } from 'commander';
import { catalogue } from '../../../agents/acp/catalogue.ts';
import { handoffAction } from '../../../api/after-limit.ts';
import { eventGroups, eventKinds } from '../../../api/events.ts';
import { permissionModes } from '../../../api/permission-modes.ts';
import { providerIds } from '../../../api/provider-kinds.ts';
import { toolNames } from '../../../api/tool-names.ts';
import type { CommandTree, CommandValue, CompletionTable } from './table.ts';

/** The table that completion reads instead of the program. */
export function describeProgram(program: Command): CompletionTable {
  return {
    tree: describeTree(program),
    values: {
      kind: [...eventGroups.map((group) => `${group}.*`), ...eventKinds],
      tool: toolNames,
      mode: permissionModes,
      action: limitActions(),
    },
  };
}

/** The actions at a usage limit, with all agents that a handoff can name without configuration. */
function limitActions(): string[] {
  const agents = [...providerIds, ...catalogue.map(({ name }) => name)];
  return ['resume', 'wait', ...agents.map(handoffAction)];
}

/** The command tree, without hidden commands and options. */
export function describeTree(program: Command, above: readonly Option[] = []): CommandTree {
  const help = program.createHelp();
  // Every command has --help. It is listed once, at the root.
  const known = new Set(above.map(({ long }) => long));
  const options = help.visibleOptions(program).filter(({ long }) => !known.has(long));
  return {
    name: program.name(),
    aliases: program.aliases(),
    description: program.description(),
    commands: help.visibleCommands(program).map((one) => describeTree(one, [...above, ...options])),
    options: options.map((option) => ({
      flags: [option.short, option.long].filter((flag) => flag !== undefined),
      description: option.description,
      value: optionValue(option),
    })),
    operands: program.registeredArguments.map((operand) => ({
      name: operand.name(),
      choices: operand.argChoices ?? [],
      variadic: operand.variadic,
    })),
  };
}

function optionValue({ flags, argChoices, variadic }: Option): CommandValue | null {
  // commander keeps the placeholder only in the flags: --since <when>, --kind <kind...>.
  const name = /[<[]([^>\].]+)/.exec(flags)?.[1];
  return name === undefined ? null : { name, choices: argChoices ?? [], variadic };
}
