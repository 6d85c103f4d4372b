import { randomUUID } from 'node:crypto';
import { join } from 'node:path';

/** Whether opencode does it, or asks the client first. */
export type OpencodeRule = 'allow' | 'ask';

/** The choices a test makes about the opencode it starts. */
export interface OpencodeOptions {
  /** A fresh directory of the test's own; opencode keeps everything it writes in it. */
  home: string;
  /** The `url` of the model server. */
  modelUrl: string;
  permission: { bash: OpencodeRule; edit: OpencodeRule };
  /** The URLs of plugins that it loads. */
  plugins?: string[];
}

/**
 * The environment in which opencode talks to the scripted model and to nothing else. It is complete but
 * for what any program needs (`PATH`, `LANG`), which the starter adds.
 */
export function opencodeEnvironment(options: OpencodeOptions): Record<string, string> {
  const { home } = options;
  return {
    HOME: home,
    // It unpacks libraries there and leaves them.
    TMPDIR: home,
    ...xdgDirectories(home),
    OPENCODE_DISABLE_AUTOUPDATE: '1',
    OPENCODE_DISABLE_CLAUDE_CODE: '1',
    OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
    OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
    OPENCODE_DISABLE_MODELS_FETCH: '1',
    OPENCODE_DISABLE_SHARE: '1',
    // At each start it installs its plugin package from npm into the config directory. Nothing here uses it,
    // and being refused does it no harm.
    npm_config_offline: 'true',
    // `opencode acp` also opens an HTTP server that runs commands; without a password anyone here may use it.
    OPENCODE_SERVER_PASSWORD: randomUUID(),
    OPENCODE_CONFIG_CONTENT: JSON.stringify(config(options)),
  };
}

/** The directories in which opencode keeps its files, all under `home`. */
export function xdgDirectories(home: string): Record<string, string> {
  return {
    XDG_CACHE_HOME: join(home, '.cache'),
    XDG_CONFIG_HOME: join(home, '.config'),
    XDG_DATA_HOME: join(home, '.local', 'share'),
    XDG_STATE_HOME: join(home, '.local', 'state'),
  };
}

function config({ modelUrl, permission, plugins = [] }: OpencodeOptions): object {
  const limit = { context: 100_000, output: 4096 };
  // opencode sends images to no other model.
  const seesImages = {
    attachment: true,
    modalities: { input: ['text', 'image'], output: ['text'] },
  };
  return {
    $schema: 'https://opencode.ai/config.json',
    autoupdate: false,
    share: 'disabled',
    snapshot: false,
    model: 'fake/fake-model',
    // Writes the titles; a model of its own, so that a test can tell those calls apart.
    small_model: 'fake/fake-small',
    enabled_providers: ['fake'],
    provider: {
      fake: {
        npm: '@ai-sdk/openai-compatible',
        name: 'Fake',
        options: { baseURL: `${modelUrl}/v1`, apiKey: 'dummy-key' },
        models: {
          // A price, so that opencode reports a cost.
          'fake-model': { name: 'Fake Model', limit, cost: { input: 1, output: 2 }, ...seesImages },
          'fake-small': { name: 'Fake Small', limit },
        },
      },
    },
    permission,
    plugin: plugins,
  };
}
