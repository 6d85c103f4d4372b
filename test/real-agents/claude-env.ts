import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'smol-toml';
import { type AgentName, agentStart } from './install.ts';

/** The choices a test makes about the claude it starts. */
export interface ClaudeOptions {
  agent?: AgentName;
  /** A directory of the test's own; claude keeps everything it writes in it. */
  home: string;
  /** The `url` of the model server. */
  modelUrl: string;
  /** Tools that need no permission. */
  allow?: string[];
  /** More of `[providers.claude]`. */
  more?: Record<string, unknown> & { env?: Record<string, string> };
}

/** The configuration of a server whose claude talks to the scripted model and to nothing else. */
export function claudeConfig({
  agent = 'claude',
  home,
  modelUrl,
  allow = [],
  more = {},
}: ClaudeOptions): string {
  const config = join(home, 'claude');
  const temporary = join(home, 'tmp');
  for (const path of [config, temporary]) mkdirSync(path, { recursive: true });
  writeFileSync(join(config, 'settings.json'), JSON.stringify({ permissions: { allow } }));
  const { command, args } = agentStart(agent);
  const env = {
    HOME: home,
    TMPDIR: temporary,
    CLAUDE_CONFIG_DIR: config,
    ANTHROPIC_BASE_URL: modelUrl,
    ANTHROPIC_API_KEY: 'dummy-key',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    // It would try for minutes what a test has fail.
    CLAUDE_CODE_MAX_RETRIES: '0',
  };
  const claude = { command, args, ...more, env: { ...env, ...more.env } };
  return stringify({ providers: { claude } });
}
