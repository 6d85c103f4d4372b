import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { ProviderSetup } from '../support/providers/fixture.ts';
import { startServer } from '../support/server.ts';
import { startModelServer } from './model-server.ts';
import { showsPrograms } from './on-server.ts';
import { type Part, partsOf, tapModel, textOf } from './model-tap.ts';

/** The directory and the model of an agent. */
export interface AgentLocation {
  /** A directory of the test's own; the agent keeps everything it writes in it. */
  home: string;
  modelUrl: string;
  /** Whether it asks before it does what may need permission. */
  asks: boolean;
}

export interface AgentSetupOptions {
  /** The configuration of a server with such an agent. */
  configure(place: AgentLocation): string;
  /** The model of the conversation, where the agent also has calls of its own to others. */
  model?: string;
  /** Reads the image of a part of a message to the model. */
  imageOf(part: Part): { mediaType?: string | undefined; data?: string | undefined } | undefined;
}

/** The setup of a real agent whose model follows the script in its prompts (script.ts). */
export async function openAgentSetup(
  directory: string,
  { configure, model: wanted, imageOf }: AgentSetupOptions,
): Promise<ProviderSetup> {
  await using stack = new AsyncDisposableStack();
  const model = stack.use(await startModelServer());
  const tap = stack.use(await tapModel(model.url));
  const home = join(directory, 'home');
  const data = join(directory, 'server');
  for (const path of [home, data]) mkdirSync(path);
  const owned = stack.move();
  const lastParts = () => {
    const messages =
      wanted === undefined ? tap.lastConversation() : (tap.conversationsWith(wanted).at(-1) ?? []);
    return messages.flatMap(partsOf);
  };
  return {
    start: ({ asks = false, env = {} } = {}) =>
      startServer(data, {
        env: { ...showsPrograms, ...env },
        config: configure({ home, modelUrl: tap.url, asks }),
      }),
    memoryIn: () => lastParts().map(textOf).join('\n'),
    imagesIn: () =>
      lastParts().flatMap((part) => {
        const { mediaType, data: encoded } = imageOf(part) ?? {};
        if (!mediaType || !encoded) return [];
        return [{ mediaType, bytes: Buffer.from(encoded, 'base64').length }];
      }),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Reads an image out of a URL that holds its data. */
export function imageInUrl(url: string): {
  mediaType?: string | undefined;
  data?: string | undefined;
} {
  const [, mediaType, data] = /^data:(.+);base64,(.*)$/.exec(url) ?? [];
  return { mediaType, data };
}
