import { z } from 'zod';
import { afterLimit } from '../../api/after-limit.ts';
import { agentName, type ProviderId, providerIds } from '../../api/provider-kinds.ts';
import { toolNames } from '../../api/tool-names.ts';
import { nearest } from '../lib/nearest.ts';
import { fleetContradictions } from './fleet-section.ts';
import { clientSection, screenSection } from './screen-section.ts';
import { hookSection, linkBase } from './hooks-section.ts';
import { agentSandboxSection, sandboxSection } from './sandbox-section.ts';
import { valueText } from '../lib/value-text.ts';

const milliseconds = z.int().min(0).max(2_147_483_647);
const hostPort =
  /^(\[[^\]]+\]|[^:]+):([0-5]?\d{1,4}|6([0-4]\d{3}|5([0-4]\d\d|5([0-2]\d|3[0-5]))))$/;

/** The section of a provider whose agent is a program that the user has installed. */
const installedAgent = (command: string) =>
  z
    .strictObject({
      /** null: enabled if its command is found. */
      enabled: z.boolean().nullable().default(null),
      command: z.string().min(1).default(command),
      args: z.array(z.string()).default([]),
      env: z.record(z.string(), z.string()).default({}),
      /** Variables of the server's environment that the agent gets, in addition to those that every agent gets. */
      pass_env: z.array(z.string().min(1)).default([]),
      /** A home directory of the agent that only cadre uses; null: the user's own. */
      home: z.string().min(1).nullable().default(null),
      sandbox: agentSandboxSection,
    })
    .prefault({});

/** An agent of the provider acp. A key that is null, or in `env` and `modes` absent, is as the catalogue has it. */
const acpAgent = z.strictObject({
  enabled: z.boolean().default(true),
  command: z.string().min(1).nullable().default(null),
  /** The arguments that make the agent speak ACP. */
  args: z.array(z.string()).nullable().default(null),
  env: z.record(z.string(), z.string()).default({}),
  /** A home directory of the agent that only cadre uses; null: the user's own. */
  home: z.string().min(1).nullable().default(null),
  /** null: as `providers.acp.request_timeout_ms` says. */
  request_timeout_ms: milliseconds.min(1).nullable().default(null),
  /** The method by which cadre may log the agent in by itself; empty: none. */
  auth_method: z.string().nullable().default(null),
  /** Variables of the server's environment that the agent gets, in addition to those that every agent gets. */
  pass_env: z.array(z.string().min(1)).nullable().default(null),
  /** The names of the agent's own modes for permission modes of cadre. */
  modes: z
    .strictObject({
      require_approval: z.string().min(1).optional(),
      read_only: z.string().min(1).optional(),
      workspace_write: z.string().min(1).optional(),
      accept_edits: z.string().min(1).optional(),
      full_access: z.string().min(1).optional(),
    })
    .default({}),
  /** false: the agent never asks for permission, in no mode; null: as the catalogue says, or unknown. */
  asks: z.boolean().nullable().default(null),
  sandbox: agentSandboxSection,
});

/** A name that can be part of a subject of NATS. */
const fleetName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$/, 'has to be 1 to 63 letters, digits, "-" or "_"');

/** The section of each provider, `[providers.<id>]`. */
const providerSections = {
  acp: z
    .strictObject({
      enabled: z.boolean().default(true),
      command: z.string().min(1).nullable().default(null),
      args: z.array(z.string()).default([]),
      env: z.record(z.string(), z.string()).default({}),
      transport: z.string().default('stdio'),
      sandbox: agentSandboxSection,
      /** The time limit for the response to each request except a prompt, in ms. */
      request_timeout_ms: milliseconds.min(1).default(120_000),
      /** The agent of sessions that name none; null: `default` where `command` is set, else the only configured one. */
      default_agent: agentName.nullable().default(null),
      /** Agents by name. Agents of the catalogue need no key, others a command. */
      agents: z.record(agentName, acpAgent).default({}),
    })
    .nullable()
    .default(null),
  codex: installedAgent('codex'),
  claude: installedAgent('claude'),
} satisfies Record<ProviderId, z.ZodType>;

/** A server that commands ask, in a list of several. */
const namedServer = z.strictObject({
  name: z
    .string()
    .max(64)
    .regex(
      /^[A-Za-z0-9][\w.-]*$/,
      'has to start with a letter or digit, followed by letters, digits, ".", "_" or "-"',
    ),
  /** null: the server on this machine, on the data directory of this configuration. */
  url: z
    .url({ protocol: /^https?$/ })
    .nullable()
    .default(null),
  /** The file with its token. */
  token_file: z.string().min(1).nullable().default(null),
});

/** Identifies a server. An invalid address is a separate problem. */
function originOf(url: string | null): string | null {
  return url !== null && URL.canParse(url) ? new URL(url).origin : url;
}

/**
 * All keys, with their defaults. Keys are set by config.toml, environment variables `CADRE_SECTION_KEY` and flags. In a
 * variable, a list is an array in JSON or TOML, or its values separated by commas; a table is a JSON object. load.ts makes
 * paths absolute. live.ts lists the keys that a running server reloads on SIGHUP. `_ms`: in milliseconds.
 */
export const configSchema = z.strictObject({
  /** The address under which others reach the server, where that is not the one that it listens at. */
  public_base_url: z.url().nullable().default(null),
  /** The servers that commands ask where no flag or variable names one. New work goes to the first one. */
  servers: z
    .array(namedServer)
    .refine(
      (all) => new Set(all.map(({ name }) => name)).size === all.length,
      'contains a name twice',
    )
    .refine(
      (all) => new Set(all.map(({ url }) => originOf(url))).size === all.length,
      'contains a server twice: each server requires a different address, and only one may have no address',
    )
    .default([]),
  server: z
    .strictObject({
      /** Where the server listens. An address beyond this machine needs `allowed_hosts`. */
      bind_address: z
        .string()
        .regex(hostPort, 'has to be HOST:PORT, with a port from 0 to 65535')
        .default('127.0.0.1:7433'),
      /** Host names by which clients may call the server, in addition to the names of this machine. */
      allowed_hosts: z.array(z.string()).default([]),
      /** Origins of web pages that may call the server. */
      allowed_origins: z.array(z.string()).default([]),
      /** The time that turns have to end in when the server stops, in ms. */
      drain_ms: milliseconds.default(10_000),
      /** How long agents may wait for another server after the end of this one, in ms; 0: they end with the server. */
      reattach_ms: milliseconds.max(600_000).default(0),
      /** The maximum number of streams of events at the same time. */
      max_streams: z.int().min(1).max(1_000_000).default(4096),
      /** The maximum number of streams of one token; null: a quarter of `max_streams`. The API token is exempt. */
      max_streams_per_token: z.int().min(1).max(1_000_000).nullable().default(null),
      /** The maximum number of connections; lower if descriptors are scarce. Above it idle ones are closed. */
      max_connections: z.int().min(1).max(1_000_000).default(8192),
      /** The time within which a whole request has to arrive, in ms. */
      request_timeout_ms: milliseconds.min(100).default(60_000),
      /** The server stops by itself after this time without work and without clients, in ms; null: it does not. */
      stop_after_idle_ms: milliseconds.min(1).nullable().default(null),
    })
    .prefault({}),
  /** Settings of commands, which the server does not read. */
  client: clientSection,
  screen: screenSection,
  log: z
    .strictObject({
      /** Minimum level of the log on stderr. */
      level: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
    })
    .prefault({}),
  auth: z
    .strictObject({
      /** The API token itself; null: it is in `token_file`. */
      token: z.string().min(16).nullable().default(null),
      /** The file with the API token; null: one in the data directory, which the server makes. */
      token_file: z.string().nullable().default(null),
    })
    .prefault({}),
  data: z
    .strictObject({
      /** The data directory. */
      root_dir: z.string().min(1).nullable().default(null),
      /** full: each write is on disk before it is answered; normal: the newest writes may be lost with the power. */
      durability: z.enum(['full', 'normal']).default('full'),
    })
    .prefault({}),
  retention: z
    .strictObject({
      /** The maximum size of the database and the logs of processes together, in bytes; 0: no limit. */
      max_bytes: z
        .int()
        .min(0)
        .default(2 * 1024 ** 3),
      /** Closed sessions, and what has ended, are removed at this age, in days; null: at no age. */
      max_age_days: z.number().positive().nullable().default(null),
      /** With less room than this on the disk, in bytes, new work is refused. */
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
      /** The maximum number of processes that run at the same time. */
      max_concurrent: z.int().min(1).max(10_000).default(32),
      /** The maximum number of processes that wait for room. A further one is refused. */
      max_queued: z.int().min(0).max(1_000_000).default(1000),
      /** The maximum number of running processes of one session. Further ones wait, without delaying other sessions. */
      max_per_session: z.int().min(1).max(10_000).default(16),
      /** The maximum number of waiting processes of one session. A further one is refused. */
      max_queued_per_session: z.int().min(0).max(1_000_000).default(100),
      /** The time limit of a process that names none, in ms; 0: none. */
      default_timeout_ms: milliseconds.default(600_000),
      /** The time between SIGTERM and SIGKILL, in ms. */
      kill_grace_ms: milliseconds.default(5000),
      /** The bytes stored of each stream: half of them from its beginning, half from its end. */
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
      /** The path of the script in the repository. */
      init_script_path: z.string().min(1).default('.cadre/worktree-init.sh'),
      /** Default handling of a worktree that no session uses any more. */
      deletion_policy_default: z
        .enum(['delete_on_last_claim', 'retain_on_last_claim', 'delete_if_clean'])
        .default('delete_on_last_claim'),
      /** The first port that worktrees may get. */
      port_first: z.int().min(1).max(65_535).default(20_000),
      /** The last port that worktrees may get. */
      port_last: z.int().min(1).max(65_535).default(29_999),
      /** The number of ports that each worktree gets. */
      port_block: z.int().min(1).max(1000).default(20),
    })
    .refine(
      ({ port_first, port_last }) => port_first <= port_last,
      'port_last is less than port_first',
    )
    .prefault({}),
  sandbox: sandboxSection,
  snapshots: z
    .strictObject({
      /** Whether the files of each session are kept at the beginning and end of each turn. A session may choose otherwise. */
      enabled: z.boolean().default(false),
      /** The maximum size of all snapshots, in bytes; the oldest are removed. */
      max_bytes: z
        .int()
        .min(0)
        .default(1024 ** 3),
      /** The age at which snapshots are removed, in days. */
      max_age_days: z.int().min(1).max(3650).default(14),
    })
    .prefault({}),
  /** Defaults of commands that open a session. */
  defaults: z
    .strictObject({
      /** null: the only provider that is ready. The server marks it in its list of providers. */
      provider: z.enum(providerIds).nullable().default(null),
      /** The agent of sessions of acp; with no provider named, it also chooses acp. */
      agent: agentName.nullable().default(null),
      /** A model and an effort of that provider and agent; sessions of others do not get them. */
      model: z.string().min(1).nullable().default(null),
      effort: z.string().min(1).nullable().default(null),
      /** Permission mode of new sessions. */
      permission_mode: z.string().min(1).nullable().default(null),
    })
    .prefault({}),
  sessions: z
    .strictObject({
      /** The time limit of a turn, in ms; null: none. */
      turn_timeout_ms: milliseconds.nullable().default(null),
      /** Behavior of sessions at a usage limit of their agent: they resume once it has reset, wait for a person, or are handed over. */
      after_limit: afterLimit.default('resume'),
    })
    .prefault({}),
  approvals: z
    .strictObject({
      /** The time after which an approval that nobody has answered is declined, in ms; null: it waits. */
      timeout_ms: milliseconds.nullable().default(null),
      /** A command that is run for each new approval. */
      notify_command: z.string().min(1).nullable().default(null),
      /** The maximum number of pending approvals of one session. */
      max_pending_per_session: z.int().min(1).max(10_000).default(32),
      /** How the page that answers one approval is reached from elsewhere, such as `https://box.example`; null: as the server. */
      link_base_url: linkBase.nullable().default(null),
      /** How long a link to that page is valid, in ms. */
      link_expires_ms: milliseconds.min(1000).max(604_800_000).default(3_600_000),
    })
    .prefault({}),
  /** Commands and addresses that receive events. */
  hooks: z
    .array(hookSection)
    .max(32)
    .refine(
      (all) => new Set(all.map(({ name }) => name)).size === all.length,
      'contains a name twice',
    )
    .default([]),
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
      /** Whether agents that do not lead a team may add members to it. */
      non_lead_can_add_members: z.boolean().default(false),
      /** Whether agents that do not lead a team may remove members of it. */
      non_lead_can_remove_members: z.boolean().default(false),
      /** The maximum number of messages of agents in a row, without a turn of a person between; 0: no limit. */
      max_hops: z.int().min(0).default(1000),
      /** The maximum number of open sessions that one agent has spawned, also by way of its members. */
      max_spawned_per_session: z.int().min(0).max(10_000).default(16),
      /** Names for a provider, model and effort, which agents choose from for members that they spawn. */
      model_presets: z
        .array(
          z.strictObject({
            name: z.string().min(1),
            provider: z.enum(providerIds),
            /** Agent of the provider acp; null: its default agent. */
            agent: agentName.nullable().default(null),
            model: z.string().min(1).nullable().default(null),
            thinking_effort: z.string().min(1).nullable().default(null),
            /** The agent's own mode, by its own name; null: as for any new member. */
            agent_mode: z.string().min(1).nullable().default(null),
          }),
        )
        .default([]),
    })
    .prefault({}),
  /** Several servers that are seen and used as one. A server is a member where `url` and `name` are set. */
  fleet: z
    .strictObject({
      /** The addresses of the NATS servers, `nats://HOST:PORT`: one, several separated by commas, or a list. */
      url: z
        .union([z.string().min(1), z.array(z.string().min(1)).min(1)])
        .nullable()
        .default(null),
      /** The name of this server in the fleet, as a node. */
      name: fleetName.nullable().default(null),
      /** The name of the fleet. Several fleets may share NATS servers. */
      fleet: fleetName.default('default'),
      /** The file with the seed of this node's nkey, which is private; null: NATS asks for none. */
      credentials: z.string().min(1).nullable().default(null),
      /** Files in PEM. `ca`: who signed the certificate of NATS; `cert` and `key`: what this side shows, if it has to. */
      tls: z
        .strictObject({
          ca: z.string().min(1).nullable().default(null),
          cert: z.string().min(1).nullable().default(null),
          key: z.string().min(1).nullable().default(null),
        })
        .prefault({}),
      /** Features of the machine, such as `gpu`. They select the node of a new session. */
      labels: z.array(fleetName).default([]),
      /** Whether this node's events are copied to the fleet. */
      mirror: z.boolean().default(true),
      /** Who asks the fleet with the commands of this machine. */
      person: z
        .strictObject({
          /** null: the name of the user of this machine. */
          name: fleetName.nullable().default(null),
          /** The file with the seed of this person's nkey. */
          credentials: z.string().min(1).nullable().default(null),
          /** Permissions of that nkey. */
          scope: z.enum(['admin', 'read']).default('admin'),
        })
        .prefault({}),
    })
    .superRefine((fleet, found) => {
      for (const issue of fleetContradictions(fleet)) found.addIssue({ code: 'custom', ...issue });
    })
    .prefault({}),
  providers: z
    .strictObject({
      /** The time after which an agent without work is stopped, in ms. */
      idle_timeout_ms: milliseconds.default(900_000),
      /** The maximum number of agents that live at the same time. */
      max_live: z.int().min(1).max(10_000).default(32),
      ...providerSections,
    })
    .prefault({}),
});

export type Config = z.output<typeof configSchema>;

function noTool(value: unknown): string {
  const [meant] = nearest(toolNames, valueText(value), (name) => name);
  return `"${valueText(value)}" is not a tool; ${meant ? `did you mean "${meant}"?` : `tools: ${toolNames.join(', ')}`}`;
}
