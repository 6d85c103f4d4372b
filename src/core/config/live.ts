import { isDeepStrictEqual } from 'node:util';
import { isTree, keys, put, type Tree, valueAt } from './keys.ts';
import type { ConfigWithToken } from './token.ts';

/** The keys that a running server takes over; every other key needs a restart. */
const RELOADED = new Set([
  'servers',
  'server.allowed_hosts',
  'server.allowed_origins',
  'server.max_streams',
  'server.max_streams_per_token',
  'client.autostart',
  'client.history',
  'screen.theme',
  'screen.colors',
  'screen.keys',
  'screen.mouse',
  'screen.diff',
  'log.level',
  'defaults.provider',
  'defaults.agent',
  'defaults.model',
  'defaults.effort',
  'defaults.permission_mode',
  'client.permission_mode',
  'auth.token',
  'auth.token_file',
  'retention.max_bytes',
  'retention.max_age_days',
  'retention.min_free_bytes',
  'processes.max_concurrent',
  'processes.max_queued',
  'processes.max_per_session',
  'processes.max_queued_per_session',
  'processes.default_timeout_ms',
  'processes.kill_grace_ms',
  'processes.max_output_bytes_per_process',
  'processes.allow_shell',
  'processes.env_remove',
  'processes.env_pass',
  'snapshots.enabled',
  'snapshots.max_bytes',
  'snapshots.max_age_days',
  'sessions.turn_timeout_ms',
  'sessions.after_limit',
  'approvals.timeout_ms',
  'approvals.notify_command',
  'approvals.max_pending_per_session',
  'gateway.free',
  'providers.idle_timeout_ms',
  'providers.max_live',
  'teams.enabled',
  'teams.non_lead_can_add_members',
  'teams.non_lead_can_remove_members',
  'teams.max_hops',
  'teams.max_spawned_per_session',
  'teams.model_presets',
  'hooks',
  'approvals.link_base_url',
  'approvals.link_expires_ms',
]);

/** The current configuration. It may change, so readers keep no value of it. */
export class LiveConfig {
  #now: ConfigWithToken;

  constructor(config: ConfigWithToken) {
    this.#now = config;
  }

  get now(): ConfigWithToken {
    return this.#now;
  }

  /** Takes over the keys that may change at run time. Returns their names, and those that need a restart. */
  reload(next: ConfigWithToken): { changed: string[]; needRestart: string[] } {
    const different = keys.filter(
      ({ path }) => !isDeepStrictEqual(valueAt(this.#now, path), valueAt(next, path)),
    );
    const changed = different.filter(({ name }) => RELOADED.has(name));
    const before = this.#now;
    const now = structuredClone(before);
    for (const { path } of changed) put(now, path, valueAt(next, path));
    this.#now = now;
    const needRestart = different.filter(({ name }) => !RELOADED.has(name));
    return {
      changed: changed.map(({ name }) => name),
      needRestart: needRestart.flatMap((key) =>
        changedNames(key.name, valueAt(before, key.path), valueAt(next, key.path)),
      ),
    };
  }
}

/** The name of a key that has changed; of a table of sections, the names of the sections. */
function changedNames(name: string, before: unknown, after: unknown): string[] {
  if (!isTree(before ?? {}) || !isTree(after ?? {})) return [name];
  const [old, now] = [before ?? {}, after ?? {}] as [Tree, Tree];
  const names = Object.keys({ ...old, ...now });
  if (names.some((one) => !isTree(old[one] ?? now[one]))) return [name];
  return names
    .filter((one) => !isDeepStrictEqual(old[one], now[one]))
    .map((one) => `${name}.${one}`);
}
