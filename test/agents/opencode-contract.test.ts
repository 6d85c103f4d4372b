import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'smol-toml';
import { describeProvider } from '../support/providers/describe-provider.ts';
import type { ProviderFixture, ProviderWorld } from '../support/providers/fixture.ts';
import { startServer } from '../support/server.ts';
import { agentStart } from './install.ts';
import { startModelServer } from './model-server.ts';
import { type Part, partsOf, tapModel, textOf } from './model-tap.ts';
import { opencodeEnvironment } from './opencode-env.ts';
import { signal } from './signal.ts';

/** A real opencode, whose model does what its prompts say (script.ts), and a plugin the rest (opencode-plugin.ts). */
const opencode: ProviderFixture = {
  provider: 'acp',
  severalAtOnce: false,
  patienceMs: 60_000,
  open: openWorld,

  sayWords: (text) => `@@say:${text}`,
  longStream: '@@slow:3000:40',
  runTool: (word) => ({ prompt: bash(`echo ${word}`, 'prints a word'), title: `echo ${word}` }),
  askPermission: (cwd) => ({
    prompt: bash('touch asked', 'makes a file'),
    names: 'touch asked',
    wasDone: () => existsSync(join(cwd, 'asked')),
  }),
  unasked: 'fails',
  showImages: '@@say:seen',
  recall: '@@say:I do',

  think: (text) => `@@think:${text}`,
  longTool: bash('echo begun; sleep 300', 'sleeps'),
  crash: {
    prompt: '@@slow:2000:50',
    provoke: signal('SIGKILL'),
    says: 'was killed by SIGKILL',
  },
  garbage: {
    prompt: `order: noise this is no message\n${bash('true', 'does nothing')}`,
    texts: ['calling tool. ', 'RESULT[there was noise]'],
  },
  longLine: (bytes) => `@@flood:${bytes}`,
  silence: '@@slow:1:300000',
  lateAnswer: 'order: dawdle begun\n@@say:as if nothing had been',
  hasBegun: (cwd) => existsSync(join(cwd, 'begun')),
  ignoreCancel: '@@slow:2000:50',
  deafen: signal('SIGSTOP'),
  // It says that a turn has ended a moment after the turn has.
  lateWords: (text) => `order: later @@after:500:${text}\n@@say:now`,
  usage: {
    prompt: '@@say:counted',
    usage: {
      input_tokens: 100,
      cached_input_tokens: 11,
      output_tokens: 22,
      total_tokens: 133,
      context_tokens: 111,
      context_window: 100_000,
    },
  },
};

describeProvider('opencode', opencode);

function bash(command: string, description: string): string {
  return `@@tool:bash:${JSON.stringify({ command, description })}`;
}

async function openWorld(directory: string): Promise<ProviderWorld> {
  await using stack = new AsyncDisposableStack();
  const model = stack.use(await startModelServer());
  const tap = stack.use(await tapModel(model.url));
  const home = join(directory, 'home');
  const data = join(directory, 'server');
  for (const path of [home, data]) mkdirSync(path);
  const lastTold = () => tap.conversationsWith('fake-model').at(-1) ?? [];
  const owned = stack.move();
  return {
    start: ({ asks = false, env = {} } = {}) =>
      startServer(data, { env, config: configuration(home, tap.url, asks) }),
    memoryIn: () => lastTold().flatMap(partsOf).map(textOf).join('\n'),
    imagesIn: () => lastTold().flatMap(partsOf).flatMap(imageOf),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function configuration(home: string, modelUrl: string, asks: boolean): string {
  const { command, args } = agentStart('opencode');
  const rule = asks ? 'ask' : 'allow';
  const permission = { bash: rule, edit: rule } as const;
  const plugins = [import.meta.resolve('./opencode-plugin.ts')];
  const env = opencodeEnvironment({ home, modelUrl, permission, plugins });
  return stringify({ providers: { acp: { command, args, env } } });
}

function imageOf({ image_url: image }: Part): { mediaType: string; bytes: number }[] {
  const url = typeof image === 'object' ? image.url : '';
  const [, mediaType, data] = /^data:(.+);base64,(.*)$/.exec(url) ?? [];
  return mediaType && data ? [{ mediaType, bytes: Buffer.from(data, 'base64').length }] : [];
}
