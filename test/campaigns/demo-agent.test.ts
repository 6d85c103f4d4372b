import { join } from 'node:path';
import { startServer } from '../support/server.ts';
import { describeProvider } from '../agents/describe-provider.ts';
import type { ProviderFixture } from '../support/providers/fixture.ts';

/** The agent of `cadre serve --demo`, which does what its prompts say: src/agents/demo/script.ts. */
const demoAgent: ProviderFixture = {
  provider: 'acp',
  severalAtOnce: true,
  offersModels: false,
  open: async (directory) => ({
    start: ({ env = {} } = {}) => startServer(join(directory, 'server'), { env }),
    memoryIn: ({ text }) => text ?? '',
    imagesIn: ({ text }) =>
      [...(text ?? '').matchAll(/\((\S+), (\d+) bytes\)/g)].map(([, mediaType = '', bytes]) => ({
        mediaType,
        bytes: Number(bytes),
      })),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }),

  sayWords: (text) => `say ${text}`,
  longStream: 'repeat 6000 20 and on ',
  runTool: (word) => ({ prompt: `tool run: print => ${word}`, title: 'run: print' }),
  askPermission: () => ({ prompt: 'ask run: touch asked', names: 'run: touch asked' }),
  unasked: 'fails',
  showImages: 'image',
  recall: 'history',

  think: (text) => `think ${text}; say done`,
  longTool: { leftOut: 'a tool of the demo agent ends as soon as it has started' },
  crash: { prompt: 'say it comes to this; wait 200; crash 3', says: 'exited with code 3' },
  garbage: { prompt: 'say before; garbage; say after', texts: ['before', 'after'] },
  longLine: (bytes) => `longline ${bytes}`,
  silence: 'silent',
  lateAnswer: 'ignore-cancel; say one; wait 400; say two',
  ignoreCancel: 'ignore-cancel; say no; silent',
  lateWords: (text) => `say now; late ${text}`,
  loggedOut: { leftOut: 'it needs no login: test/agents/health.test.ts has an agent that does' },
  usage: {
    prompt: 'usage 1500 200000; say two words',
    usage: {
      input_tokens: 1498,
      output_tokens: 2,
      total_tokens: 1500,
      context_tokens: 1500,
      context_window: 200_000,
    },
  },
};

describeProvider('the demo agent', demoAgent);
