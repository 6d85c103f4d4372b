import { stringify } from 'smol-toml';
import { describeProvider } from '../agents/describe-provider.ts';
import type { ProviderFixture } from '../support/providers/fixture.ts';
import { type AgentLocation, openAgentSetup } from './agent-setup.ts';
import { geminiEnvironment } from './gemini-env.ts';
import { agentStart } from './install.ts';
import { otherLogin, scriptedSpeech } from './scripted-speech.ts';

const elsewhere = 'test/agents/acp has one that does';

/** A real Gemini CLI, whose model does what its prompts say (script.ts). */
const gemini: ProviderFixture = {
  provider: 'acp',
  open: (directory) =>
    openAgentSetup(directory, {
      configure: configuration,
      imageOf: ({ inlineData: image }) => image && { mediaType: image.mimeType, data: image.data },
    }),

  ...scriptedSpeech((command) => shell(command, 'does something')),
  unasked: 'fails',
  approvedAway: { leftOut: 'it asks again: its requests do not say the whole command' },

  think: { leftOut: `it puts a heading of its own above what its model thinks: ${elsewhere} not` },
  garbage: { leftOut: `it writes no such line: ${elsewhere}` },
  lateAnswer: { leftOut: `it hears every interrupt: ${elsewhere} not` },
  lateWords: { leftOut: `it is quiet after its turn: ${elsewhere} not` },
  loggedOut: otherLogin,
  usage: { prompt: '@@say:counted', usage: { input_tokens: 111, output_tokens: 22 } },
};

describeProvider('gemini', gemini);

function shell(command: string, description: string): string {
  return `@@tool:run_shell_command:${JSON.stringify({ command, description })}`;
}

function configuration({ asks, ...place }: AgentLocation): string {
  const { command, args } = agentStart('gemini');
  const allow = asks ? [] : ['run_shell_command'];
  const env = geminiEnvironment({ ...place, allow, clockStep: 1 });
  return stringify({
    providers: { acp: { agents: { gemini: { command, args, env, home: place.home } } } },
  });
}
