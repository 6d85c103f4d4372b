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
 * Every key of the configuration with its default. config.toml, variables `CADRE_SECTION_KEY` and flags set them. In a
 * variable, a list is an array in JSON or TOML, or its values with commas between them; a table is a JSON object.
 * live.ts lists the keys that a running server takes over on SIGHUP.
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
      /** The streams of one token; null: a quarter of `max_streams`. The API token has no limit of its own. */
      max_streams_per_token: z.int().min(1).max(1_000_000).nullable().default(null),
      /** All connections. An idle one is closed for a new one. The limit is lower where descriptors are scarce. */
      max_connections: z.int().min(1).max(1_000_000).default(8192),
      /** The time within which a whole request has to arrive. */
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
      /** The size of events, records and logs together; 0: no limit. */
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
      /** false: a command is split into words, and shell operators are refused. */
      allow_shell: z.boolean().default(true),
      max_concurrent: z.int().min(1).max(10_000).default(32),
      max_queued: z.int().min(0).max(1_000_000).default(1000),
      /** The running processes of one session. Its others wait, and those of other owners do not wait for them. */
      max_per_session: z.int().min(1).max(10_000).default(16),
      /** The waiting processes of one session. A further one is refused. */
      max_queued_per_session: z.int().min(0).max(1_000_000).default(100),
      default_timeout_ms: milliseconds.default(600_000),
      kill_grace_ms: milliseconds.default(5000),
      /** Of each stream this many bytes are kept: the first half and the last half. */
      max_output_bytes_per_process: z.int().min(1024).default(20_000_000),
      /** Variables of the server that processes do not get, in addition to those that no process gets. */
      env_remove: z.array(z.string()).default([]),
      /** Variables of the server that processes of sessions get, in addition to those that agents get. */
      env_pass: z.array(z.string()).default([]),
    })
    .prefault({}),
  worktrees: z
    .strictObject({
      /** null: a directory below the data directory. */
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
      /** The pending approvals of one session. */
      max_pending_per_session: z.int().min(1).max(10_000).default(32),
    })
    .prefault({}),
  gateway: z
    .strictObject({
      /** Tools that agents call without an approval, in every mode but `read_only`. */
      free: z.array(z.enum(toolNames, { error: ({ input }) => noTool(input) })).default([]),
    })
    .prefault({}),
  teams: z
    .strictObject({
      /** false: agents have no team tools. The routes of teams stay. */
      enabled: z.boolean().default(true),
      non_lead_can_add_members: z.boolean().default(false),
      non_lead_can_remove_members: z.boolean().default(false),
      /** The messages of agents in a row, without a turn of a person between them; 0: no limit. */
      max_hops: z.int().min(0).default(1000),
      /** The open members that one agent has spawned, including the members that those have spawned. */
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

/** The message for a value that is no name of a tool, with the nearest name. */
function noTool(value: unknown): string {
  const [meant] = nearest(toolNames, String(value), (name) => name);
  return `"${String(value)}" is no tool; ${meant ? `did you mean "${meant}"?` : `there are ${toolNames.join(', ')}`}`;
}
