import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'smol-toml';
import { type AgentName, agentStart } from './install.ts';

/** The choices a test makes about the codex it starts. */
export interface CodexOptions {
  agent?: AgentName;
  /** A directory of the test's own; codex keeps everything it writes in it. */
  home: string;
  /** The `url` of the model server. */
  modelUrl: string;
  /** Whether codex, by its own configuration, asks before it leaves its sandbox. It has none otherwise. */
  asks?: boolean;
  /** Whether it logs in as at OpenAI, whose address is then the model server's. */
  login?: boolean;
  /** How often it tries a request again. Default: never. */
  retries?: number;
  /** More of its config.toml. */
  config?: Record<string, unknown>;
  /** More of `[providers.codex]`. */
  more?: Record<string, unknown> & { env?: Record<string, string>; home?: string };
}

/** The configuration of a server whose codex talks to the scripted model and to nothing else. */
export function codexConfig({
  home,
  agent = 'codex',
  more = {},
  ...options
}: CodexOptions): string {
  const { command, args } = agentStart(agent);
  const env = codexEnvironment(options, home, more.home);
  const codex = { command, args, ...more, env: { ...env, ...more.env } };
  return stringify({ providers: { codex } });
}

/** The environment in which codex talks to the scripted model and to nothing else. */
export function codexEnvironment(
  options: Omit<CodexOptions, 'home' | 'agent' | 'more'>,
  home: string,
  own = join(home, 'codex'),
): Record<string, string> {
  // Its helpers may not lie in what it takes for the temporary directory.
  const temporary = join(home, 'tmp');
  for (const path of [own, temporary]) mkdirSync(path, { recursive: true });
  writeFileSync(join(own, 'config.toml'), stringify(ownConfig(options)));
  return { HOME: home, TMPDIR: temporary, CODEX_HOME: own, SCRIPTED_KEY: 'dummy-key' };
}

/** Writes a catalog of one model, with so much room, and gives its path. */
export function writeCatalog(home: string, slug: string, contextWindow: number): string {
  const { command } = agentStart('codex');
  const env = { HOME: home, CODEX_HOME: home };
  const known = execFileSync(command, ['debug', 'models'], {
    env,
    encoding: 'utf8',
    maxBuffer: 1 << 26,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const { models } = JSON.parse(known) as { models: { slug: string }[] };
  const model = models.find((one) => one.slug === plainModel);
  const room = { context_window: contextWindow, max_context_window: contextWindow };
  const path = join(home, 'catalog.json');
  writeFileSync(path, JSON.stringify({ models: [{ ...model, slug, upgrade: null, ...room }] }));
  return path;
}

/** The newest model that is offered its tools one by one; a newer one is offered one tool that runs code. */
const plainModel = 'gpt-5.5';

function ownConfig({
  modelUrl,
  asks = false,
  login = false,
  retries = 0,
  config = {},
}: Omit<CodexOptions, 'home' | 'agent' | 'more'>): Record<string, unknown> {
  const permissions = asks
    ? { approval_policy: 'on-request', sandbox_mode: 'workspace-write' }
    : { approval_policy: 'never', sandbox_mode: 'danger-full-access' };
  const base_url = `${modelUrl}/v1`;
  const scripted = {
    name: 'Scripted',
    base_url,
    env_key: 'SCRIPTED_KEY',
    wire_api: 'responses',
    // With its own numbers it would try for long what a test has fail.
    request_max_retries: retries,
    stream_max_retries: retries,
  };
  return {
    model: plainModel,
    ...permissions,
    ...(login
      ? { openai_base_url: base_url }
      : { model_provider: 'scripted', model_providers: { scripted } }),
    // Settings against all other requests to the network.
    check_for_update_on_startup: false,
    analytics: { enabled: false },
    feedback: { enabled: false },
    features: { plugins: false, apps: false },
    ...config,
  };
}
