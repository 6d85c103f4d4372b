import { expect } from 'vitest';
import type { ProviderFixture } from '../support/providers/fixture.ts';
import { imageInUrl, openAgentSetup } from './agent-setup.ts';
import { codexConfig } from './codex-env.ts';
import type { AgentName } from './install.ts';
import { isSandboxed } from './on-server.ts';
import { scriptedSpeech, scriptedUsage } from './scripted-speech.ts';

const elsewhere = 'test/providers/codex-rows has one that does';

/** A real Codex, whose model does what its prompts say (script.ts). */
export function codexFixture(agent: AgentName): ProviderFixture {
  return {
    provider: 'codex',
    open: (directory) =>
      openAgentSetup(directory, {
        configure: (options) => codexConfig({ agent, ...options }),
        imageOf: ({ image_url: image }) => imageInUrl(typeof image === 'string' ? image : ''),
      }),

    ...scriptedSpeech(shell, escalated('touch asked')),
    // In a sandbox, codex runs the command inside, where the mode does not require an approval.
    unasked: isSandboxed ? 'runs' : 'declined',

    garbage: { leftOut: `it writes no such line: ${elsewhere}` },
    lateAnswer: { leftOut: `it hears every interrupt: ${elsewhere} not` },
    lateWords: { leftOut: `it is quiet after its turn: ${elsewhere} not` },
    usage: {
      prompt: '@@say:counted',
      usage: { ...scriptedUsage, context_window: expect.any(Number) as number },
    },
  };
}

/** A prompt that has codex run a command. */
export function shell(cmd: string): string {
  return `@@tool:exec_command:${JSON.stringify({ cmd })}`;
}

/** One that has it run a command outside of its sandbox, for which it asks wherever it asks at all. */
export function escalated(cmd: string): string {
  const why = { sandbox_permissions: 'require_escalated', justification: 'it has to be' };
  return `@@tool:exec_command:${JSON.stringify({ cmd, ...why })}`;
}
