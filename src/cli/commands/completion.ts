import { Argument, type Command, type Option } from 'commander';
import { type CommandTree, type CommandValue, completionScript, shells } from '../completions.ts';
import type { GlobalOptions } from '../context.ts';
import { showDocument, type World } from '../world.ts';

type Shell = (typeof shells)[number];

/**
 * `cadre completion`. It is the only command that needs all others, and a command line loads only its own; so it takes
 * the function that creates the whole tree.
 */
export function completionCommand(createProgram: (world: World) => Promise<Command>) {
  return (program: Command, world: World): void => {
    program
      .command('completion')
      .description('print the script that completes cadre in a shell')
      .addArgument(new Argument('<shell>', 'the shell it is for').choices(shells))
      .addHelpText(
        'after',
        `
Install it, then start a new shell:
  bash  cadre completion bash > ~/.local/share/bash-completion/completions/cadre
        or in ~/.bashrc: source <(cadre completion bash)
  zsh   cadre completion zsh > "\${fpath[1]}/_cadre"
        or in ~/.zshrc, after compinit: source <(cadre completion zsh)
  fish  cadre completion fish > ~/.config/fish/completions/cadre.fish`,
      )
      .action(async (shell: Shell, _options: object, command: Command) => {
        const script = completionScript(shell, describeTree(await createProgram(world)));
        showDocument(
          world,
          command.optsWithGlobals<GlobalOptions>(),
          { shell, script },
          () => script,
        );
      });
  };
}

/** The command tree for the completion scripts, without hidden commands and options. */
export function describeTree(program: Command, above: readonly Option[] = []): CommandTree {
  const help = program.createHelp();
  // Every command has --help. It is listed once, at the root.
  const known = new Set(above.map(({ long }) => long));
  const options = help.visibleOptions(program).filter(({ long }) => !known.has(long));
  return {
    name: program.name(),
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
