import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'smol-toml';
import { describeProvider } from '../agents/describe-provider.ts';
import type { ProviderFixture } from '../support/providers/fixture.ts';
import { type AgentPlace, openAgentWorld } from './agent-world.ts';
import { geminiEnvironment } from './gemini-env.ts';
import { agentStart } from './install.ts';
import { scriptedSpeech } from './scripted-speech.ts';

const elsewhere = 'test/agents/acp has one that does';

/** A real Gemini CLI, whose model does what its prompts say (script.ts). */
const gemini: ProviderFixture = {
  provider: 'acp',
  severalAtOnce: false,
  patienceMs: 60_000,
  open: (directory) =>
    openAgentWorld(directory, {
      configure: configuration,
      imageOf: ({ inlineData: image }) => image && { mediaType: image.mimeType, data: image.data },
    }),

  ...scriptedSpeech,
  runTool: (word) => ({ prompt: shell(`echo ${word}`, 'prints a word'), title: `echo ${word}` }),
  askPermission: (cwd) => ({
    prompt: shell('touch asked', 'makes a file'),
    names: 'touch asked',
    wasDone: () => existsSync(join(cwd, 'asked')),
  }),
  unasked: 'fails',
  approvedAway: { leftOut: 'it asks again: its requests do not say the whole command' },

  think: { leftOut: `it puts a heading of its own above what its model thinks: ${elsewhere} not` },
  longTool: shell('echo begun; sleep 300', 'sleeps'),
  garbage: { leftOut: `it writes no such line: ${elsewhere}` },
  lateAnswer: { leftOut: `it hears every interrupt: ${elsewhere} not` },
  lateWords: { leftOut: `it is quiet after its turn: ${elsewhere} not` },
  loggedOut: {
    leftOut:
      'its words for a refused key are its own: test/agents/health.test.ts has an agent of acp',
  },
  usage: { prompt: '@@say:counted', usage: { input_tokens: 111, output_tokens: 22 } },
};

describeProvider('gemini', gemini);

function shell(command: string, description: string): string {
  return `@@tool:run_shell_command:${JSON.stringify({ command, description })}`;
}

function configuration({ asks, ...place }: AgentPlace): string {
  const { command, args } = agentStart('gemini');
  const allow = asks ? [] : ['run_shell_command'];
  const env = geminiEnvironment({ ...place, allow, clockStep: 1 });
  return stringify({ providers: { acp: { agents: { gemini: { command, args, env } } } } });
}
