import type { Command, Help, Option } from 'commander';
import { exitCodes } from '../../src/frontends/cli/exit.ts';
import { bold, escaped, page, type Page, prose, tagged, verbatim } from './roff.ts';

type Edition = Pick<Page, 'version' | 'date'>;

/** The pages of section 1, by their names: `cadre`, and one a command, with those below it. */
export function commandPages(program: Command, edition: Edition): Map<string, string> {
  const help = program.createHelp();
  const commands = help.visibleCommands(program).filter((one) => one.name() !== 'help');
  const pages = commands.map((one) => [`cadre-${one.name()}`, commandPage(one, edition)] as const);
  return new Map([['cadre', programPage(program, commands, edition)], ...pages]);
}

function programPage(program: Command, commands: readonly Command[], edition: Edition): string {
  const about = 'run teams of coding agents on one machine';
  return page({ name: 'cadre', section: 1, about, ...edition }, [
    ['Synopsis', synopsis(program)],
    [
      'Description',
      `${prose(sentence(program.description()))}\nWithout a command, on a terminal, it opens the screen.\n${prose(
        '`cadre serve` starts the server; most other commands are clients of the server.',
      )}`,
    ],
    [
      'Commands',
      commands
        .map((one) => tagged(`${bold(`cadre-${one.name()}`)}(1)`, one.description()))
        .join('\n'),
    ],
    ['Options', optionsOf(program.createHelp().visibleOptions(program), program.createHelp())],
    ['Exit status', exitStatus()],
    ['Environment', environment.map(([name, text]) => tagged(bold(name), text)).join('\n')],
    ['Files', files.map(([name, text]) => tagged(`\\fI${escaped(name)}\\fR`, text)).join('\n')],
    ['Examples', examplesIn(textAfter(program))],
    ['See also', seeAlso(commands.map((one) => `cadre-${one.name()}(1)`))],
  ]);
}

const environment = [
  ['CADRE_URL', 'Server address, as with `--url`.'],
  ['CADRE_TOKEN', 'API token.'],
  ['CADRE_CONFIG', 'Configuration file.'],
  ['CADRE_DATA_ROOT_DIR', 'Data directory, as with `--data-dir`.'],
  ['VISUAL, EDITOR', 'Editor for `cadre review`, a command with its arguments (default: vi).'],
  ['CADRE_FLEET', 'Address of the NATS server of a fleet, as with `--fleet`.'],
  ['CADRE_SECTION_KEY', 'Value of the configuration key `section.key`; see `cadre-config`(5).'],
] as const;

const files = [
  [
    '~/.config/cadre/config.toml',
    'Configuration file; see `cadre-config`(5). XDG_CONFIG_HOME replaces ~/.config.',
  ],
  ['~/.local/share/cadre', 'Data directory. XDG_DATA_HOME replaces ~/.local/share.'],
] as const;

const exitMeanings: Record<keyof typeof exitCodes, string> = {
  ok: 'The command succeeded.',
  failed: 'The command failed.',
  usage: 'The command line is invalid.',
  notFound: 'A named record or file does not exist.',
  auth: 'The token is missing or invalid.',
  refused: 'The server refused the request.',
  unreachable: 'No server answered.',
  conflict: 'The request conflicts with the state of the record.',
  timeout: 'A time limit was exceeded.',
  notPassed: 'The goal of `cadre run --until` ended, but no check has passed.',
  interrupted: 'The command was interrupted with Ctrl-C.',
  unread: 'The reader of the output left, and the process continues.',
};

function exitStatus(): string {
  const names = Object.keys(exitMeanings) as (keyof typeof exitCodes)[];
  return names.map((name) => tagged(bold(String(exitCodes[name])), exitMeanings[name])).join('\n');
}

function commandPage(command: Command, edition: Edition): string {
  const name = `cadre-${command.name()}`;
  const help = command.createHelp();
  const below = help.visibleCommands(command).filter((one) => one.name() !== 'help');
  // Some do something themselves, and have commands below them.
  const acts = below.length === 0 || command.registeredArguments.length > 0;
  const all = acts ? [command, ...below] : below;
  return page({ name, section: 1, about: command.description(), ...edition }, [
    ['Synopsis', all.map(synopsis).join('\n.br\n')],
    ['Description', prose(sentence(command.description()))],
    ['Commands', below.map((one) => section(one)).join('\n')],
    ...(acts ? ([['Arguments', argumentsOf(command, help)]] as const) : []),
    ['Options', optionsOf(ownOptions(command, help), help)],
    ['Global options', optionsOf(globalOptions(command, help), help)],
    ['Notes', notesIn(textAfter(command))],
    ['Examples', examplesIn(textAfter(command))],
    ['See also', seeAlso(['cadre(1)', 'cadre-config(5)', 'cadre-events(7)'])],
  ]);
}

/** A command below another, as a part of its page. */
function section(command: Command): string {
  const help = command.createHelp();
  const after = textAfter(command);
  return [
    `.SS ${escaped(pathOf(command))}`,
    prose(sentence(command.description())),
    argumentsOf(command, help),
    optionsOf(ownOptions(command, help), help),
    notesIn(after),
    examplesIn(after),
  ]
    .filter(Boolean)
    .join('\n');
}

function synopsis(command: Command): string {
  return `${bold(pathOf(command))} ${escaped(command.usage())}`;
}

function argumentsOf(command: Command, help: Help): string {
  return help
    .visibleArguments(command)
    .map((one) =>
      tagged(`\\fI${escaped(help.argumentTerm(one))}\\fR`, help.argumentDescription(one)),
    )
    .join('\n');
}

function ownOptions(command: Command, help: Help): Option[] {
  return help.visibleOptions(command).filter(({ long }) => long !== '--help');
}

/** Options that the parent commands pass to this command. */
function globalOptions(command: Command, help: Help): Option[] {
  const all = Object.assign(help, { showGlobalOptions: true }).visibleGlobalOptions(command);
  return all.filter(({ long }) => long !== '--version');
}

function optionsOf(options: readonly Option[], help: Help): string {
  return options.map((one) => tagged(bold(one.flags), help.optionDescription(one))).join('\n');
}

/** Text of the help of a command after its options. */
function textAfter(command: Command): string {
  let text = '';
  // It is an emitter of events, which its types do not say.
  const emitter = command as unknown as NodeJS.EventEmitter;
  emitter.emit('afterHelp', { error: false, command, write: (part: string) => (text += part) });
  return text;
}

function notesIn(after: string): string {
  const notes = after.replace(/^Examples:\n(?: {2}.*\n)+/m, '').trim();
  return notes && verbatim(notes);
}

function examplesIn(after: string): string {
  const lines = /^Examples:\n((?: {2}.*\n)+)/m.exec(after)?.[1];
  return lines === undefined ? '' : verbatim(lines);
}

function seeAlso(names: readonly string[]): string {
  return names.map((name) => name.replace(/^[^(]+/, (page) => bold(page))).join(',\n');
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`.replace(/\.\.$/, '.');
}

/** `cadre sessions list`. */
function pathOf(command: Command): string {
  return [...(command.parent ? [pathOf(command.parent)] : []), command.name()].join(' ');
}
