import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The choices a test makes about the gemini it starts. */
export interface GeminiOptions {
  /** A directory of the test's own; gemini keeps everything it writes in it. */
  home: string;
  /** The `url` of the model server. */
  modelUrl: string;
  /** Minutes between the clocks of two consecutive geminis: see gemini-clock.ts. Default: the true time. */
  clockStep?: number;
  /** Tools that need no permission, by the names that its models know them by. */
  allow?: string[];
}

/**
 * The environment in which gemini talks to the scripted model and to nothing else. It is complete but for what any
 * program needs (`PATH`, `LANG`), which the starter adds.
 */
export function geminiEnvironment({
  home,
  modelUrl,
  allow = [],
  clockStep,
}: GeminiOptions): Record<string, string> {
  const own = join(home, '.gemini');
  const temporary = join(home, 'tmp');
  for (const path of [own, temporary]) mkdirSync(path, { recursive: true });
  writeFileSync(join(own, 'settings.json'), JSON.stringify(settings(allow)));
  return {
    HOME: home,
    TMPDIR: temporary,
    GEMINI_API_KEY: 'dummy-key',
    GOOGLE_GEMINI_BASE_URL: modelUrl,
    // One that it does not choose for itself: that takes a call of another model.
    GEMINI_MODEL: 'gemini-2.5-flash',
    ...(clockStep !== undefined && {
      GEMINI_CLOCK_STEP: String(clockStep),
      NODE_OPTIONS: `--import=${import.meta.resolve('./gemini-clock.ts')}`,
    }),
  };
}

function settings(allow: string[]): object {
  return {
    security: { auth: { selectedType: 'gemini-api-key' } },
    // It sends its client no output of a command that runs on a terminal.
    tools: { allowed: allow, shell: { enableInteractiveShell: false } },
    // A long line that says the same all along would be a loop.
    model: { disableLoopDetection: true },
    // Settings against all other requests to the network.
    privacy: { usageStatisticsEnabled: false },
    telemetry: { enabled: false },
    general: {
      enableAutoUpdate: false,
      enableAutoUpdateNotification: false,
      // Otherwise it deletes a session that was loaded once when it starts again.
      sessionRetention: { enabled: false },
    },
  };
}
