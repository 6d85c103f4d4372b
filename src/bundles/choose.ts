/** A part of the program that has a bundle of its own, so that its users wait for nothing else to load. */
export type Bundle = 'serve' | 'agent' | 'sidecar' | 'shim' | 'client' | 'complete' | 'program';

/** The commands that are clients of a server and nothing else. */
export const clientCommands: ReadonlySet<string> = new Set([
  'sessions',
  'diff',
  'queue',
  'usage',
  'budgets',
  'review',
  'approvals',
  'providers',
  'processes',
  'templates',
  'worktrees',
  'races',
  'teams',
  'events',
  'hooks',
  'tokens',
  'search',
  'status',
  'diagnostics',
  'metrics',
]);

/** The groups of commands by the singular of their names, which names them as well. */
export const singulars: Readonly<Record<string, string>> = {
  approval: 'approvals',
  budget: 'budgets',
  event: 'events',
  hook: 'hooks',
  process: 'processes',
  provider: 'providers',
  rule: 'rules',
  session: 'sessions',
  team: 'teams',
  template: 'templates',
  token: 'tokens',
  worktree: 'worktrees',
};

/** The options before a command that take the next argument as their value. */
export const valued: ReadonlySet<string> = new Set([
  '--url',
  '--token-file',
  '--on',
  '--data-dir',
  '--select',
  '--jq',
]);

/**
 * The bundle that holds what a command line asks for; `program` has all commands, and alone has the screen, which events
 * are shown on where there is a terminal.
 */
export function bundleFor(argv: readonly string[], hasTerminal: () => boolean): Bundle {
  const at = argv.indexOf('__complete');
  if (at >= 0 && argv[at + 1] === '--') return 'complete';
  const [name = '', second] = operandsOf(argv);
  const first = (Object.hasOwn(singulars, name) && singulars[name]) || name;
  if (first === 'serve') return 'serve';
  if (first === 'demo-agent') return 'agent';
  if (first === 'mcp' && second === 'serve') return 'sidecar';
  if (!clientCommands.has(first) || (first === 'events' && hasTerminal())) return 'program';
  return 'client';
}

/** The arguments that are neither options nor values of options before the command. */
export function operandsOf(argv: readonly string[]): string[] {
  return argv.filter((argument, i) => !argument.startsWith('-') && !isValue(argument, argv[i - 1]));
}

function isValue(argument: string, option: string | undefined): boolean {
  if (option === '--fleet') return isFleetAddress(argument);
  return option !== undefined && valued.has(option);
}

/** Whether the word behind `--fleet` is its address, which it may do without. */
export function isFleetAddress(argument: string | undefined): boolean {
  return argument?.includes('://') === true;
}
