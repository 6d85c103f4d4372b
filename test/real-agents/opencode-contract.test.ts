import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'smol-toml';
import { describeProvider } from '../agents/describe-provider.ts';
import type { ProviderFixture } from '../support/providers/fixture.ts';
import { type AgentLocation, imageInUrl, openAgentSetup } from './agent-setup.ts';
import { agentStart } from './install.ts';
import { opencodeEnvironment } from './opencode-env.ts';
import { otherLogin, scriptedSpeech, scriptedUsage } from './scripted-speech.ts';

/** A real opencode, whose model does what its prompts say (script.ts), and a plugin the rest (opencode-plugin.ts). */
const opencode: ProviderFixture = {
  provider: 'acp',
  open: (directory) =>
    openAgentSetup(directory, {
      configure: configuration,
      model: 'fake-model',
      imageOf: ({ image_url: image }) => imageInUrl(typeof image === 'object' ? image.url : ''),
    }),

  ...scriptedSpeech((command) => bash(command, 'does something')),
  unasked: 'fails',

  garbage: {
    prompt: `order: noise this is no message\n${bash('true', 'does nothing')}`,
    texts: ['calling tool. ', 'RESULT[there was noise]'],
  },
  lateAnswer: 'order: dawdle begun\n@@say:as if nothing had been',
  hasBegun: (cwd) => existsSync(join(cwd, 'begun')),
  // It says that a turn has ended a moment after the turn has.
  lateWords: (text) => `order: later @@after:500:${text}\n@@say:now`,
  loggedOut: otherLogin,
  usage: {
    prompt: '@@say:counted',
    usage: { ...scriptedUsage, context_tokens: 111, context_window: 100_000 },
  },
};

describeProvider('opencode', opencode);

function bash(command: string, description: string): string {
  return `@@tool:bash:${JSON.stringify({ command, description })}`;
}

function configuration({ home, modelUrl, asks }: AgentLocation): string {
  const { command, args } = agentStart('opencode');
  const rule = asks ? 'ask' : 'allow';
  const permission = { bash: rule, edit: rule } as const;
  const plugins = [import.meta.resolve('./opencode-plugin.ts')];
  const env = opencodeEnvironment({ home, modelUrl, permission, plugins });
  return stringify({ providers: { acp: { command, args, env } } });
}
