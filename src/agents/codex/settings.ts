import { z } from 'zod';
import type { McpServer } from '../../api/mcp-servers.ts';
import type { Session } from '../../api/sessions.ts';
import { ownPermissionModes, permissionModes } from '../../api/permission-modes.ts';
import { MCP_SESSION_VARIABLE } from '../../api/tool-names.ts';
import { Refusal } from '../json-connection.ts';
import { type AgentTools, ProviderError, type TurnSettings, unavailable } from '../provider.ts';
import { objectionToAgentMode, objectionToEffort } from '../session-settings.ts';
import type { CodexModel } from './models.ts';
import type { StoredInputItem } from '../../api/input.ts';
import { imageData } from '../image-data.ts';
import type { ForkPoint } from '../conversations.ts';
import type { InstalledAgentDeps } from '../installed.ts';
import { maybe, maybeText } from '../lenient.ts';

export interface Permissions {
  approvalPolicy?: unknown;
  sandboxPolicy?: unknown;
  /** The name of a profile in codex's configuration, which replaces the sandbox policy. */
  permissions?: string;
}

const modes: readonly string[] = [...permissionModes, ...ownPermissionModes.codex];

/** The permissions of a turn; `own` are those that the session began with, from codex's configuration. */
function permissionsFor(mode: string | null, own: Permissions): Permissions {
  switch (mode) {
    case null:
    case 'default':
      return own;
    case 'require_approval':
      return { ...own, approvalPolicy: 'untrusted' };
    case 'read_only':
      return onRequest({ type: 'readOnly', networkAccess: false });
    case 'workspace_write':
    case 'accept_edits':
      return onRequest({
        type: 'workspaceWrite',
        writableRoots: [],
        networkAccess: false,
        excludeTmpdirEnvVar: false,
        excludeSlashTmp: false,
      });
    case 'full_access':
    case 'bypass':
      return { approvalPolicy: 'never', sandboxPolicy: { type: 'dangerFullAccess' } };
    default:
      return { ...own, approvalPolicy: mode };
  }
}

function onRequest(sandboxPolicy: object): Permissions {
  return { approvalPolicy: 'on-request', sandboxPolicy };
}

/** Why codex cannot have the settings, or null. `model` is the model of a turn that requests none. */
export function objectionTo(
  settings: TurnSettings,
  model: string | null,
  models: readonly CodexModel[],
): ProviderError | null {
  const objection = objectionToAgentMode('codex', settings);
  if (objection) return objection;
  const { permissionMode: mode, model: wanted } = settings;
  if (mode !== null && !modes.includes(mode)) return modeRefused(mode);
  // Codex does not check the effort: it sends any text to the model's service.
  const known = models.filter(({ id }) => id === (wanted ?? model));
  return objectionToEffort('codex', settings, known.length > 0 ? known : models);
}

/** The error for a turn that codex has refused because of its permission mode; null for any other refusal. */
export function modeRefusedBy(
  error: unknown,
  { permissionMode: mode }: TurnSettings,
): ProviderError | null {
  const { cause } = error as Error;
  const isOfMode =
    mode !== null && cause instanceof Refusal && cause.message.includes(`\`${mode}\``);
  return isOfMode ? modeRefused(mode, { cause: error }) : null;
}

function modeRefused(mode: string, options?: ErrorOptions): ProviderError {
  const known = modes.join(', ');
  return new ProviderError(
    'invalid_permission_mode',
    `codex: unknown permission_mode "${mode}": choose from ${known}`,
    options,
  );
}

/** The parameters of `turn/start`. Codex keeps what a turn overrides, so each turn sends all that holds for it. */
export async function turnParams(turn: {
  threadId: string;
  input: readonly StoredInputItem[];
  settings: TurnSettings;
  /** Values that apply if the settings name none. */
  defaults: TurnSettings;
  models: readonly CodexModel[];
  access: CodexOptions['access'];
}): Promise<object> {
  const { threadId, input, settings, defaults, models, access } = turn;
  const permissions = permissionsFor(settings.permissionMode, readOwn(defaults.permissionMode));
  const model = settings.model ?? defaults.model;
  const usual = models.find(({ id }) => id === model)?.defaultEffort;
  return {
    threadId,
    input: await Promise.all(input.map((item) => inputOf(item, access !== null))),
    model,
    effort: settings.thinkingEffort ?? defaults.thinkingEffort ?? usual ?? null,
    approvalsReviewer: 'user',
    ...(access === null ? permissions : permissionsInside(permissions, settings, access)),
  };
}

/**
 * The permissions of a turn in a sandbox of cadre. The sandbox of codex cannot start there, and is not needed: the sandbox of
 * cadre has the access of the permission mode.
 */
function permissionsInside(
  { approvalPolicy }: Permissions,
  { permissionMode }: TurnSettings,
  access: 'read' | 'write',
): Permissions {
  if ((permissionMode === 'read_only') !== (access === 'read'))
    throw new ProviderError(
      'invalid_permission_mode',
      `codex: the sandbox of the agent is for another permission mode than "${permissionMode}": send the turn again`,
    );
  const sandboxPolicy = { type: 'externalSandbox', networkAccess: 'enabled' };
  return { ...(approvalPolicy === undefined ? {} : { approvalPolicy }), sandboxPolicy };
}

/** In a sandbox, codex does not see the stored images. */
async function inputOf(item: StoredInputItem, isSandboxed: boolean): Promise<object> {
  if (item.type === 'text') return { type: 'text', text: item.text, text_elements: [] };
  if (!isSandboxed) return { type: 'localImage', path: item.path };
  return { type: 'image', url: `data:${item.media_type};base64,${await imageData('codex', item)}` };
}

const opened = z.looseObject({
  thread: z.looseObject({
    id: z.string(),
    status: maybe(z.looseObject({ type: z.string() })),
  }),
  model: maybeText,
  reasoningEffort: maybeText,
  approvalPolicy: z.unknown().optional(),
  sandbox: z.unknown().optional(),
  activePermissionProfile: maybe(z.looseObject({ id: z.string() })),
});

/** The thread that codex has opened, with the settings of a turn that requests none. */
export function readThread(raw: unknown) {
  const { data } = opened.safeParse(raw);
  if (!data) throw unavailable('codex: the agent returned no id for its new thread');
  const { thread, model, reasoningEffort, approvalPolicy, sandbox, activePermissionProfile } = data;
  const own: Permissions = {
    approvalPolicy,
    ...(activePermissionProfile
      ? { permissions: activePermissionProfile.id }
      : { sandboxPolicy: sandbox }),
  };
  return {
    id: thread.id,
    /** Whether the thread is at a turn, which no agent of cadre has begun. */
    isActive: thread.status?.type === 'active',
    settings: {
      permissionMode: JSON.stringify(own),
      model,
      thinkingEffort: reasoningEffort,
      agentMode: null,
    },
  };
}

const permissions = z.looseObject({
  approvalPolicy: z.unknown().optional(),
  sandboxPolicy: z.unknown().optional(),
  permissions: z.string().optional(),
});

/** The permissions that a session began with, as they are kept in its `provider_defaults`. */
function readOwn(kept: string | null): Permissions {
  return permissions.parse(JSON.parse(kept ?? '{}')) as Permissions;
}

/** A tool call may wait for a person, so it has a time limit of a week. */
const TOOL_SECONDS = 7 * 24 * 3600;

/** Returns the parameters that codex does not store with a thread: each start and each resume sends them. */
export function threadParams(
  { id, cwd }: Session,
  { toolsFor, variablesAt }: Pick<CodexOptions, 'toolsFor' | 'variablesAt'>,
): object {
  return { cwd, approvalsReviewer: 'user', ...configOf(toolsFor(id), variablesAt(cwd)) };
}

/**
 * Returns the configuration of a thread, which codex does not store. The tools of cadre check their own permissions.
 * Codex has one process for all threads, so the configuration of each thread names the variables of its commands. Each
 * variable is a separate setting, so that the variables of the user's configuration stay.
 */
function configOf(
  { sidecar, others }: AgentTools,
  variables: Record<string, string>,
): { config: object } {
  const cadre = {
    ...sidecar,
    default_tools_approval_mode: 'approve',
    tool_timeout_sec: TOOL_SECONDS,
  };
  const mcp_servers = {
    ...Object.fromEntries(serverEntries(others, sidecar.env)),
    cadre,
  };
  const set = Object.entries(variables).map(
    ([name, value]) => [`shell_environment_policy.set.${name}`, value] as const,
  );
  return { config: { mcp_servers, ...Object.fromEntries(set) } };
}

/**
 * Returns the entries of a client's servers. Codex accepts only letters, digits, hyphens and underscores in a name, so two
 * names may become the same: each further one gets a number.
 */
function serverEntries(
  servers: readonly McpServer[],
  { [MCP_SESSION_VARIABLE]: session = '' }: Readonly<Record<string, string>>,
): ReadonlyMap<string, object> {
  const entries = new Map<string, object>();
  for (const server of servers) {
    const name = server.name.replaceAll(/[^\w-]/g, '_');
    let unique = name;
    for (let n = 2; entries.has(unique); n++) unique = `${name}_${n}`;
    entries.set(unique, serverEntry(server, session));
  }
  return entries;
}

function serverEntry(server: McpServer, session: string): object {
  if (server.type === 'stdio') {
    const { command, args = [], env = {} } = server;
    return { command, args, env: { ...env, [MCP_SESSION_VARIABLE]: session } };
  }
  const { url, headers = {} } = server;
  return { url, http_headers: headers };
}

export interface CodexOptions extends InstalledAgentDeps {
  /** The access of its sandbox to the directory of the session. Null: it runs without a sandbox of cadre. */
  access: 'read' | 'write' | null;
  models: readonly CodexModel[];
  /** The point at which a new thread forks another one. */
  fork: ForkPoint | null;
  variablesAt: (directory: string) => Record<string, string>;
}
