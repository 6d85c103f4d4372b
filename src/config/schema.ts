import { z } from 'zod';
import { type ProviderId, providerIds } from '../api/provider-kinds.ts';
import { toolNames } from '../api/tool-names.ts';
import { nearest } from '../lib/nearest.ts';

const milliseconds = z.int().min(0).max(2_147_483_647);

/** The section of an agent that the user has installed. */
const installedAgent = (command: string) =>
  z
    .strictObject({
      /** Null: enabled where its command is found. */
      enabled: z.boolean().nullable().default(null),
      command: z.string().min(1).default(command),
      args: z.array(z.string()).default([]),
      env: z.record(z.string(), z.string()).default({}),
      /** A home of the agent that is cadre's alone; null: the user's own. */
      home: z.string().min(1).nullable().default(null),
    })
    .prefault({});

/** The section of each provider, `[providers.<id>]`. */
const providerSections = {
  acp: z
    .strictObject({
      enabled: z.boolean().default(true),
      command: z.string().min(1).nullable().default(null),
      args: z.array(z.string()).default([]),
      env: z.record(z.string(), z.string()).default({}),
      transport: z.string().default('stdio'),
      /** How long the agent may take to answer anything but a prompt. */
      request_timeout_ms: milliseconds.min(1).default(120_000),
    })
    .nullable()
    .default(null),
  codex: installedAgent('codex'),
  claude: installedAgent('claude'),
} satisfies Record<ProviderId, z.ZodType>;

/**
 * Everything that can be configured, with its default: config.toml, `CADRE_SECTION_KEY` and flags set these. In a
 * variable, a list is an array of JSON or TOML or has commas between, and a table is a JSON object. What a running server takes
 * over on a HUP is said in live.ts.
 */
export const configSchema = z.strictObject({
  public_base_url: z.url().nullable().default(null),
  server: z
    .strictObject({
      bind_address: z
        .string()
        .regex(/^(\[[^\]]+\]|[^:]+):\d{1,5}$/, 'has to be HOST:PORT')
        .default('127.0.0.1:7433'),
      allowed_hosts: z.array(z.string()).default([]),
      allowed_origins: z.array(z.string()).default([]),
      drain_ms: milliseconds.default(10_000),
      max_streams: z.int().min(1).max(1_000_000).default(4096),
      /** Of one token; null: a quarter of `max_streams`. The API token has no limit of its own. */
      max_streams_per_token: z.int().min(1).max(1_000_000).nullable().default(null),
      /** Of all kinds. One that is not used makes way for a new one; fewer where descriptors are scarce. */
      max_connections: z.int().min(1).max(1_000_000).default(8192),
      /** A request has to have arrived as a whole after so long. */
      request_timeout_ms: milliseconds.min(100).default(60_000),
    })
    .prefault({}),
  log: z
    .strictObject({
      level: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
    })
    .prefault({}),
  auth: z
    .strictObject({
      token: z.string().min(16).nullable().default(null),
      token_file: z.string().nullable().default(null),
    })
    .prefault({}),
  data: z
    .strictObject({
      root_dir: z.string().nullable().default(null),
      durability: z.enum(['full', 'normal']).default('full'),
    })
    .prefault({}),
  retention: z
    .strictObject({
      /** What events, records and logs may take; 0: no limit. */
      max_bytes: z
        .int()
        .min(0)
        .default(2 * 1024 ** 3),
      max_age_days: z.number().positive().nullable().default(null),
      min_free_bytes: z
        .int()
        .min(0)
        .default(256 * 1024 ** 2),
    })
    .prefault({}),
  processes: z
    .strictObject({
      /** Off: a command is split into words, and shell operators are refused. */
      allow_shell: z.boolean().default(true),
      max_concurrent: z.int().min(1).max(10_000).default(32),
      max_queued: z.int().min(0).max(1_000_000).default(1000),
      /** So many of one session run at once; its others wait, and those of other owners do not wait for them. */
      max_per_session: z.int().min(1).max(10_000).default(16),
      /** So many more of one session may wait: a further one is refused. */
      max_queued_per_session: z.int().min(0).max(1_000_000).default(100),
      default_timeout_ms: milliseconds.default(600_000),
      kill_grace_ms: milliseconds.default(5000),
      /** Of each stream: the first and the last half of it are kept. */
      max_output_bytes_per_process: z.int().min(1024).default(20_000_000),
      /** Variables of the server that processes do not get, beside those that no process gets. */
      env_remove: z.array(z.string()).default([]),
      /** Variables of the server that processes of sessions get beside those that agents do. */
      env_pass: z.array(z.string()).default([]),
    })
    .prefault({}),
  worktrees: z
    .strictObject({
      /** Null: below the data directory. */
      root_dir: z.string().min(1).nullable().default(null),
      /** Relative to the new worktree, else to its repository. */
      init_script_path: z.string().min(1).default('.cadre/worktree-init.sh'),
      deletion_policy_default: z
        .enum(['delete_on_last_claim', 'retain_on_last_claim', 'delete_if_clean'])
        .default('delete_on_last_claim'),
    })
    .prefault({}),
  sessions: z.strictObject({ turn_timeout_ms: milliseconds.nullable().default(null) }).prefault({}),
  approvals: z
    .strictObject({
      timeout_ms: milliseconds.nullable().default(null),
      notify_command: z.string().min(1).nullable().default(null),
      /** So many approvals of one session may be pending. */
      max_pending_per_session: z.int().min(1).max(10_000).default(32),
    })
    .prefault({}),
  gateway: z
    .strictObject({
      /** Tools that agents call without anybody being asked, in every mode but `read_only`. */
      free: z.array(z.enum(toolNames, { error: ({ input }) => noTool(input) })).default([]),
    })
    .prefault({}),
  teams: z
    .strictObject({
      /** Off: agents have no team tools; the routes of teams stay. */
      enabled: z.boolean().default(true),
      non_lead_can_add_members: z.boolean().default(false),
      non_lead_can_remove_members: z.boolean().default(false),
      /** So many messages of agents in a row, with no turn of a person between; 0: no limit. */
      max_hops: z.int().min(0).default(1000),
      /** So many members may live that one agent has spawned; what those have spawned counts, too. */
      max_spawned_per_session: z.int().min(0).max(10_000).default(16),
      model_presets: z
        .array(
          z.strictObject({
            name: z.string().min(1),
            provider: z.enum(providerIds),
            model: z.string().min(1).nullable().default(null),
            thinking_effort: z.string().min(1).nullable().default(null),
          }),
        )
        .default([]),
    })
    .prefault({}),
  providers: z
    .strictObject({
      idle_timeout_ms: milliseconds.default(900_000),
      max_live: z.int().min(1).max(10_000).default(32),
      ...providerSections,
    })
    .prefault({}),
});

export type Config = z.output<typeof configSchema>;

/** Why a value is no name of a tool, and which one may have been meant. */
function noTool(value: unknown): string {
  const [meant] = nearest(toolNames, String(value), (name) => name);
  return `"${String(value)}" is no tool; ${meant ? `did you mean "${meant}"?` : `there are ${toolNames.join(', ')}`}`;
}
