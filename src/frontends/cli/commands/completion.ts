import { type Command, InvalidArgumentError } from 'commander';
import { readAsset } from '../../../core/lib/self.ts';
import { command, localCommand, type Register } from '../command.ts';
import type { CommandIo } from '../command-io.ts';

/** The files of completions/, by their shells. The shells look for these names. */
export const scripts = { bash: 'cadre.bash', zsh: '_cadre', fish: 'cadre.fish' } as const;
type Shell = keyof typeof scripts;

export const completionCommand = localCommand({
  name: 'completion',
  description: 'Print a shell completion script',
  parameters: [
    { line: '<shell>  Shell', choices: Object.keys(scripts) },
    {
      line: '--name <command>  Name under which you run cadre, such as an alias',
      parse: commandName,
      default: 'cadre',
    },
  ],
  help: `
Install the script, then start a new shell:
  bash  mkdir -p ~/.local/share/bash-completion/completions
        cadre completion bash > ~/.local/share/bash-completion/completions/cadre
        or in ~/.bashrc, after an alias for cadre: source <(cadre completion bash)
  zsh   cadre completion zsh > "\${fpath[1]}/_cadre"
        or in ~/.zshrc, after compinit and an alias for cadre: source <(cadre completion zsh)
  fish  mkdir -p ~/.config/fish/completions
        cadre completion fish > ~/.config/fish/completions/cadre.fish`,
  run: ({ show }, shell: Shell, { name }: { name: string }) => {
    const script = completionScript(shell, name);
    show({ shell, script }, () => script);
  },
});

/** The script with which a shell completes a command, `cadre` or an alias for it. */
export function completionScript(shell: Shell, name: string): string {
  const script = new TextDecoder().decode(readAsset(scripts[shell]));
  return script.replaceAll(/\bcadre\b/g, name);
}

/** A name that can stand in a script of each shell as it is. */
function commandName(text: string): string {
  if (/^[A-Za-z0-9_][\w.-]*$/.test(text)) return text;
  throw new InvalidArgumentError('Expected a command name without spaces, quotes and slashes.');
}

/**
 * `cadre __commands`: prints what `cadre __complete` knows without a server. The build makes an asset of it. It is the
 * only command that needs all others, so it takes the function that creates the whole tree.
 */
export function commandTableCommand(createProgram: (io: CommandIo) => Promise<Command>): Register {
  return command({
    name: '__commands',
    description: '',
    hidden: true,
    action: (io) => async () => {
      const { describeProgram } = await import('../complete/describe.ts');
      io.stdout.write(`${JSON.stringify(describeProgram(await createProgram(io)))}\n`);
    },
  });
}
