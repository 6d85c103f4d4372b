import { stringify } from 'smol-toml';
import { describeProvider } from '../agents/describe-provider.ts';
import { type AgentLocation, imageInUrl, openAgentSetup } from './agent-setup.ts';
import { codexEnvironment } from './codex-env.ts';
import { codexFixture } from './codex-fixture.ts';
import { agentStart } from './install.ts';
import { otherLogin } from './scripted-speech.ts';

/** A real codex-acp, whose Codex has a model that does what its prompts say (script.ts). */
describeProvider('codex-acp', {
  ...codexFixture('codex'),
  loggedOut: otherLogin,
  provider: 'acp',
  open: (directory) =>
    openAgentSetup(directory, {
      configure: configuration,
      model: 'gpt-5.5',
      imageOf: ({ image_url: image }) => imageInUrl(typeof image === 'string' ? image : ''),
    }),
  unasked: 'fails',
  // The only way to decline that it offers is to have it stop.
  declinedEnd: 'turn.interrupted',
  think: { leftOut: 'it puts an empty line before what its model thinks' },
});

function configuration({ asks, modelUrl, home }: AgentLocation): string {
  const { command, args } = agentStart('codex-acp');
  const env = {
    ...codexEnvironment({ modelUrl, asks }, home),
    INITIAL_AGENT_MODE: asks ? 'workspace-write' : 'agent-full-access',
  };
  return stringify({ providers: { acp: { agents: { 'codex-acp': { command, args, env } } } } });
}
