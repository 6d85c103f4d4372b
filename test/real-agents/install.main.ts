import { type AgentName, installAgent } from './install.ts';

/** Installs the real agents, or with AGENTS=part only the agents of a part of the tests. */
const part: AgentName[] = ['claude', 'codex'];
const all: AgentName[] = [
  ...part,
  'claude-old',
  'codex-old',
  'opencode',
  'gemini',
  'codex-acp',
  'goose',
  'acpx',
];

for (const name of process.env.AGENTS === 'part' ? part : all) await installAgent(name);
