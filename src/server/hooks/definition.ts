import { deltaKinds, eventKinds, matches } from '../../api/events.ts';
import type { Config } from '../../core/config/schema.ts';
import { NOTIFY_HOOK } from '../../core/config/hooks-section.ts';
import type { Scope } from '../../core/events/event.ts';

/** A hook as the configuration has it, with what follows from that. */
export interface HookDefinition {
  name: string;
  enabled: boolean;
  /** The kinds as they are configured. */
  patterns: readonly string[];
  /** The events that are delivered to it. */
  scope: Scope & { kinds: ReadonlySet<string> };
  target: { command: string } | { url: string; secretFile: string };
  timeoutMs: number;
  /** Whether an approval that is asked for comes with a link that answers it. */
  link: boolean;
  /** `approval`: stdin is the whole approval of the event, while it is pending. */
  body: 'event' | 'approval';
  /** false: an event at which it fails is not tried again. */
  retries: boolean;
  /** The problem that only a person can solve; null: the hook can work. */
  problem: string | null;
}

/** The time limit of `approvals.notify_command`, in ms. */
const NOTIFY_LIMIT_MS = 60_000;

/** Returns the hooks of a configuration; `approvals.notify_command` is one of them. */
export function definitionsOf({ hooks, approvals }: Pick<Config, 'hooks' | 'approvals'>) {
  const definitions = hooks.map(definitionOf);
  const { notify_command: command } = approvals;
  if (command !== null) definitions.push(notifyDefinition(command));
  return definitions;
}

function definitionOf(hook: Config['hooks'][number]): HookDefinition {
  const { name, enabled, kinds: patterns, command, url, secret_file, timeout_ms, link } = hook;
  const kinds = kindsOf(patterns);
  return {
    name,
    enabled,
    patterns,
    scope: { ...scopeOf(hook), kinds },
    target: command === null ? { url: url ?? '', secretFile: secret_file ?? '' } : { command },
    timeoutMs: timeout_ms,
    link,
    body: 'event',
    retries: true,
    problem: problemOf(patterns),
  };
}

/** It behaves as it did before there were hooks: the approval itself on stdin, and one attempt. */
function notifyDefinition(command: string): HookDefinition {
  const patterns = ['approval.requested'];
  return {
    name: NOTIFY_HOOK,
    enabled: true,
    patterns,
    scope: { name: 'runtime', kinds: kindsOf(patterns) },
    target: { command },
    timeoutMs: NOTIFY_LIMIT_MS,
    link: false,
    body: 'approval',
    retries: false,
    problem: null,
  };
}

function scopeOf(hook: Config['hooks'][number]): Scope {
  for (const name of ['session', 'team', 'process', 'worktree'] as const) {
    const id = hook[name];
    if (id !== null) return { name, id };
  }
  return { name: 'runtime' };
}

/**
 * Deltas leave the log early, so they cannot be promised. A hook for events of hooks would cause its own events. Past turns
 * ran elsewhere: a hook would act on them long after they happened.
 */
function isOffered(kind: string): boolean {
  return !deltaKinds.has(kind) && !kind.startsWith('hook.') && kind !== 'past.turn';
}

function kindsOf(patterns: readonly string[]): Set<string> {
  return new Set(
    eventKinds.filter(
      (kind) => isOffered(kind) && patterns.some((one) => one === '*' || matches(one, kind)),
    ),
  );
}

function problemOf(patterns: readonly string[]): string | null {
  const wrong = patterns.find((one) => kindsOf([one]).size === 0);
  if (wrong === undefined) return null;
  if (wrong.startsWith('hook.'))
    return `kinds: "${wrong}" cannot be delivered, because it is an event about hooks`;
  if (wrong.startsWith('past.'))
    return `kinds: "${wrong}" cannot be delivered, because past turns ran in another program`;
  const isDelta = eventKinds.some((kind) => matches(wrong, kind));
  return isDelta
    ? `kinds: "${wrong}" is a streaming delta, which is not stored: use the event that closes the text`
    : `kinds: "${wrong}" matches no event kind`;
}
