import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { ProviderFixture, ProviderWorld } from '../support/providers/fixture.ts';
import { startServer } from '../support/server.ts';
import { codexConfig } from './codex-env.ts';
import type { AgentName } from './install.ts';
import { startModelServer } from './model-server.ts';
import { type Part, partsOf, tapModel, textOf } from './model-tap.ts';
import { signal } from './signal.ts';

const elsewhere = 'test/providers/codex-rows has one that does';

/** A real Codex, whose model does what its prompts say (script.ts). */
export function codexFixture(agent: AgentName): ProviderFixture {
  return {
    provider: 'codex',
    severalAtOnce: false,
    patienceMs: 60_000,
    open: (directory) => openWorld(agent, directory),

    sayWords: (text) => `@@say:${text}`,
    longStream: '@@slow:3000:40',
    runTool: (word) => ({ prompt: shell(`echo ${word}`), title: `echo ${word}` }),
    askPermission: (cwd) => ({
      prompt: escalated('touch asked'),
      names: 'touch asked',
      wasDone: () => existsSync(join(cwd, 'asked')),
    }),
    unasked: 'declined',
    showImages: '@@say:seen',
    recall: '@@say:I do',

    think: (text) => `@@think:${text}`,
    longTool: shell('echo begun; sleep 300'),
    crash: {
      prompt: '@@slow:2000:50',
      provoke: signal('SIGKILL'),
      says: 'was killed by SIGKILL',
    },
    garbage: { leftOut: `it writes no such line: ${elsewhere}` },
    longLine: (bytes) => `@@flood:${bytes}`,
    silence: '@@slow:1:300000',
    lateAnswer: { leftOut: `it hears every interrupt: ${elsewhere} not` },
    ignoreCancel: '@@slow:2000:50',
    deafen: signal('SIGSTOP'),
    lateWords: { leftOut: `it is quiet after its turn: ${elsewhere} not` },
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

async function openWorld(agent: AgentName, directory: string): Promise<ProviderWorld> {
  await using stack = new AsyncDisposableStack();
  const model = stack.use(await startModelServer());
  const tap = stack.use(await tapModel(model.url));
  const home = join(directory, 'home');
  const data = join(directory, 'server');
  for (const path of [home, data]) mkdirSync(path);
  const owned = stack.move();
  return {
    start: ({ asks = false, env = {} } = {}) =>
      startServer(data, { env, config: codexConfig({ agent, home, modelUrl: tap.url, asks }) }),
    memoryIn: () => tap.lastTold().flatMap(partsOf).map(textOf).join('\n'),
    imagesIn: () => tap.lastTold().flatMap(partsOf).flatMap(imageOf),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function imageOf({ image_url: image }: Part): { mediaType: string; bytes: number }[] {
  const url = typeof image === 'string' ? image : '';
  const [, mediaType, data] = /^data:(.+);base64,(.*)$/.exec(url) ?? [];
  return mediaType && data ? [{ mediaType, bytes: Buffer.from(data, 'base64').length }] : [];
}
