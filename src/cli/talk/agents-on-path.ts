import { findProgram } from '../../lib/find-program.ts';

/** An agent that may be installed. Of one that speaks ACP, `args` make it do so; another has a provider of its own. */
interface KnownAgent {
  command: string;
  args: readonly string[] | null;
}

/** The agents that many people have, with their own providers first. */
const known: readonly KnownAgent[] = [
  { command: 'claude', args: null },
  { command: 'codex', args: null },
  { command: 'opencode', args: ['acp'] },
  { command: 'gemini', args: ['--acp'] },
  { command: 'goose', args: ['acp'] },
  { command: 'qwen', args: ['--acp'] },
  { command: 'copilot', args: ['--acp', '--stdio'] },
  { command: 'cursor-agent', args: ['acp'] },
  { command: 'kimi', args: ['acp'] },
];

/** The known agents that PATH has. */
export function agentsOnPath(env: NodeJS.ProcessEnv): (KnownAgent & { file: string })[] {
  return known.flatMap((agent) => {
    const file = findProgram(agent.command, env.PATH);
    return file === null ? [] : [{ ...agent, file }];
  });
}

/** How an agent that speaks ACP and is installed becomes the one of the provider acp, in a line; null without one. */
export function acpAdvice(env: NodeJS.ProcessEnv): string | null {
  const speaker = agentsOnPath(env).find(({ args }) => args !== null);
  if (!speaker) return null;
  const { command, args } = speaker;
  return `${command} is installed: write command = "${command}" and args = ${JSON.stringify(args)} under [providers.acp]`;
}

/** Lines that say which agents are installed, and how the server gets one that speaks ACP. */
export function adviceFor(env: NodeJS.ProcessEnv, configFile: string): string[] {
  const found = agentsOnPath(env);
  if (found.length === 0)
    return [
      `no agent was found on PATH: install one (${known.map(({ command }) => command).join(', ')}), or try cadre serve --demo`,
    ];
  const speaker = found.find(({ args }) => args !== null);
  return [
    `found on PATH: ${found.map(({ command }) => command).join(', ')}`,
    ...(speaker
      ? [
          `to use ${speaker.command}, write into ${configFile} and start the server again:`,
          '  [providers.acp]',
          `  command = ${JSON.stringify(speaker.command)}`,
          `  args = ${JSON.stringify(speaker.args)}`,
        ]
      : ['a server that was started with another PATH does not find them: start it again']),
  ];
}
