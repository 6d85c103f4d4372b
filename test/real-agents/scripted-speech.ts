import type { ProviderFixture } from '../support/providers/fixture.ts';
import { signal } from './signal.ts';

/** Actions that a prompt causes in every agent with the scripted model (script.ts), whatever the names of its tools. */
export const scriptedSpeech = {
  sayWords: (text) => `@@say:${text}`,
  longStream: '@@slow:3000:40',
  showImages: '@@say:seen',
  recall: '@@say:I do',
  crash: {
    prompt: '@@slow:2000:50',
    provoke: signal('SIGKILL'),
    says: 'was killed by SIGKILL',
  },
  longLine: (bytes) => `@@flood:${bytes}`,
  silence: '@@slow:1:300000',
  ignoreCancel: '@@slow:2000:50',
  deafen: signal('SIGSTOP'),
} satisfies Partial<ProviderFixture>;
