import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'smol-toml';
import { geminiEnvironment } from './gemini-env.ts';
import { agentStart } from './install.ts';
import { opencodeEnvironment, xdgDirectories } from './opencode-env.ts';

/** The home directories of these agents, below the home of a test. */
export function homesIn(home: string): { opencode: string; gemini: string } {
  return { opencode: join(home, 'opencode'), gemini: join(home, 'gemini') };
}

/** The configuration of a server with an opencode and a gemini that ask, each with a home of its own. */
export function opencodeAndGemini(home: string, modelUrl: string): string {
  const homes = homesIn(home);
  for (const path of Object.values(homes)) mkdirSync(path, { recursive: true });
  const permission = { bash: 'ask', edit: 'ask' } as const;
  const environments = {
    opencode: opencodeEnvironment({ home: homes.opencode, modelUrl, permission }),
    gemini: geminiEnvironment({ home: homes.gemini, modelUrl }),
  };
  const agents = Object.entries(environments).map(([name, env]) => {
    const start = agentStart(name as keyof typeof homes);
    return [name, { ...start, home: homes[name as keyof typeof homes], env: withoutHomes(env) }];
  });
  return stringify({ providers: { acp: { agents: Object.fromEntries(agents) as object } } });
}

/** The variables that do not say where an agent keeps its files: the server says that. */
function withoutHomes(env: Record<string, string>): Record<string, string> {
  const homes = new Set(['HOME', ...Object.keys(xdgDirectories(''))]);
  return Object.fromEntries(Object.entries(env).filter(([name]) => !homes.has(name)));
}
