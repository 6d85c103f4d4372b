import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'smol-toml';
import { describeProvider } from '../providers/describe-provider.ts';
import { agentsOf } from '../providers/support/calls.ts';
import type { ProviderFixture, ProviderWorld } from '../providers/support/fixture.ts';
import { startServer } from '../support/server.ts';
import { agentStart } from './install.ts';
import { startModelServer } from './model-server.ts';
import { type ChatMessage, tapModel } from './model-tap.ts';
import { opencodeEnvironment } from './opencode-env.ts';

const noFaults = 'opencode has no way to be made to do this';

/** A real opencode, whose model does what its prompts say: script.ts. */
const opencode: ProviderFixture = {
  provider: 'acp',
  severalAtOnce: false,
  open: openWorld,

  sayWords: (text) => `@@say:${text}`,
  longStream: '@@slow:3000:40',
  runTool: (word) => ({ prompt: bash(`echo ${word}`, 'prints a word'), title: `echo ${word}` }),
  askPermission: (cwd) => ({
    prompt: bash('touch asked', 'makes a file'),
    names: 'touch asked',
    wasDone: () => existsSync(join(cwd, 'asked')),
  }),
  showImages: '@@say:seen',
  recall: '@@say:I do',

  think: (text) => `@@think:${text}`,
  longTool: bash('echo begun; sleep 300', 'sleeps'),
  crash: {
    prompt: '@@slow:2000:50',
    provoke: (server) => agentsOf(server).forEach((pid) => process.kill(pid, 'SIGKILL')),
    says: 'was killed by SIGKILL',
  },
  garbage: { leftOut: noFaults },
  longLine: {
    leftOut: 'opencode cuts what its tools print, and its messages come in small pieces',
  },
  silence: '@@slow:1:300000',
  lateAnswer: { leftOut: 'opencode ends a turn within 0.1 s of the interrupt' },
  ignoreCancel: { leftOut: 'opencode ends a turn within 0.1 s of the interrupt' },
  lateWords: { leftOut: noFaults },
  usage: {
    prompt: '@@say:counted',
    usage: {
      input_tokens: 100,
      cached_input_tokens: 11,
      output_tokens: 22,
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
    memoryIn: () => lastTold().map(textOf).join('\n'),
    imagesIn: () => lastTold().flatMap(imagesOf),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function configuration(home: string, modelUrl: string, asks: boolean): string {
  const { command, args } = agentStart('opencode');
  const rule = asks ? 'ask' : 'allow';
  const env = opencodeEnvironment({ home, modelUrl, permission: { bash: rule, edit: rule } });
  return stringify({ providers: { acp: { command, args, env: withImages(env) } } });
}

/** Its model sees images, too: opencode sends them to no other. */
function withImages(env: Record<string, string>): Record<string, string> {
  const config = JSON.parse(env.OPENCODE_CONFIG_CONTENT ?? '{}') as {
    provider: { fake: { models: Record<string, object> } };
  };
  const { models } = config.provider.fake;
  models['fake-model'] = {
    ...models['fake-model'],
    attachment: true,
    modalities: { input: ['text', 'image'], output: ['text'] },
  };
  return { ...env, OPENCODE_CONFIG_CONTENT: JSON.stringify(config) };
}

function textOf({ content }: ChatMessage): string {
  if (typeof content === 'string') return content;
  return (content ?? []).map(({ text = '' }) => text).join('\n');
}

function imagesOf({ content }: ChatMessage): { mediaType: string; bytes: number }[] {
  if (!Array.isArray(content)) return [];
  return content.flatMap(({ image_url: image }) => {
    const [, mediaType, data] = /^data:(.+);base64,(.*)$/.exec(image?.url ?? '') ?? [];
    return mediaType && data ? [{ mediaType, bytes: Buffer.from(data, 'base64').length }] : [];
  });
}
