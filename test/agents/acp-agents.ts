import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'smol-toml';
import { geminiEnvironment } from './gemini-env.ts';
import { agentStart } from './install.ts';
import { opencodeEnvironment } from './opencode-env.ts';

/** The configuration of a server with an opencode and a gemini that ask, each with a home of its own below `home`. */
export function opencodeAndGemini(home: string, modelUrl: string): string {
  const [opencodeHome, geminiHome] = [join(home, 'opencode'), join(home, 'gemini')];
  for (const path of [opencodeHome, geminiHome]) mkdirSync(path, { recursive: true });
  const permission = { bash: 'ask', edit: 'ask' } as const;
  const opencode = opencodeEnvironment({ home: opencodeHome, modelUrl, permission });
  const gemini = geminiEnvironment({ home: geminiHome, modelUrl });
  const agents = {
    opencode: { ...agentStart('opencode'), env: opencode },
    gemini: { ...agentStart('gemini'), env: gemini },
  };
  return stringify({ providers: { acp: { agents } } });
}
