import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { ProviderFixture } from '../support/providers/fixture.ts';
import { signal } from './signal.ts';

/** Prompts for every agent with the scripted model (script.ts). `touch` has it create the file `asked`. */
export const scriptedSpeech = (shell: (command: string) => string, touch = shell('touch asked')) =>
  ({
    severalAtOnce: false,
    patienceMs: 60_000,
    runTool: (word: string) => ({ prompt: shell(`echo ${word}`), title: `echo ${word}` }),
    askPermission: (cwd: string) => ({
      prompt: touch,
      names: 'touch asked',
      wasDone: () => existsSync(join(cwd, 'asked')),
    }),
    longTool: shell('echo begun; sleep 300'),
    think: (text: string) => `@@think:${text}`,
    loggedOut: '@@err:401',
    sayWords: (text: string) => `@@say:${text}`,
    longStream: '@@slow:30000:40',
    showImages: '@@say:seen',
    recall: '@@say:I do',
    crash: {
      prompt: '@@slow:2000:50',
      provoke: signal('SIGKILL'),
      says: 'was killed by SIGKILL',
    },
    longLine: (bytes: number) => `@@flood:${bytes}`,
    silence: '@@slow:1:300000',
    ignoreCancel: '@@slow:2000:50',
    deafen: signal('SIGSTOP'),
  }) satisfies Partial<ProviderFixture>;

/** The usage of one request to the scripted model. */
export const scriptedUsage = {
  input_tokens: 100,
  cached_input_tokens: 11,
  output_tokens: 22,
  total_tokens: 133,
  context_tokens: 133,
};

export const otherLogin = {
  leftOut:
    'its words for a refused key are its own: test/agents/health.test.ts has an agent of acp',
};
