import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { xdgDirectories } from './opencode-env.ts';

/** The agents that can be installed, and acpx, which drives agents: each is a directory in `install/` with a package.json and its lock file. */
export type AgentName =
  | 'opencode'
  | 'gemini'
  | 'codex-acp'
  | 'goose'
  | 'acpx'
  | 'claude'
  | 'claude-old'
  | 'codex'
  | 'codex-old';

/** Command line that starts an agent on its standard streams. */
export interface AgentStart {
  command: string;
  args: string[];
}

interface Agent {
  /** The npm package, pinned in the agent's package.json. */
  packageName: string;
  /** The program, from the agent's directory. */
  program: string;
  args: string[];
  /** Whether the Node of this project has to run it, because it needs a newer one than the machine may have. */
  needsOurNode?: boolean;
}

const claude: Agent = {
  packageName: '@anthropic-ai/claude-code',
  // Named .exe on every platform: the package's install script links the right binary there.
  program: 'node_modules/@anthropic-ai/claude-code/bin/claude.exe',
  args: [],
};

const codex: Agent = {
  packageName: '@openai/codex',
  // The binary itself: its launcher is a Node process that stays beside it.
  program: `node_modules/@openai/codex-linux-${process.arch}/vendor/${machine()}-unknown-linux-musl/bin/codex`,
  args: [],
};

const agents: Record<AgentName, Agent> = {
  opencode: {
    packageName: 'opencode-ai',
    // As claude's.
    program: 'node_modules/opencode-ai/bin/opencode.exe',
    args: ['acp'],
  },
  gemini: {
    packageName: '@google/gemini-cli',
    program: 'node_modules/.bin/gemini',
    // It offers the tools of its client only in a trusted directory.
    args: ['--acp', '--skip-trust'],
  },
  'codex-acp': {
    packageName: '@agentclientprotocol/codex-acp',
    program: 'node_modules/.bin/codex-acp',
    args: [],
  },
  goose: {
    // npm has its Linux binary for this architecture alone.
    packageName: '@aaif/goose-binary-linux-x64',
    program: 'node_modules/@aaif/goose-binary-linux-x64/bin/goose',
    args: ['acp', '--with-builtin', 'developer'],
  },
  acpx: {
    packageName: 'acpx',
    program: 'node_modules/acpx/dist/cli.js',
    args: [],
    needsOurNode: true,
  },
  claude,
  'claude-old': claude,
  codex,
  'codex-old': codex,
};

const execute = promisify(execFile);

/** How to start an agent that `installAgent` has installed. */
export function agentStart(name: AgentName): AgentStart {
  const { command, args } = programOf(name);
  return { command, args: [...args, ...agents[name].args] };
}

/**
 * Installs the pinned release of an agent, unless it is there already. Not meant for two callers at once:
 * call it before the tests, not in each.
 */
export async function installAgent(name: AgentName): Promise<void> {
  const { packageName } = agents[name];
  const directory = directoryOf(name);
  const program = programOf(name);
  const wanted = await pinnedVersion(directory, packageName);

  if ((await versionOf(program)) === wanted) {
    say(`${name} ${wanted} is installed`);
  } else {
    say(`installing ${name} ${wanted} from npm; this happens once`);
    await install(directory);
    const found = await versionOf(program);
    if (found !== wanted)
      throw new Error(`${name} is ${found ?? 'not runnable'} after npm install, not ${wanted}`);
  }
}

function programOf(name: AgentName): AgentStart {
  const { program, needsOurNode = false } = agents[name];
  const file = join(directoryOf(name), program);
  return needsOurNode ? { command: process.execPath, args: [file] } : { command: file, args: [] };
}

/** The architecture, as compilers call it. */
function machine(): string {
  return process.arch === 'arm64' ? 'aarch64' : 'x86_64';
}

function directoryOf(name: AgentName): string {
  return join(import.meta.dirname, 'install', name);
}

async function pinnedVersion(directory: string, packageName: string): Promise<string> {
  const text = await readFile(join(directory, 'package.json'), 'utf8');
  const { dependencies } = z
    .object({ dependencies: z.record(z.string(), z.string()) })
    .parse(JSON.parse(text));
  const version = dependencies[packageName];
  if (version === undefined)
    throw new Error(`${directory}/package.json does not pin ${packageName}`);
  return version;
}

/** Version that the program reports. Empty if the program is missing or is the stub of an unfinished installation. */
async function versionOf({ command, args }: AgentStart): Promise<string | undefined> {
  try {
    const { stdout } = await runAside(command, [...args, '--version'], 30_000);
    // Some say their name before it, some after.
    return /\d+\.\d+\.\d+\S*/.exec(stdout)?.[0];
  } catch {
    return undefined;
  }
}

async function install(directory: string): Promise<void> {
  // npm does not run the install script again for a package it finds unpacked, even one left half done.
  await rm(join(directory, 'node_modules'), { recursive: true, force: true });
  // With --prefix npm would not read the machine's own configuration, such as whom to trust.
  await runAside('npm', ['install', '--no-audit', '--no-fund'], 600_000, directory);
}

/**
 * Runs a program that may start the agent (the install script does, to try the binary) with directories
 * to throw away: even for `--version`, opencode makes its own in the user's home.
 * HOME itself stays, since npm finds its configuration there.
 */
async function runAside(
  command: string,
  args: string[],
  timeout: number,
  cwd?: string,
): Promise<{ stdout: string }> {
  const directory = await mkdtemp(join(tmpdir(), 'cadre-install-'));
  try {
    return await execute(command, args, {
      timeout,
      cwd,
      env: {
        ...process.env,
        PATH: ownPath(),
        TMPDIR: directory,
        CLAUDE_CONFIG_DIR: directory,
        CODEX_HOME: directory,
        GEMINI_CLI_HOME: directory,
        ...xdgDirectories(directory),
      },
    });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

function say(line: string): void {
  process.stderr.write(`test-agents: ${line}\n`);
}

/** Run by the Node of this project, npm would not find the machine's own configuration either. */
function ownPath(): string {
  const directories = (process.env.PATH ?? '').split(delimiter);
  return directories.filter((one) => !one.endsWith(join('node_modules', '.bin'))).join(delimiter);
}
