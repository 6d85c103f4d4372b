import { expect } from 'vitest';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { ProviderFixture, ProviderWorld } from '../support/providers/fixture.ts';
import { startServer } from '../support/server.ts';
import { claudeConfig } from './claude-env.ts';
import type { AgentName } from './install.ts';
import { startModelServer } from './model-server.ts';
import { type Part, partsOf, tapModel, textOf } from './model-tap.ts';
import { signal } from './signal.ts';

/** A real Claude Code, whose model does what its prompts say (script.ts). */
export function claudeFixture(agent: AgentName): ProviderFixture {
  return {
    provider: 'claude',
    severalAtOnce: false,
    patienceMs: 60_000,
    open: (directory) => openWorld(agent, directory),

    sayWords: (text) => `@@say:${text}`,
    longStream: '@@slow:3000:40',
    runTool: (word) => ({ prompt: bash(`echo ${word}`, 'prints a word'), title: `echo ${word}` }),
    askPermission: (cwd) => ({
      prompt: bash('touch asked', 'makes a file'),
      names: 'touch asked',
      wasDone: () => existsSync(join(cwd, 'asked')),
    }),
    unasked: 'declined',
    showImages: '@@say:seen',
    recall: '@@say:I do',

    think: (text) => `@@think:${text}`,
    // It refuses a sleep that stands alone.
    longTool: bash('python3 -c "import time; time.sleep(300)"', 'sleeps'),
    crash: {
      // It writes down what it was told a moment after it has begun with it.
      prompt: '@@slow:2000:500',
      provoke: signal('SIGKILL'),
      says: 'was killed by SIGKILL',
    },
    garbage: { leftOut: 'it writes no such line: test/providers/claude-rows has one that does' },
    longLine: (bytes) => `@@flood:${bytes}`,
    silence: '@@slow:1:300000',
    lateAnswer: {
      leftOut: 'it hears every interrupt: test/providers/claude-rows has one that does not',
    },
    ignoreCancel: '@@slow:2000:50',
    deafen: signal('SIGSTOP'),
    lateWords: {
      leftOut: 'it is quiet after its result: test/providers/claude-rows has one that is not',
    },
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

/** A prompt that has claude run a command. */
export function bash(command: string, description: string): string {
  return `@@tool:Bash:${JSON.stringify({ command, description })}`;
}

async function openWorld(agent: AgentName, directory: string): Promise<ProviderWorld> {
  await using stack = new AsyncDisposableStack();
  const model = stack.use(await startModelServer());
  const tap = stack.use(await tapModel(model.url));
  const home = join(directory, 'home');
  const data = join(directory, 'server');
  for (const path of [home, data]) mkdirSync(path);
  const owned = stack.move();
  return {
    start: ({ asks = false, env = {} } = {}) => {
      const allow = asks ? [] : ['Bash'];
      return startServer(data, {
        env,
        config: claudeConfig({ agent, home, modelUrl: tap.url, allow }),
      });
    },
    memoryIn: () => tap.lastTold().flatMap(partsOf).map(textOf).join('\n'),
    imagesIn: () => tap.lastTold().flatMap(partsOf).flatMap(imageOf),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function imageOf({ type, source }: Part): { mediaType: string; bytes: number }[] {
  if (type !== 'image' || !source?.media_type || !source.data) return [];
  return [{ mediaType: source.media_type, bytes: Buffer.from(source.data, 'base64').length }];
}
