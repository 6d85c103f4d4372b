import { loginProviderIds, providerKinds } from '../../../api/provider-kinds.ts';
import { findProgram } from '../../../core/lib/find-program.ts';
import { catalogue } from '../../../agents/acp/catalogue.ts';

export interface KnownAgent {
  /** The value of `--agent`, or of `--provider` for an agent with its own provider. */
  name: string;
  display_name: string;
  flag: '--agent' | '--provider';
  command: string;
  install: string;
}

/** Lists all known agents: first the agents with their own providers, then the catalogue. */
export function knownAgents(): KnownAgent[] {
  const own = loginProviderIds.map((id) => ({
    name: id,
    display_name: providerKinds[id].displayName,
    flag: '--provider' as const,
    command: id,
    install: `install ${providerKinds[id].login.product}`,
  }));
  const others = catalogue.map(({ name, display_name, command, install }) => ({
    name,
    display_name,
    flag: '--agent' as const,
    command,
    install,
  }));
  return [...own, ...others];
}

export function agentsOnPath(env: NodeJS.ProcessEnv): (KnownAgent & { file: string })[] {
  return knownAgents().flatMap((agent) => {
    const file = findProgram(agent.command, env.PATH);
    return file === null ? [] : [{ ...agent, file }];
  });
}

/** Lines that say which agents are installed, and how one of `usable` is used: those that the server could start. */
export function adviceFor(
  env: NodeJS.ProcessEnv,
  configFile: string,
  usable: readonly string[],
): string[] {
  const found = agentsOnPath(env);
  if (found.length === 0)
    return [
      `no agent was found on PATH: install one (${knownAgents()
        .map(({ name }) => name)
        .join(', ')}), or try the demo agent: cadre stop, then cadre serve --demo`,
    ];
  const [name] = usable;
  return [
    `found on PATH: ${found.map(({ command }) => command).join(', ')}`,
    ...(name === undefined
      ? ['the server was started with another PATH and does not find them: restart the server']
      : [
          `to use ${name}, pass --agent ${name}; to make it the default, add to ${configFile}:`,
          '  [defaults]',
          `  agent = ${JSON.stringify(name)}`,
        ]),
  ];
}
