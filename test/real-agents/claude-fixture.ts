import { expect } from 'vitest';
import type { ProviderFixture } from '../support/providers/fixture.ts';
import { openAgentSetup } from './agent-setup.ts';
import { claudeConfig } from './claude-env.ts';
import type { AgentName } from './install.ts';
import { scriptedSpeech, scriptedUsage } from './scripted-speech.ts';
import { signal } from './signal.ts';

/** A real Claude Code, whose model does what its prompts say (script.ts). */
export function claudeFixture(agent: AgentName): ProviderFixture {
  return {
    provider: 'claude',
    open: (directory) =>
      openAgentSetup(directory, {
        configure: ({ home, modelUrl, asks }) =>
          claudeConfig({ agent, home, modelUrl, allow: asks ? [] : ['Bash'] }),
        imageOf: ({ source }) => source && { mediaType: source.media_type, data: source.data },
      }),

    ...scriptedSpeech((command) => bash(command, 'does something')),
    unasked: 'declined',

    // It refuses a sleep that stands alone.
    longTool: bash('python3 -c "import time; time.sleep(300)"', 'sleeps'),
    crash: {
      // claude stores a prompt a moment after the turn has begun.
      prompt: '@@slow:2000:500',
      provoke: signal('SIGKILL'),
      says: 'was killed by SIGKILL',
    },
    garbage: { leftOut: 'it writes no such line: test/providers/claude-rows has one that does' },
    lateAnswer: {
      leftOut: 'it hears every interrupt: test/providers/claude-rows has one that does not',
    },
    lateWords: {
      leftOut: 'it is quiet after its result: test/providers/claude-rows has one that is not',
    },
    usage: {
      prompt: '@@say:counted',
      usage: { ...scriptedUsage, context_window: expect.any(Number) as number },
    },
  };
}

/** A prompt that has claude run a command. */
export function bash(command: string, description: string): string {
  return `@@tool:Bash:${JSON.stringify({ command, description })}`;
}
