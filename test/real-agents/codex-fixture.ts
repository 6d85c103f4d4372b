import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { ProviderFixture } from '../support/providers/fixture.ts';
import { imageInUrl, openAgentWorld } from './agent-world.ts';
import { codexConfig } from './codex-env.ts';
import type { AgentName } from './install.ts';
import { scriptedSpeech } from './scripted-speech.ts';

const elsewhere = 'test/providers/codex-rows has one that does';

/** A real Codex, whose model does what its prompts say (script.ts). */
export function codexFixture(agent: AgentName): ProviderFixture {
  return {
    provider: 'codex',
    severalAtOnce: false,
    patienceMs: 60_000,
    open: (directory) =>
      openAgentWorld(directory, {
        configure: (options) => codexConfig({ agent, ...options }),
        imageOf: ({ image_url: image }) => imageInUrl(typeof image === 'string' ? image : ''),
      }),

    ...scriptedSpeech,
    runTool: (word) => ({ prompt: shell(`echo ${word}`), title: `echo ${word}` }),
    askPermission: (cwd) => ({
      prompt: escalated('touch asked'),
      names: 'touch asked',
      wasDone: () => existsSync(join(cwd, 'asked')),
    }),
    unasked: 'declined',

    think: (text) => `@@think:${text}`,
    longTool: shell('echo begun; sleep 300'),
    garbage: { leftOut: `it writes no such line: ${elsewhere}` },
    lateAnswer: { leftOut: `it hears every interrupt: ${elsewhere} not` },
    lateWords: { leftOut: `it is quiet after its turn: ${elsewhere} not` },
    loggedOut: '@@err:401',
    usage: {
      prompt: '@@say:counted',
      usage: {
        input_tokens: 100,
        cached_input_tokens: 11,
        output_tokens: 22,
        total_tokens: 133,
        context_tokens: 133,
        context_window: expect.any(Number) as number,
      },
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
