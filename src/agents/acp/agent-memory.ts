import type { StoredTool } from '../attached-turn.ts';
import { unavailable } from '../provider.ts';
import type { Choices } from './choices.ts';
import type { DeferredOptions } from './deferred-options.ts';
import type { PermissionPromptMonitor } from './permission-prompt-monitor.ts';
import type { AcpProcess } from './process.ts';
import type { UpdateForwarder } from './update-forwarder.ts';
import type { UsageMeter } from './usage.ts';

/** The version of the saved memory. Another version of cadre cannot continue from it. */
const VERSION = 1;

/** The parts of an agent that remember something between two messages. */
export interface MemoryParts {
  process: AcpProcess;
  choices: Choices;
  promptMonitor: PermissionPromptMonitor;
  reports: UpdateForwarder;
  deferred: DeferredOptions;
  meter: UsageMeter;
}

/** The memory of an agent that works on a prompt, as JSON data. */
export type SavedAgent = ReturnType<typeof saveParts> & {
  /** The id of the request with the prompt. */
  prompt: number;
  /** Why the turn has to fail. */
  refused: { code: string; message: string } | null;
};

export function saveParts(parts: MemoryParts) {
  return {
    version: VERSION,
    process: parts.process.save(),
    choices: parts.choices.save(),
    promptMonitor: parts.promptMonitor.save(),
    reports: parts.reports.save(),
    deferred: parts.deferred.save(),
    meter: parts.meter.save(),
  };
}

/** Throws {@link ProviderError} if another version has saved the state. */
export function readSavedAgent(state: string): SavedAgent {
  const saved = JSON.parse(state) as SavedAgent;
  if (saved.version === VERSION) return saved;
  throw unavailable('acp: another version of cadre has saved the state of the agent');
}

/** `tools`: the tools of the turn as they are stored. */
export function restoreParts(
  parts: MemoryParts,
  saved: SavedAgent,
  tools: readonly StoredTool[],
): void {
  parts.process.restore(saved.process);
  parts.choices.restore(saved.choices);
  parts.promptMonitor.restore(saved.promptMonitor);
  parts.reports.restore(saved.reports, tools);
  parts.deferred.restore(saved.deferred);
  parts.meter.restore(saved.meter);
}
