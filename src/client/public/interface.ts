// Written by `make openapi`.

/** The body of POST /v1/approval-rules. */
export interface AddApprovalRuleRequest {
  effect: RuleEffect;
  provider?: ProviderId | null | undefined;
  /** Only requests to use the tool of this name. Agents of claude name all their tools, calls of cadre’s own tools have the name of the tool; agents of acp and codex name none. */
  tool?: string | null | undefined;
  /** Only requests to run one simple command whose words fit these. `*` stands for one word, or for a part of one; `**` at the end for any number of words. To allow, a `*` at the start of a word stands for no option, assignment or address, and no `*` for a hidden file, a path that leads out of the directory of the command, or files of git and agents. */
  command?: string | null | undefined;
  /** Only requests to change files that all fit this path, below the directory of the session if it does not begin with `/`. `*` stands for any part of a name, `**` for any number of names. To allow, neither stands for a hidden name: the rule has to write its dot, and all of the name of a file of git or an agent (`.git`). */
  path?: string | null | undefined;
  /** An existing directory, as an absolute path. Its real path is stored. */
  directory?: string | null | undefined;
  /** Whether a person confirms that a `*` is harmless behind this program, which is not on the list of known safe ones. Absent: false, and such a rule to allow is refused. */
  i_know?: boolean | undefined;
  reason?: string | null | undefined;
}

/** The body of POST /v1/teams/{team_id}/members. */
export interface AddMemberRequest {
  agent_id: string;
  /** The role of the member in the team. */
  title?: string | null | undefined;
  worktree_id?: string | null | undefined;
  /** The session on whose behalf it is added; default: "api". */
  added_by?: string | null | undefined;
}

/** The response of POST /v1/teams/{team_id}/members. */
export interface AddMemberResponse {
  team: Team;
  members: Array<Member>;
}

/** The body of POST /v1/sessions/{session_id}/review/comments. */
export interface AddReviewCommentRequest {
  /** The file, as the diff names it after the change; a removed one as it was named. */
  path: string;
  /** Of which file the numbers are; absent: new. */
  side?: 'new' | 'old' | null | undefined;
  /** The first line that it is about. */
  first_line: number;
  /** The last line; absent: the first one. */
  last_line?: number | null | undefined;
  /** The lines as the person has seen them, with their marks, cut after 1000 characters; absent: as the diff shows them now. */
  lines?: Array<string> | null | undefined;
  text: string;
}

/** The body of POST /v1/sessions/{session_id}/queue. */
export interface AddToQueueRequest {
  /** As of a turn: an array of items, or a single item. */
  input: Array<InputItem> | InputItem;
  /** What people call it. */
  name?: string | null | undefined;
  reason?: string | null | undefined;
  /** When its turn is due. A time that is past is due at once. */
  at?: number | null | undefined;
  /** When its turns are due, again and again; not together with `at`. */
  every?: string | null | undefined;
  /** Of `every`, or in which `at` is shown; absent: the server's. Only with one of them. */
  time_zone?: string | null | undefined;
  /** Of a schedule; absent: skip. */
  overlap?: 'skip' | 'queue' | null | undefined;
  /** For its turns only. */
  permission_mode?: string | null | undefined;
  /** For its turns only: the agent's own mode; for agents of acp. */
  agent_mode?: string | null | undefined;
  /** For its turns only. */
  model?: string | null | undefined;
  /** For its turns only. */
  thinking_effort?: string | null | undefined;
}

/** An agent of a provider whose agents have names. */
export interface Agent {
  name: string;
  display_name: string;
  /** Whether the configuration has a section for it. */
  configured: boolean;
  /** Whether its command was found. */
  installed: boolean;
  /** False: it cannot start, its last start failed, or nobody is logged in, as far as its processes have shown. */
  healthy: boolean;
  /** `ready`, or what is wrong and what to do. */
  detail: string;
  /** As it said when it was last started; null: it was not started yet. */
  version: string | null;
  /** Whether new sessions that name no agent get it. */
  default: boolean;
  /** The modes of its own, for agent_mode, as it last offered them; empty: none, or none was seen yet. */
  modes: Array<string>;
  /** False: it never asks for a permission, in no mode; true: it does, in some mode; null: not known. */
  asks: boolean | null;
  /** As it was last seen; nothing is started for this. */
  auth: AuthStatus;
}

/** A slash command of an agent. */
export interface AgentCommand {
  /** Without the slash. */
  name: string;
  description: string;
  /** What may follow its name; null: nothing is known of it. */
  hint: string | null;
}

/** An agent of a provider with what it runs. */
export interface AgentDiagnostics {
  name: string;
  display_name: string;
  /** Whether the configuration has a section for it. */
  configured: boolean;
  /** Whether its command was found. */
  installed: boolean;
  /** False: it cannot start, its last start failed, or nobody is logged in, as far as its processes have shown. */
  healthy: boolean;
  /** `ready`, or what is wrong and what to do. */
  detail: string;
  /** As it said when it was last started; null: it was not started yet. */
  version: string | null;
  /** Whether new sessions that name no agent get it. */
  default: boolean;
  /** The modes of its own, for agent_mode, as it last offered them; empty: none, or none was seen yet. */
  modes: Array<string>;
  /** False: it never asks for a permission, in no mode; true: it does, in some mode; null: not known. */
  asks: boolean | null;
  /** As it was last seen; nothing is started for this. */
  auth: AuthStatus;
  command: string | null;
  /** Processes of it that live just now. */
  sessions: number;
  unknown_messages: number;
  last_error: string | null;
}

/** How people log in to an agent. */
export interface AgentLogin {
  agent: string;
  auth: AuthStatus;
  /** Whether the agent can end its login when it is asked to. */
  can_log_out: boolean;
  methods: Array<AuthMethod>;
}

/** A request of an agent for permission, and the decision on it. */
export interface Approval {
  id: string;
  session_id: string;
  turn_id: string;
  provider: ProviderId;
  /** budget: no agent asks, but cadre, whether turns may go on although a budget is used up; its turn has ended. */
  kind: 'command' | 'file_change' | 'tool' | 'question' | 'budget';
  title: string;
  /** The request as the agent sent it. */
  request: unknown;
  /** All that the request would do, whole and for people, at most 12 MiB as JSON. Empty if the agent does not say. */
  details: Array<ApprovalDetail>;
  /** What an acceptance may be good for. Empty if the agent offers only to decline. */
  scopes: Array<ApprovalScope>;
  /** What an acceptance for the session would allow, in the agent's words or by its rules; null if `scopes` does not have `session`. */
  session_allows: string | null;
  /** Everything that the request would do: two requests with equal subjects are the same request. Null if the agent does not describe it exactly, or it is larger than 1 MiB; if such an approval is accepted while no agent runs, the agent has to ask again. */
  subject: unknown;
  /** True if the agent does not say what the request would do, beyond its title: a terminal, the screen and the page of a link then take a typed confirmation to accept it. Absent otherwise. */
  arguments_missing?: boolean | undefined;
  /** The questions that have to be answered to accept an approval of the kind `question`; null if the agent does not list them. */
  questions?: Array<Question> | null | undefined;
  answers: Record<string, Array<string>> | null;
  /** True if it was accepted while no agent was running to receive the decision; false again once its turn continues or has ended. */
  held: boolean;
  status: 'pending' | 'accepted' | 'declined' | 'expired' | 'cancelled';
  decision: 'accept' | 'decline' | null;
  /** What the acceptance is good for; null if it was not accepted. `once` also if `session` was asked for while no agent was running. */
  scope: ApprovalScope | null;
  /** The token of the person who decided, or the rule that did. */
  decided_by: string | null;
  reason: string | null;
  expires_at: number | null;
  created_at: number;
  resolved_at: number | null;
}

/** A command that would run. */
export interface ApprovalCommand {
  type: 'command';
  /** The whole command, as a shell reads it. */
  command: string;
  /** The directory it would run in: the one that the agent names, else that of the session; null if it is unknown. */
  cwd: string | null;
}

/** One part of what a request would do, for people. */
export type ApprovalDetail = ApprovalCommand | ApprovalDiff | ApprovalInput | ApprovalOmitted;

/** A file that would change. */
export interface ApprovalDiff {
  type: 'diff';
  /** The file, as the agent names it. */
  path: string;
  /** The whole change as a unified diff, from the content that the file had when the agent asked. A file that would be created or removed has `/dev/null` as its other name. */
  diff: string;
}

/** Anything else that belongs to the request. */
export interface ApprovalInput {
  type: 'input';
  name: string;
  value: unknown;
}

/** A link that answers one approval, once, and nothing else. */
export interface ApprovalLink {
  /** Stands in `decided_by` of the approval if it was answered by this link. */
  id: string;
  /** The page with the two buttons. Whoever has it can answer this approval, once. */
  url: string;
  expires_at: number;
}

/** A part of the request that is not shown here, because it is too large. `request` has it, unless `name` says otherwise. A client must not let anybody accept such an approval without saying so. */
export interface ApprovalOmitted {
  type: 'omitted';
  /** What is not here, in words. */
  name: string;
  /** Its size as JSON, in bytes. */
  bytes: number;
}

/** An agent asks for permission, or asks a question. Its turn and session wait for approval from now on. */
export interface ApprovalRequestedEvent {
  seq: number;
  id: string;
  kind: 'approval.requested';
  scope: 'session';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    approval: SentApproval;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** An approval was answered, has expired or was cancelled. Its turn goes on once no other approval of it is pending. */
export interface ApprovalResolvedEvent {
  seq: number;
  id: string;
  kind: 'approval.resolved';
  scope: 'session';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    approval: SentApprovalInEvents;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** Decides requests of agents without asking a person. A request fits if it fits all conditions that are not null. */
export interface ApprovalRule {
  id: string;
  effect: RuleEffect;
  /** Only requests of agents of this provider. */
  provider: ProviderId | null;
  /** Only requests to use the tool of this name. Agents of claude name all their tools, calls of cadre’s own tools have the name of the tool; agents of acp and codex name none. */
  tool: string | null;
  /** Only requests to run one simple command whose words fit these. `*` stands for one word, or for a part of one; `**` at the end for any number of words. To allow, a `*` at the start of a word stands for no option, assignment or address, and no `*` for a hidden file, a path that leads out of the directory of the command, or files of git and agents. */
  command: string | null;
  /** Only requests to change files that all fit this path, below the directory of the session if it does not begin with `/`. `*` stands for any part of a name, `**` for any number of names. To allow, neither stands for a hidden name: the rule has to write its dot, and all of the name of a file of git or an agent (`.git`). */
  path: string | null;
  /** Only requests in this directory or below it: the one that a command would run in, else that of the session. Without it, a command is allowed in the directory of the session alone. */
  directory: string | null;
  /** Whether a person confirms that a `*` is harmless behind this program, which is not on the list of known safe ones. */
  i_know: boolean;
  /** Why a rule that an earlier version stored could not be added now. Its `effect` is `ask` if it was added as `allow`. Null if the rule could be added. */
  refused: string | null;
  /** Why there is this rule. An agent is told it if its request is declined. */
  reason: string | null;
  /** The token that it was made with. */
  created_by: string;
  created_at: number;
}

/** What an acceptance is good for. `once`: this one request. `session`: also the requests that `session_allows` names, never beyond the end of the session. Agents of claude and codex keep it for as long as they run; cadre ends agents that are idle, and after that they ask again. For agents of acp cadre keeps it, for equal requests. If no agent runs to receive the acceptance, it is good once. */
export type ApprovalScope = 'once' | 'session';

/** The body of POST /v1/providers/acp/agents/{agent}/authenticate. */
export interface AuthenticateAgentRequest {
  /** Absent or null: the configured method, else the only one that can be called. */
  method_id?: string | null | undefined;
}

/** A way to log in that an agent offers. */
export interface AuthMethod {
  id: string;
  name: string;
  description: string | null;
  /** agent: the agent logs in by itself, often with a browser. env_var: it reads variables of its environment. terminal: a person runs its login program in a terminal. */
  type: 'agent' | 'env_var' | 'terminal';
  /** The variables that it reads, as far as the agent says. */
  variables: Array<{
    name: string;
    optional: boolean;
    /** Whether the agent gets it. */
    set: boolean;
  }>;
  /** Whether a person has to take part, or to set a variable first. */
  needs_person: boolean;
  /** Where people get what it needs. */
  link: string | null;
  /** To be run in a terminal on the machine of the server; null for other types. */
  program: LoginProgram | null;
}

/** Whether a provider is logged in, and how. */
export interface AuthStatus {
  /** As it was last seen. Null while only the agent knows: an agent of acp shows it when it opens a session, answers or refuses a prompt, or logs in or out. */
  authenticated: boolean | null;
  mode: 'api_key' | 'account' | 'agent_managed' | 'not_needed' | 'not_configured';
  detail: string;
}

/** The body of POST /v1/teams/{team_id}/broadcasts. */
export interface BroadcastRequest {
  sender_agent_id: string;
  /** An array of items; a single item is treated as an array of one. */
  input: SaidText | ImageByPath | ImageInline | Array<SaidText | ImageByPath | ImageInline>;
  /** Images on the machine of the server, relative to the directory of the sender; they are copied. */
  image_paths?: Array<string> | null | undefined;
  /** Default: normal. */
  priority?: 'high' | 'normal' | 'low' | null | undefined;
  /** Default: non_interrupting. */
  policy?:
    | 'non_interrupting'
    | 'start_new_turn_only'
    | 'interrupt_after_tool_boundary'
    | 'immediate_interrupt'
    | null
    | undefined;
  correlation_id?: string | null | undefined;
  reply_to_message_id?: string | null | undefined;
  /** Default: false. */
  include_sender?: boolean | null | undefined;
}

/** The response of POST /v1/teams/{team_id}/broadcasts. */
export interface BroadcastResponse {
  message: Message;
  deliveries: Array<Delivery>;
}

/** A content of a repository that can be run. */
export interface BroughtContent {
  /** included_files: the patterns of ignored files that are copied into new worktrees. */
  kind: 'init_script' | 'included_files' | 'filters';
  /** Its path in the repository, or the name of the setting. */
  name: string;
  /** The digest of the allowed content: of the script, or of the list of filters as `look` shows it. */
  sha256: string;
  /** The commands that would run, or the patterns of the files that would be copied. */
  text: string;
  trusted: boolean;
}

/** All contents of a repository that can be run. */
export interface BroughtContents {
  repo_root: string;
  brings: Array<BroughtContent>;
}

/** How much the turns of a session, a team or all sessions may use. */
export interface Budget {
  id: string;
  /** The session it is for; null: a team or all. */
  session_id: string | null;
  /** The team it is for; null, without a session: all sessions together. */
  team_id: string | null;
  /** total: all turns, also those from before the budget was set. day: those that end on one day of its time zone; each day begins anew. */
  per: 'total' | 'day';
  /** In which its days begin; null: it has no days. */
  time_zone: string | null;
  /** What was set. */
  limit: BudgetAmounts;
  /** What may be used now: `limit`, and after each acceptance what was spent until then and `limit` once more. A new day begins with `limit`. */
  allowed: BudgetAmounts;
  /** What has been used: in all, or on its day. */
  spent: BudgetSpent;
  /** Whether running turns are interrupted when it is reached; else they go on. */
  hard: boolean;
  /** open: turns may begin. reached: none may, and its approval asks whether it goes on. declined: none may, until the budget is set anew, is removed, or its next day begins. */
  status: 'open' | 'reached' | 'declined';
  reached_at: number | null;
  /** The approval that asks, or was declined; null: there is none. */
  approval_id: string | null;
  /** The session of that approval. */
  approval_session_id: string | null;
  /** When the day began that `spent` is of. */
  day_begins_at: number | null;
  /** When the next one begins. */
  day_ends_at: number | null;
  /** The id of the token of the request that set it last. */
  created_by: string;
  created_at: number;
  updated_at: number;
}

/** What a budget limits. */
export interface BudgetAmounts {
  /** All tokens, as providers count them; null: no limit. */
  tokens: number | null;
  /** In US dollars; null: no limit. */
  cost_usd: number | null;
  /** Turns; null: no limit. */
  turns: number | null;
}

/** A person declined that a budget that is used up goes on. */
export interface BudgetDeclinedEvent {
  seq: number;
  id: string;
  kind: 'budget.declined';
  scope: 'runtime';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    budget: Budget;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** A budget is used up: no turn of its sessions begins until its approval is accepted. A running turn goes on, unless the budget is hard. */
export interface BudgetReachedEvent {
  seq: number;
  id: string;
  kind: 'budget.reached';
  scope: 'runtime';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    budget: Budget;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** Turns may begin again. `why`: accepted, because a person accepted it; set, because a person set the budget anew; day, because the next day of the budget has begun. */
export interface BudgetReleasedEvent {
  seq: number;
  id: string;
  kind: 'budget.released';
  scope: 'runtime';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    budget: Budget;
    why: 'accepted' | 'set' | 'day';
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** A budget is gone. `why`: removed by a person; closed, because its session was closed; deleted, because its team was. */
export interface BudgetRemovedEvent {
  seq: number;
  id: string;
  kind: 'budget.removed';
  scope: 'runtime';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    budget: Budget;
    why: 'removed' | 'closed' | 'deleted';
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** A person has set a budget, or set it anew. */
export interface BudgetSetEvent {
  seq: number;
  id: string;
  kind: 'budget.set';
  scope: 'runtime';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    budget: Budget;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** What the turns of a budget have used. */
export interface BudgetSpent {
  tokens: number;
  cost_usd: number;
  turns: number;
  /** The turns of which no tokens are known: what they used is not counted. */
  turns_without_tokens: number;
  /** The turns of which no cost is known. */
  turns_without_cost: number;
}

/** The tools of the gateway, and the configuration that affects them. */
export interface Capabilities {
  namespaces: Array<ToolNamespace>;
  cadreTeamManagePermissions: {
    non_lead_can_add_members: boolean;
    non_lead_can_remove_members: boolean;
  };
  cadreTeamModelPresets: Array<ModelPreset>;
}

/** The claim of a session to a worktree, held or released. */
export interface Claim {
  worktree_id: string;
  session_id: string;
  claim_role: ClaimRole;
  created_at: number;
  released_at: number | null;
}

/** The role of a session that claims a worktree. */
export type ClaimRole = 'owner' | 'consumer';

/** The body of POST /v1/worktrees/{worktree_id}/claims. */
export interface ClaimWorktreeRequest {
  session_id: string;
  /** Default: consumer. */
  claim_role?: ClaimRole | null | undefined;
}

/** The body of POST /v1/worktrees/{worktree_id}/cleanup. */
export interface CleanUpWorktreeRequest {
  reason?: string | null | undefined;
}

/** The body of POST /v1/sessions/{session_id}/close. */
export interface CloseSessionRequest {
  reason?: string | null | undefined;
}

/** The outcome for a worktree without claims. */
export interface CollectedWorktree {
  id: string;
  /** Its status afterwards. */
  status: 'active' | 'retained' | 'cleaned' | 'missing';
  /** The size of its path on disk. */
  bytes: number;
  reason: string;
}

/** The body of POST /v1/worktrees/gc. */
export interface CollectWorktreesRequest {
  /** Default: true, which lists them and removes nothing. */
  dry_run?: boolean | null | undefined;
}

/** The response of POST /v1/worktrees/gc. */
export interface CollectWorktreesResponse {
  worktrees: Array<CollectedWorktree>;
}

/** How many teams, messages and deliveries there are. */
export interface CommsDiagnostics {
  /** The number of teams, including deleted ones. */
  teams: number;
  messages: number;
  /** The number of deliveries, by status. */
  deliveries: Record<string, number>;
  spawns_under_way: number;
}

/** A token with its secret. */
export interface CreatedToken {
  id: string;
  name: string;
  scope: TokenScope;
  created_at: number;
  /** When it becomes invalid; null: never. */
  expires_at: number | null;
  /** Of the scope `tools`: what its bearer may do without a session, where no person can be asked. `full_access`: run commands. Others, and null: what the gate lets it do without asking. */
  permission_mode: 'read_only' | 'default' | 'full_access' | null;
  /** When it was last used, to the minute; null: never, or not known. */
  last_used_at: number | null;
  /** The secret that the bearer sends. Only this response contains it. */
  secret: string;
}

/** The body of POST /v1/processes. */
export interface CreateProcessRequest {
  /** A line of shell; if the shell is disabled, a program and its arguments. */
  command: string;
  /** The working directory, relative to that of the owner; without an owner, to the server's. */
  cwd?: string | null | undefined;
  /** The time limit, counted from its start; 0: none. Default: processes.default_timeout_ms. */
  timeout_ms?: number | null | undefined;
  session_id?: string | null | undefined;
  /** Default: none. */
  stdin?: 'none' | 'pipe' | null | undefined;
  /** notify: when it has ended, its owner gets one turn that reports it. */
  on_exit?: 'notify' | null | undefined;
}

/** The response of POST /v1/processes. */
export interface CreateProcessResponse {
  process: Process;
}

/** The body of POST /v1/sessions. */
export interface CreateSessionRequest {
  provider: ProviderId;
  /** An agent of the provider acp, as `GET /v1/providers` names them; absent: its default agent. */
  agent?: string | null | undefined;
  model?: string | null | undefined;
  /** Working directory; absent: the server's. */
  cwd?: string | null | undefined;
  permission_mode?: string | null | undefined;
  /** The agent's own mode, by its own name; for agents of acp. */
  agent_mode?: string | null | undefined;
  metadata?: unknown;
  title?: string | null | undefined;
  thinking_effort?: string | null | undefined;
  /** A git worktree for the session, which claims it: it works in the directory of the worktree that corresponds to cwd. If any step fails, nothing is left of it. true: a new one with a name of its own. */
  worktree?: true | SessionWorktree | null | undefined;
  mcp_servers?: Array<McpServer> | null | undefined;
  /** What it does when a usage limit of its agent has reset. resume: it goes on by itself. wait: it waits for a person. null: as sessions.after_limit of the configuration says. */
  after_limit?: 'resume' | 'wait' | null | undefined;
}

/** The body of POST /v1/teams. */
export interface CreateTeamRequest {
  name: string;
  /** The session that leads; it becomes a member. */
  lead_agent_id: string;
  /** Other sessions. */
  member_agent_ids?: Array<string> | null | undefined;
}

/** The response of POST /v1/teams. */
export interface CreateTeamResponse {
  team: Team;
  members: Array<Member>;
}

/** The body of POST /v1/tokens. */
export interface CreateTokenRequest {
  /** The purpose of the token; need not be unique. */
  name: string;
  scope: TokenScope;
  /** Its lifetime, at most 10 years; absent or null: until it is revoked. */
  expires_in_ms?: number | null | undefined;
  /** Of the scope `tools`: what its bearer may do without a session, where no person can be asked. `full_access`: run commands. Others, and null: what the gate lets it do without asking. */
  permission_mode?: 'read_only' | 'default' | 'full_access' | null | undefined;
}

/** The body of POST /v1/worktrees. */
export interface CreateWorktreeRequest {
  /** The session that owns it: it gets a claim with the role "owner". */
  source_session_id: string;
  /** A directory of the repository; absent: the session's. */
  repo_root?: string | null | undefined;
  worktree_name: string;
  /** The prefix of its branch, which is PREFIX/NAME. Default: cadre. */
  branch_prefix?: string | null | undefined;
  /** The commit or branch to start from; absent: what is checked out. */
  base_ref?: string | null | undefined;
  /** Default: worktrees.deletion_policy_default. */
  deletion_policy?: DeletionPolicy | null | undefined;
  /** true: run it even if its content is not allowed. Absent: run it if its content is allowed. */
  run_init_script?: boolean | null | undefined;
  /** Whether the ignored files that .worktreeinclude names are copied. true: even if its content is not allowed. Absent: if it is allowed. */
  copy_included?: boolean | null | undefined;
  team_id?: string | null | undefined;
  operation_id?: string | null | undefined;
}

/** The response of POST /v1/worktrees. */
export interface CreateWorktreeResponse {
  id: string;
  worktree_name: string;
  repo_root: string;
  path: string;
  branch: string;
  base_ref: string;
  base_commit: string;
  deletion_policy: DeletionPolicy;
  /** active: it has claims. retained: it has none. cleaned: the server removed its path and branch. missing: its path was removed by somebody else. */
  status: 'active' | 'retained' | 'cleaned' | 'missing';
  source_session_id: string;
  team_id: string | null;
  operation_id: string | null;
  init_script: {
    /** not_found: the repository has no init script. skipped_untrusted: its content is not allowed. If the script fails, no worktree is created. */
    status: 'completed' | 'not_found' | 'off' | 'skipped_untrusted';
    exit_code: number | null;
    output_tail: string;
    /** The digest of the script as it is committed in the main worktree, if there is one. */
    sha256?: string | null | undefined;
    /** How to allow a script that was skipped. */
    how_to_allow?: string | null | undefined;
  };
  /** What was copied into it when it was made: ignored files of the main worktree that .worktreeinclude names. */
  included: {
    /** not_found: the repository has no .worktreeinclude, or no main worktree. skipped_untrusted: its content is not allowed. If a file cannot be copied, no worktree is created. */
    status: 'completed' | 'not_found' | 'off' | 'skipped_untrusted';
    /** How many files were copied. */
    files: number;
    /** Their size together. */
    bytes: number;
    /** How many more files match and were left out: symbolic links, files that the checkout has or does not ignore, and names that are not UTF-8. */
    skipped: number;
    /** The digest of .worktreeinclude as it is committed in the main worktree. */
    sha256: string | null;
    /** How to allow a list that was skipped. */
    how_to_allow: string | null;
  };
  /** The first of the ports that belong to it while it exists; null: none was free when it was made. Programs in it have it as CADRE_PORT_BASE. */
  port_base: number | null;
  /** How many ports that are; 0: none. */
  port_count: number;
  /** The ref in its repository that keeps the work that was in it when it was last cleaned. */
  archive_ref: string | null;
  /** When its last claim was released, while the cleanup after that has not ended. Null or absent if no cleanup is due. */
  cleanup_due_at?: number | null | undefined;
  created_at: number;
  updated_at: number;
  /** The claim of the source session. */
  claim: Claim;
  /** false: it existed already. */
  created: boolean;
}

/** The body of POST /v1/sessions/{session_id}/approvals/{approval_id}. */
export interface DecideApprovalRequest {
  decision: 'accept' | 'accepted' | 'decline' | 'declined' | 'reject' | 'rejected';
  /** To accept: what the acceptance is good for, one of `scopes` of the approval; the default is `once`. A decision to decline is good once. */
  scope?: ApprovalScope | null | undefined;
  reason?: string | null | undefined;
  /** To accept a question: the answers to each of its questions, by the id, text or heading of the question. Each required question needs at least one answer; unknown keys are refused. */
  answers?: Record<string, Array<string>> | null | undefined;
}

/** When a worktree is removed. */
export type DeletionPolicy = 'delete_on_last_claim' | 'retain_on_last_claim' | 'delete_if_clean';

/** The delivery of one message to one recipient. */
export interface Delivery {
  id: string;
  message_id: string;
  team_id: string;
  recipient_agent_id: string;
  /** pending: it waits for its recipient. deferred: it was postponed, error says why. injecting: its turn is accepted. injected: its turn has started. */
  status: 'pending' | 'deferred' | 'injecting' | 'injected' | 'failed' | 'cancelled';
  /** The number of turns that were started to deliver it. */
  attempts: number;
  injected_turn_id: string | null;
  /** When its turn completed. */
  consumed_at: number | null;
  error: Failure | null;
  created_at: number;
  updated_at: number;
}

/** A delivery was taken back with its message. */
export interface DeliveryCancelledEvent {
  seq: number;
  id: string;
  kind: 'delivery.cancelled';
  scope: 'team';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    delivery: Delivery;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** The turn that a delivery is in has completed. */
export interface DeliveryConsumedEvent {
  seq: number;
  id: string;
  kind: 'delivery.consumed';
  scope: 'team';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    delivery: Delivery;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** A delivery was put off; its `error` says why. It is tried again, by the server or by a request. */
export interface DeliveryDeferredEvent {
  seq: number;
  id: string;
  kind: 'delivery.deferred';
  scope: 'team';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    delivery: Delivery;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** A delivery will not reach its recipient; its `error` says why. */
export interface DeliveryFailedEvent {
  seq: number;
  id: string;
  kind: 'delivery.failed';
  scope: 'team';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    delivery: Delivery;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** The turn that a delivery is in has started. It comes again, with an `error`, where that turn did not complete. */
export interface DeliveryInjectedEvent {
  seq: number;
  id: string;
  kind: 'delivery.injected';
  scope: 'team';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    delivery: Delivery;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** A delivery is in a turn of its recipient that was accepted. */
export interface DeliveryInjectingEvent {
  seq: number;
  id: string;
  kind: 'delivery.injecting';
  scope: 'team';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    delivery: Delivery;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** A delivery waits: it is new, or is tried again. */
export interface DeliveryPendingEvent {
  seq: number;
  id: string;
  kind: 'delivery.pending';
  scope: 'team';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    delivery: Delivery;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** An event of a kind that is described here. */
export type DescribedEvent =
  | RuntimeStartedEvent
  | RuntimeRecoveredEvent
  | RuntimeStoppingEvent
  | StorageTrimmedEvent
  | SessionCreatedEvent
  | SessionUpdatedEvent
  | SessionResumedEvent
  | SessionClosedEvent
  | SessionFailedEvent
  | SessionLimitedEvent
  | SessionLimitEndedEvent
  | SessionNoticeEvent
  | TurnAcceptedEvent
  | TurnStartedEvent
  | TurnInterruptRequestedEvent
  | TurnCompletedEvent
  | TurnInterruptedEvent
  | TurnFailedEvent
  | QueueAddedEvent
  | QueueEditedEvent
  | QueueChangedEvent
  | QueueMovedEvent
  | QueueDueEvent
  | QueueStartedEvent
  | QueueFinishedEvent
  | QueueSkippedEvent
  | QueueHeldEvent
  | QueueReleasedEvent
  | QueueRemovedEvent
  | QueueSessionHeldEvent
  | QueueSessionReleasedEvent
  | ReviewAddedEvent
  | ReviewEditedEvent
  | ReviewDroppedEvent
  | ReviewSentEvent
  | MessageDeltaEvent
  | MessageCompletedEvent
  | ReasoningDeltaEvent
  | ReasoningCompletedEvent
  | ToolStartedEvent
  | ToolUpdatedEvent
  | ToolCompletedEvent
  | ApprovalRequestedEvent
  | ApprovalResolvedEvent
  | PlanUpdatedEvent
  | UsageUpdatedEvent
  | ProcessQueuedEvent
  | ProcessStartedEvent
  | ProcessOutputEvent
  | ProcessKillRequestedEvent
  | ProcessCompletedEvent
  | ProcessFailedEvent
  | ProcessTimedOutEvent
  | ProcessKilledEvent
  | WorktreeCreatedEvent
  | WorktreeClaimedEvent
  | WorktreeReleasedEvent
  | WorktreeArchivedEvent
  | WorktreeCleanedEvent
  | WorktreeRetainedEvent
  | WorktreeCleanupFailedEvent
  | WorktreeRestoredEvent
  | WorktreeMergedEvent
  | WorktreeRebasedEvent
  | WorktreePullRequestOpenedEvent
  | WorktreeMissingEvent
  | TeamCreatedEvent
  | TeamDeletedEvent
  | TeamMemberJoinedEvent
  | TeamMemberLeftEvent
  | TeamSpawnFailedEvent
  | TeamLeadChangedEvent
  | TeamMessageCreatedEvent
  | TeamMessageCancelledEvent
  | DeliveryPendingEvent
  | DeliveryDeferredEvent
  | DeliveryInjectingEvent
  | DeliveryInjectedEvent
  | DeliveryConsumedEvent
  | DeliveryFailedEvent
  | DeliveryCancelledEvent
  | HookFailingEvent
  | HookRecoveredEvent
  | HookSkippedEvent
  | HookGapEvent
  | BudgetSetEvent
  | BudgetReachedEvent
  | BudgetDeclinedEvent
  | BudgetReleasedEvent
  | BudgetRemovedEvent;

/** Metrics of the server and its parts. */
export interface Diagnostics {
  health: Health;
  recovery: RecoverySummary;
  providers: Array<ProviderDiagnostics>;
  storage: {
    latest_seq: number;
    database_bytes: number;
    /** Free pages, which new rows fill before the database file grows. */
    free_bytes_in_database: number;
    wal_bytes: number;
    budget: {
      /** retention.max_bytes; 0: no limit. */
      max_bytes: number;
      /** The size that retention compares with max_bytes. */
      used_bytes: number;
    };
    disk_free_bytes: number;
    /** retention.min_free_bytes. */
    min_free_bytes: number;
    checkpoints: number;
    /** Transactions per group commit, which shares one fsync. */
    group_size: Spread;
    /** The duration of an fsync of the log, in microseconds. */
    sync_us: Spread;
  };
  streams: {
    followers: number;
    waiting: number;
    max_lag: number;
  };
  processes: ProcessDiagnostics;
  worktrees: WorktreeDiagnostics;
  comms: CommsDiagnostics;
  /** Older servers have no such field. */
  queue?: QueueDiagnostics | undefined;
  /** Older servers have no such field. */
  agents?:
    | {
        /** Number of live agents. */
        live: number;
        /** Maximum number of live agents (`providers.max_live`). */
        max: number;
        /** Sessions whose turn waits for an agent, the one that has waited longest first. */
        waiting: Array<{
          session_id: string;
          waited_ms: number;
          /** The limit that is reached, and the sessions that hold it. */
          reason: string;
        }>;
      }
    | undefined;
  children: {
    live: number;
    /** The process that kills every child if the server dies. It starts with the first child; null before. */
    keeper_pid: number | null;
    /** Processes of another user in our process groups that could not be killed, since the start. */
    out_of_reach: number;
  };
  event_loop: {
    delay_us: Spread;
  };
  memory: {
    rss_bytes: number;
    heap_used_bytes: number;
  };
}

/** What the files of a session are compared with. */
export interface DiffBase {
  /** worktree: the last commit that its worktree shares with the branch at which that began; where that branch is gone or has gone back, the commit from which the worktree was made. session: the commit that was checked out when the session was opened. head: the commit that is checked out. turn: the files at the beginning of a turn. */
  kind: 'worktree' | 'session' | 'head' | 'turn';
  /** null: there is none, so every file counts as added. */
  commit: string | null;
  turn_id: string | null;
}

/** The body of PATCH /v1/queue/{entry_id}. */
export interface EditQueueEntryRequest {
  /** As of a turn: an array of items, or a single item. */
  input?: Array<InputItem> | InputItem | undefined;
  /** What people call it. */
  name?: string | null | undefined;
  reason?: string | null | undefined;
  /** When its turn is due; null: now. It replaces `every`. */
  at?: number | null | undefined;
  /** When its turns are due; it replaces `at`. */
  every?: string | null | undefined;
  /** Of `every`, or in which `at` is shown; absent: the server's. Only with one of them. */
  time_zone?: string | null | undefined;
  /** What happens to a run of a schedule that is due while the run before it has not ended. skip: it is skipped. queue: it follows that one; if one follows already, it is skipped. */
  overlap?: 'skip' | 'queue' | undefined;
  /** For its turns only. */
  permission_mode?: string | null | undefined;
  /** For its turns only: the agent's own mode; for agents of acp. */
  agent_mode?: string | null | undefined;
  /** For its turns only. */
  model?: string | null | undefined;
  /** For its turns only. */
  thinking_effort?: string | null | undefined;
}

/** The body of PATCH /v1/sessions/{session_id}/review/comments/{comment_id}. */
export interface EditReviewCommentRequest {
  text: string;
}

/** The body of every refusal but 401. */
export interface ErrorBody {
  /** What was wrong and what to do about it. */
  error: string;
  code:
    | 'invalid'
    | 'provider_unavailable'
    | 'unsupported_provider_images'
    | 'unknown_model_preset'
    | 'unauthorized'
    | 'forbidden_host'
    | 'forbidden_origin'
    | 'forbidden_scope'
    | 'not_found'
    | 'method_not_allowed'
    | 'payload_too_large'
    | 'unsupported_media_type'
    | 'conflict'
    | 'turn_in_progress'
    | 'turn_conflict'
    | 'turn_not_active'
    | 'session_closed'
    | 'session_failed'
    | 'approval_resolved'
    | 'claim_conflict'
    | 'already_member'
    | 'team_deleted'
    | 'delivery_state'
    | 'idempotency_conflict'
    | 'provider_managed'
    | 'budget_reached'
    | 'too_many'
    | 'internal'
    | 'storage_full'
    | 'storage_damaged'
    | 'shutting_down';
}

/** A session that failed, and why. */
export interface FailedSession {
  code: string;
  message: string;
  session_id: string;
}

/** Why something failed. */
export interface Failure {
  code: string;
  message: string;
}

/** What changed in one file. */
export interface FileChange {
  /** The path of the file, relative to `root`; bytes that are not UTF-8 are replaced. */
  path: string;
  /** Its path before, if the file was renamed. */
  old_path: string | null;
  status: 'added' | 'deleted' | 'modified' | 'renamed' | 'type_changed';
  /** As git writes it, such as 100644; null: it wasn't. */
  old_mode: string | null;
  new_mode: string | null;
  /** The id of its content before, as git counts it. */
  old_blob: string | null;
  /** The id of its content now. It changes when the content does. */
  new_blob: string | null;
  /** Added lines; null: it is not compared as text. */
  additions: number | null;
  deletions: number | null;
  /** Its size before, if it is not compared as text. */
  old_bytes: number | null;
  new_bytes: number | null;
  /** Its part of the unified diff, from the line "diff --git" on; bytes that are not UTF-8 are replaced. */
  patch: string | null;
  /** Why there is no patch. binary: it is no text. large: the file has more than 2 MiB, or its patch more than 512 KiB. limit: the patches before it fill the answer. not_asked: `stat` is true. */
  no_patch: 'binary' | 'large' | 'limit' | 'not_asked' | null;
}

/** A file of a session. */
export interface FileOfSession {
  path: string;
  /** As git writes it, such as 100644. */
  mode: string;
  blob: string;
  bytes: number | null;
}

/** A commit of a worktree. */
export interface FinishedCommit {
  commit: string;
  subject: string;
  /** The name of its author. */
  author: string;
  authored_at: number;
}

/** A file that a merge or a rebase changes. */
export interface FinishedFile {
  path: string;
  change: 'added' | 'deleted' | 'modified';
  /** null: a binary file. */
  lines_added: number | null;
  lines_deleted: number | null;
}

/** What the server is in its fleet. */
export interface FleetStatus {
  /** off: configured for none. joining: not a member since the start. member: it is one. name_taken: another server has its name. diverged: the copy of its events in the fleet is of another log. not_mirrored: it is a member, and its events cannot be copied to the fleet. unreachable: NATS does not answer just now. */
  state: 'off' | 'joining' | 'member' | 'name_taken' | 'diverged' | 'not_mirrored' | 'unreachable';
  /** What is wrong, and what to do about it. Only where something is. */
  detail?: string | undefined;
}

/** The response of GET /health. */
export interface GetPublicHealthResponse {
  status: 'ok' | 'degraded';
}

/** The response of GET /v1/sessions/{session_id}/snapshots. */
export interface GetSnapshotsResponse {
  session_id: string;
  /** Whether snapshots are taken at its next turn. */
  enabled: boolean;
  /** What a person chose for this session; null: snapshots.enabled decides. */
  chosen: boolean | null;
  /** The newest 1,000, oldest first. */
  snapshots: Array<Snapshot>;
}

/** The response of GET /v1/teams/{team_id}. */
export interface GetTeamResponse {
  team: Team;
  members: Array<Member>;
}

/** The response of GET /v1/version. */
export interface GetVersionResponse {
  name: 'cadre';
  version: string;
  api_version: 'v1';
  /** Identifies the event log; changes when the log is replaced. */
  epoch: string;
  node: string;
  commit: string;
}

/** The response of GET /v1/worktrees/{worktree_id}. */
export interface GetWorktreeResponse {
  id: string;
  worktree_name: string;
  repo_root: string;
  path: string;
  branch: string;
  base_ref: string;
  base_commit: string;
  deletion_policy: DeletionPolicy;
  /** active: it has claims. retained: it has none. cleaned: the server removed its path and branch. missing: its path was removed by somebody else. */
  status: 'active' | 'retained' | 'cleaned' | 'missing';
  source_session_id: string;
  team_id: string | null;
  operation_id: string | null;
  init_script: {
    /** not_found: the repository has no init script. skipped_untrusted: its content is not allowed. If the script fails, no worktree is created. */
    status: 'completed' | 'not_found' | 'off' | 'skipped_untrusted';
    exit_code: number | null;
    output_tail: string;
    /** The digest of the script as it is committed in the main worktree, if there is one. */
    sha256?: string | null | undefined;
    /** How to allow a script that was skipped. */
    how_to_allow?: string | null | undefined;
  };
  /** What was copied into it when it was made: ignored files of the main worktree that .worktreeinclude names. */
  included: {
    /** not_found: the repository has no .worktreeinclude, or no main worktree. skipped_untrusted: its content is not allowed. If a file cannot be copied, no worktree is created. */
    status: 'completed' | 'not_found' | 'off' | 'skipped_untrusted';
    /** How many files were copied. */
    files: number;
    /** Their size together. */
    bytes: number;
    /** How many more files match and were left out: symbolic links, files that the checkout has or does not ignore, and names that are not UTF-8. */
    skipped: number;
    /** The digest of .worktreeinclude as it is committed in the main worktree. */
    sha256: string | null;
    /** How to allow a list that was skipped. */
    how_to_allow: string | null;
  };
  /** The first of the ports that belong to it while it exists; null: none was free when it was made. Programs in it have it as CADRE_PORT_BASE. */
  port_base: number | null;
  /** How many ports that are; 0: none. */
  port_count: number;
  /** The ref in its repository that keeps the work that was in it when it was last cleaned. */
  archive_ref: string | null;
  /** When its last claim was released, while the cleanup after that has not ended. Null or absent if no cleanup is due. */
  cleanup_due_at?: number | null | undefined;
  created_at: number;
  updated_at: number;
  /** At most one for each session, including released ones. */
  claims: Array<Claim>;
}

/** The health of the server and its parts. */
export interface Health {
  status: 'ok' | 'degraded';
  version: string;
  uptime_ms: number;
  /** Work on this server goes on in every state. Older servers have no such field. */
  fleet?: FleetStatus | undefined;
  checks: {
    /** Whether there is room for new work, the disk syncs in time, and no damaged row was read since the start. */
    store: HealthCheck;
    /** Whether each enabled provider can start agents, and could when it last tried. */
    providers: HealthCheck;
    /** Whether turns get an agent within a minute. Older servers have no such field. */
    agents?: HealthCheck | undefined;
    /** Whether hooks are given their events. Only where there are hooks. */
    hooks?: HealthCheck | undefined;
  };
}

/** How one part of the server is. */
export interface HealthCheck {
  status: 'ok' | 'degraded';
  /** What is wrong, and what to do about it. Only where the status is not `ok`. */
  detail?: string | undefined;
}

/** Why an entry of the queue, or all that a session has to do, waits. */
export interface Hold {
  /** In snake_case: paused, session_closed or session_failed for an entry; paused, stopped or no_agent for a session; others may be added. */
  code: string;
  /** The reason, for people. */
  message: string;
  /** null: not known. */
  since: number | null;
  /** When it ends by itself; null: it does not. */
  until: number | null;
}

/** A command or an address that is told of events, in their order, each at least once. */
export interface Hook {
  name: string;
  /** idle: it was given all there is. delivering: it is behind. failing: its event is tried again later. off: not enabled. broken: its configuration cannot work, see `problem`. */
  state: 'idle' | 'delivering' | 'failing' | 'off' | 'broken';
  /** What to mend in its configuration. */
  problem: string | null;
  /** The kinds as the configuration names them. */
  kinds: Array<string>;
  /** null: events of the whole runtime. */
  scope: HookScope | null;
  /** `command`, or the origin of its URL; the rest may be a secret, and is not shown. */
  target: string;
  /** Whether it is given links that answer approvals. */
  links: boolean;
  /** Every event up to this one is dealt with. */
  cursor: number;
  /** How many events wait for it; counted up to 1000. */
  waiting: number;
  /** When the oldest of them happened. */
  waiting_since: number | null;
  /** How many events it was given in all. */
  delivered: number;
  /** When it was given one last. */
  delivered_at: number | null;
  failure: HookFailure | null;
  gap: HookGap | null;
  /** Not null: new events come as fast as it is given them, so it gets them together, once a second. If its own effects cause them, it triggers itself. */
  slowed_since: number | null;
}

/** A hook has failed at the same event for five minutes, or it cannot work at all. It is tried again. */
export interface HookFailingEvent {
  seq: number;
  id: string;
  kind: 'hook.failing';
  scope: 'runtime';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    /** The name of the hook. */
    hook: string;
    /** The event that it waits with; null: none. */
    event_seq: number | null;
    /** How often it was tried. */
    attempts: number;
    /** The first failure at this event. */
    since: number;
    error: string;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** Why the next event of a hook was not delivered yet. */
export interface HookFailure {
  /** The event that it waits with; null: the log cannot be read. */
  event_seq: number | null;
  /** The first failure at this event. */
  since: number;
  /** How often it was tried. */
  attempts: number;
  /** What went wrong last. */
  error: string;
  /** When it is tried again. */
  retry_at: number;
}

/** Retention took events before the hook was given them; some of them may have been for it. The latest such gap. */
export interface HookGap {
  /** The last event that was dealt with before. */
  after_seq: number;
  /** The highest event that is gone. */
  trimmed_seq: number;
  /** When it was noticed. */
  at: number;
  /** How many such gaps there were. */
  times: number;
}

/** Retention took events before a hook was given them. Some of them may have been for it. */
export interface HookGapEvent {
  seq: number;
  id: string;
  kind: 'hook.gap';
  scope: 'runtime';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    /** The name of the hook. */
    hook: string;
    /** The last event that was dealt with before. */
    after_seq: number;
    /** The highest event that is gone. */
    trimmed_seq: number;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** A hook of which `hook.failing` told was given its event after all. */
export interface HookRecoveredEvent {
  seq: number;
  id: string;
  kind: 'hook.recovered';
  scope: 'runtime';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    /** The name of the hook. */
    hook: string;
    /** That event. */
    event_seq: number;
    /** The first failure at that event. */
    since: number;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** The one thing of which a hook is told. */
export interface HookScope {
  type: 'session' | 'team' | 'process' | 'worktree';
  id: string;
}

/** What a hook is never given. */
export interface HookSkip {
  name: string;
  /** The last event that was dealt with before. */
  after_seq: number;
  /** The last event that is skipped; `after_seq` where nothing waits. */
  up_to_seq: number;
}

/** A person had a hook skip events. It is never given them. */
export interface HookSkippedEvent {
  seq: number;
  id: string;
  kind: 'hook.skipped';
  scope: 'runtime';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    /** The name of the hook. */
    hook: string;
    /** The last event that was dealt with before. */
    after_seq: number;
    /** The last event that is skipped. */
    up_to_seq: number;
    /** The token of who asked for it. */
    by: string;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** What came of the test of a hook. */
export interface HookTest {
  ok: boolean;
  /** What went wrong. */
  error: string | null;
  elapsed_ms: number;
  /** What was sent. */
  event: Record<string, unknown>;
}

/** An image in a file. */
export interface ImageByPath {
  type: 'image';
  /** A file on the machine of the server, relative to the directory of the session; it is copied. */
  path: string;
}

/** An image in the request. */
export interface ImageInline {
  type: 'image';
  /** The file as base64. */
  data: string;
  /** The type is detected from the bytes; a request that states another one is refused. */
  media_type?: string | undefined;
}

/** The body of POST /v1/providers/codex/auth/import. */
export interface ImportCodexLoginRequest {
  /** The content of codex's own auth.json. It is shown nowhere again. */
  auth_json: Record<string, unknown>;
}

/** One input item of a turn or message. */
export type InputItem = TextInput | ImageByPath | ImageInline;

/** The response of POST /v1/teams/{team_id}/interrupt-all. */
export interface InterruptTeamResponse {
  interrupted_session_ids: Array<string>;
  /** Members without an active turn. */
  skipped_session_ids: Array<string>;
}

/** The body of POST /v1/mcp/invoke. */
export interface InvokeToolRequest {
  tool_name?: string | null | undefined;
  /** The same as tool_name. */
  toolName?: string | null | undefined;
  /** The session that calls; for a call without a session, the id of the own token of the scope tools. */
  caller_agent_id?: string | null | undefined;
  /** The same as caller_agent_id. */
  callerAgentId?: string | null | undefined;
  /** Names the call: within 24 h, a call of the same caller with the same id returns the stored result. */
  invocation_id?: string | null | undefined;
  /** The same as invocation_id. */
  invocationId?: string | null | undefined;
  /** If given, it has to be the prefix of the name of the tool. */
  namespace?: 'cadre_process' | 'cadre_team' | null | undefined;
  args?: Record<string, unknown> | null | undefined;
}

/** One message, reasoning or tool call of a turn, complete. */
export interface Item {
  item_id: string;
  session_id: string;
  turn_id: string | null;
  kind: 'message' | 'reasoning' | 'tool';
  status: 'open' | 'completed' | 'interrupted' | 'failed';
  /** The text of the message or reasoning; for a tool call, its output. */
  text: string;
  tool: ToolCall | null;
  created_at: number;
  completed_at: number | null;
}

/** The body of POST /v1/processes/{process_id}/kill. */
export interface KillProcessRequest {
  reason?: string | null | undefined;
}

/** The response of POST /v1/processes/{process_id}/kill. */
export interface KillProcessResponse {
  process: Process;
}

/** A kind of event, or a group of them as "turn.*". */
export type KindPattern =
  | 'runtime.*'
  | 'storage.*'
  | 'session.*'
  | 'turn.*'
  | 'queue.*'
  | 'review.*'
  | 'message.*'
  | 'reasoning.*'
  | 'tool.*'
  | 'approval.*'
  | 'plan.*'
  | 'usage.*'
  | 'process.*'
  | 'worktree.*'
  | 'team.*'
  | 'delivery.*'
  | 'hook.*'
  | 'budget.*'
  | 'runtime.started'
  | 'runtime.recovered'
  | 'runtime.stopping'
  | 'storage.trimmed'
  | 'session.created'
  | 'session.updated'
  | 'session.resumed'
  | 'session.closed'
  | 'session.failed'
  | 'session.limited'
  | 'session.limit_ended'
  | 'session.notice'
  | 'turn.accepted'
  | 'turn.started'
  | 'turn.interrupt_requested'
  | 'turn.completed'
  | 'turn.interrupted'
  | 'turn.failed'
  | 'queue.added'
  | 'queue.edited'
  | 'queue.changed'
  | 'queue.moved'
  | 'queue.due'
  | 'queue.started'
  | 'queue.finished'
  | 'queue.skipped'
  | 'queue.held'
  | 'queue.released'
  | 'queue.removed'
  | 'queue.session_held'
  | 'queue.session_released'
  | 'review.added'
  | 'review.edited'
  | 'review.dropped'
  | 'review.sent'
  | 'message.delta'
  | 'message.completed'
  | 'reasoning.delta'
  | 'reasoning.completed'
  | 'tool.started'
  | 'tool.updated'
  | 'tool.completed'
  | 'approval.requested'
  | 'approval.resolved'
  | 'plan.updated'
  | 'usage.updated'
  | 'process.queued'
  | 'process.started'
  | 'process.output'
  | 'process.kill_requested'
  | 'process.completed'
  | 'process.failed'
  | 'process.timed_out'
  | 'process.killed'
  | 'worktree.created'
  | 'worktree.claimed'
  | 'worktree.released'
  | 'worktree.archived'
  | 'worktree.cleaned'
  | 'worktree.retained'
  | 'worktree.cleanup_failed'
  | 'worktree.restored'
  | 'worktree.merged'
  | 'worktree.rebased'
  | 'worktree.pull_request_opened'
  | 'worktree.missing'
  | 'team.created'
  | 'team.deleted'
  | 'team.member_joined'
  | 'team.member_left'
  | 'team.spawn_failed'
  | 'team.lead_changed'
  | 'team.message_created'
  | 'team.message_cancelled'
  | 'delivery.pending'
  | 'delivery.deferred'
  | 'delivery.injecting'
  | 'delivery.injected'
  | 'delivery.consumed'
  | 'delivery.failed'
  | 'delivery.cancelled'
  | 'hook.failing'
  | 'hook.recovered'
  | 'hook.skipped'
  | 'hook.gap'
  | 'budget.set'
  | 'budget.reached'
  | 'budget.declined'
  | 'budget.released'
  | 'budget.removed';

/** A message in short, in the row of a member. */
export interface LastMessage {
  message_id: string;
  direction: 'sent' | 'received';
  sender_agent_id: string;
  /** The beginning of its text. */
  text: string;
  created_at: number;
}

/** A changed file whose content was not read. large: it has more than 32 MiB. limit: the changed files before it reach a limit. repository: it is a git repository of its own. */
export interface LeftOut {
  path: string;
  reason: 'large' | 'limit' | 'repository';
  bytes: number | null;
}

/** The body of POST /v1/sessions/{session_id}/approvals/{approval_id}/link. */
export interface LinkApprovalRequest {
  /** The default is `approvals.link_expires_ms` of the configuration. */
  expires_in_ms?: number | null | undefined;
}

/** The response of GET /v1/sessions/{session_id}/files. */
export interface ListSessionFilesResponse {
  session_id: string;
  turn_id: string | null;
  moment: SnapshotMoment | null;
  root: string;
  taken_at: number;
  /** At most 5,000. */
  files: Array<FileOfSession>;
  /** Whether there are more. */
  is_cut: boolean;
}

/** A page that a person is to open, to log in to an agent. */
export interface LoginPage {
  /** The agent's words. */
  message: string;
  url: string;
}

/** An agent's own login program. */
export interface LoginProgram {
  command: string;
  args: Array<string>;
  /** All of its environment; it may have secrets. */
  env: Record<string, string>;
}

/** The end of the output of a process on one stream. */
export interface LogPart {
  content: string;
  /** The position of the first byte of the content in the whole output. */
  offset: number;
  bytes: number;
  /** The size of the whole output. */
  total_bytes: number;
  /** Whether the content is less than the whole output. */
  truncated: boolean;
}

/** The body of POST /v1/worktree-trust/look. */
export interface LookAtBroughtRequest {
  /** A directory of the repository. */
  repo_root: string;
}

/** Events that were stored before this start and are gone, because the write-ahead log was damaged or removed. The event log has a new epoch. */
export interface LostEvents {
  /** Sequence number of the newest event that is left. */
  after_seq: number;
  /** Sequence number of the newest event that was lost. */
  up_to_seq: number;
}

/** An MCP server of a client, for the agent of a session. */
export type McpServer = McpServerByStdio | McpServerByAddress;

/** An MCP server that runs already. */
export interface McpServerByAddress {
  type: 'http' | 'sse';
  /** What agents call it; each server of a session has another one. Names that begin with `cadre` are cadre's own. */
  name: string;
  url: string;
  /** By name. They may be secrets: no answer, event or log shows them. */
  headers?: Record<string, string> | undefined;
}

/** An MCP server that the agent starts. */
export interface McpServerByStdio {
  type: 'stdio';
  /** What agents call it; each server of a session has another one. Names that begin with `cadre` are cadre's own. */
  name: string;
  /** A program on the machine of the server. */
  command: string;
  args?: Array<string> | undefined;
  /** By name. They may be secrets: no answer, event or log shows them. */
  env?: Record<string, string> | undefined;
}

/** A session in a team. */
export interface Member {
  team_id: string;
  /** A session. */
  agent_id: string;
  title: string | null;
  joined_at: number;
  /** A session, or "api". */
  added_by: string;
  worktree_id: string | null;
}

/** A member of a team, and its present activity. */
export interface MemberRow {
  team_id: string;
  /** A session. */
  agent_id: string;
  title: string | null;
  joined_at: number;
  /** A session, or "api". */
  added_by: string;
  worktree_id: string | null;
  state: 'idle' | 'working' | 'waiting_for_approval' | 'closed' | 'failed';
  /** The last message that the member sent or received in the team. */
  last_message: LastMessage | null;
  /** The worktree that it works in, if the server created it. */
  worktree: Worktree | null;
  context_window_remaining_percentage: number | null;
  pending_deliveries: number;
  /** Whether the agent has asked for the tools of cadre, with which it messages the team. Null if that is not known since the start of the server. */
  takes_tools?: boolean | null | undefined;
}

/** A file in which git cannot decide. */
export interface MergeConflict {
  path: string;
  /** As git names it: contents, modify/delete, rename/rename and so on. */
  kind: string;
  /** Git's message; it may be empty. */
  message: string;
}

/** The body of POST /v1/worktrees/{worktree_id}/merge. */
export interface MergeWorktreeRequest {
  /** The branch. Default: the one that the worktree began at. */
  into?: string | null | undefined;
  /** Make one commit of all. Default: false. */
  squash?: boolean | null | undefined;
  /** Of the commit of the merge; with it, one is made even if the branch could be moved forward. */
  message?: string | null | undefined;
  /** Commit what is not committed in the worktree first, with this message. */
  commit_message?: string | null | undefined;
  /** Default: true, which changes nothing and says what would happen. */
  dry_run?: boolean | null | undefined;
  /** Refuse if the result would differ from what was shown: the result_tree of an earlier answer. */
  expected_tree?: string | null | undefined;
}

/** A message of a member of a team to others. */
export interface Message {
  id: string;
  team_id: string;
  scope: 'direct' | 'broadcast';
  sender_agent_id: string;
  /** null: a broadcast. */
  recipient_agent_id: string | null;
  recipient_agent_ids: Array<string>;
  /** The input as it was sent, images by their digest. */
  input: StoredInputItem | Array<StoredInputItem>;
  /** The paths as they were sent. */
  image_paths: Array<string>;
  /** The copies that were made of image_paths. */
  images: Array<StoredImage>;
  priority: 'high' | 'normal' | 'low';
  /** non_interrupting waits until the recipient is idle; start_new_turn_only fails if the recipient is not idle; interrupt_after_tool_boundary interrupts its turn as soon as no tool runs and no approval is pending; immediate_interrupt interrupts its turn at once. */
  policy:
    | 'non_interrupting'
    | 'start_new_turn_only'
    | 'interrupt_after_tool_boundary'
    | 'immediate_interrupt';
  correlation_id: string | null;
  reply_to_message_id: string | null;
  /** Whether it is the first message to a member that was spawned. */
  onboarding: boolean;
  created_at: number;
  cancelled_at: number | null;
}

/** A message is whole. It comes no later than the end of its turn. */
export interface MessageCompletedEvent {
  seq: number;
  id: string;
  kind: 'message.completed';
  scope: 'session';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    /** The item: its deltas and its end have the same. */
    item_id: string;
    /** 0: the text is the whole. */
    offset: number;
    /** How it ended: by itself, or as its turn did. */
    status: 'completed' | 'interrupted' | 'failed';
    /** All that was said. */
    text: string;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** An agent says something: a piece of a message, as it comes. Pieces that come while an earlier one is on its way to the disk are joined. */
export interface MessageDeltaEvent {
  seq: number;
  id: string;
  kind: 'message.delta';
  scope: 'session';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    /** The item: its deltas and its end have the same. */
    item_id: string;
    /** Where in the text of the item this piece begins, in bytes of UTF-8. */
    offset: number;
    /** The piece. */
    text: string;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** A model of a provider. */
export interface Model {
  id: string;
  display_name: string;
  reasoning_levels: Array<string>;
}

/** A configured model that can be chosen by its name. */
export interface ModelPreset {
  name: string;
  provider: string;
  agent: string | null;
  model: string | null;
  thinking_effort: string | null;
  agent_mode: string | null;
}

/** The body of POST /v1/queue/{entry_id}/move. */
export interface MoveQueueEntryRequest {
  /** The entry before which it goes. */
  before?: string | null | undefined;
  /** Before or behind all others; absent, without before: last. */
  to?: 'first' | 'last' | null | undefined;
}

/** An event of a kind that is not described here: a newer server has added it. */
export interface NewerEvent {
  seq: number;
  id: string;
  kind: string;
  scope: 'runtime' | 'session' | 'process' | 'worktree' | 'team';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: Record<string, unknown>;
}

/** The body of POST /v1/worktrees/{worktree_id}/pull-request. */
export interface OpenPullRequestRequest {
  /** The branch to merge into. Default: the one that the worktree began at. */
  into?: string | null | undefined;
  /** The remote. Default: origin. */
  remote?: string | null | undefined;
  /** Push the branch first. Default: false: nothing is pushed. */
  push?: boolean | null | undefined;
  /** Default: the subject of the only commit, or the name of the worktree. */
  title?: string | null | undefined;
  /** Default: the subjects of the commits. */
  body?: string | null | undefined;
  /** Default: false. */
  draft?: boolean | null | undefined;
  /** Default: true, which changes nothing and says what would happen. */
  dry_run?: boolean | null | undefined;
  /** Refuse if the branch is elsewhere: the source_commit of an earlier answer. */
  expected_commit?: string | null | undefined;
  /** Refuse if the remote is elsewhere: the remote_url of an earlier answer. */
  expected_url?: string | null | undefined;
}

/** The body of POST /v1/queue/{entry_id}/pause. */
export interface PauseQueueEntryRequest {
  reason?: string | null | undefined;
}

/** The body of POST /v1/sessions/{session_id}/queue/pause. */
export interface PauseSessionQueueRequest {
  reason?: string | null | undefined;
  /** When the pause ends by itself; absent: it does not. */
  until?: number | null | undefined;
}

/** One step of the plan of an agent. */
export interface PlanEntry {
  content: string;
  /** As the agent says: pending, in_progress or completed. */
  status: string;
  priority: string | null;
}

/** An agent tells of its plan, whole each time. */
export interface PlanUpdatedEvent {
  seq: number;
  id: string;
  kind: 'plan.updated';
  scope: 'session';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    /** Its steps, in order. */
    entries?: Array<PlanEntry> | undefined;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** A command that the server runs, or ran. */
export interface Process {
  process_id: string;
  /** The session that owns it; null if it belongs to no session. */
  session_id: string | null;
  /** The external caller that owns it, by the id of its token; null if none does. */
  caller_id: string | null;
  command: string;
  cwd: string;
  /** completed: it exited with code 0. If it was killed, timed out and exited at about the same time, the first of these decides. */
  status: 'queued' | 'running' | 'completed' | 'failed' | 'timed_out' | 'killed';
  pid: number | null;
  exit_code: number | null;
  signal: string | null;
  /** none: it reads the end of its input at once. pipe: it reads what is sent to its stdin, and waits for that. */
  stdin: 'none' | 'pipe';
  /** The time limit, counted from its start; 0: none. */
  timeout_ms: number;
  kill_reason: string | null;
  /** start_failed: it could not be started. not_ended: it has ended as its status says, but processes of another user that it started still run. */
  failure: Failure | null;
  /** How much it has printed, including what was dropped. */
  stdout_bytes: number;
  stderr_bytes: number;
  /** Whether the middle of the output was dropped. */
  stdout_truncated: boolean;
  stderr_truncated: boolean;
  on_exit: 'notify' | null;
  /** The state of the turn that notifies the owner of the end. */
  notice: 'pending' | 'delivered' | 'dropped' | null;
  queued_at: number;
  started_at: number | null;
  ended_at: number | null;
  /** Whether retention has deleted its events and its output. */
  trimmed: boolean;
}

/** A process exited with 0. */
export interface ProcessCompletedEvent {
  seq: number;
  id: string;
  kind: 'process.completed';
  scope: 'process';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    process: ProcessInEvents;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** How many processes run and wait, their limits, and how many have ended, by status. */
export interface ProcessDiagnostics {
  queued: number;
  running: number;
  max_concurrent: number;
  max_queued: number;
  max_per_session: number;
  max_queued_per_session: number;
  ended: Record<string, number>;
}

/** A process exited with something else, could not be started, or ran when the server died. */
export interface ProcessFailedEvent {
  seq: number;
  id: string;
  kind: 'process.failed';
  scope: 'process';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    process: ProcessInEvents;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** A process that has changed, without `command`. */
export interface ProcessInEvents {
  process_id: string;
  /** The session that owns it; null if it belongs to no session. */
  session_id: string | null;
  /** The external caller that owns it, by the id of its token; null if none does. */
  caller_id: string | null;
  cwd: string;
  /** completed: it exited with code 0. If it was killed, timed out and exited at about the same time, the first of these decides. */
  status: 'queued' | 'running' | 'completed' | 'failed' | 'timed_out' | 'killed';
  pid: number | null;
  exit_code: number | null;
  signal: string | null;
  /** none: it reads the end of its input at once. pipe: it reads what is sent to its stdin, and waits for that. */
  stdin: 'none' | 'pipe';
  /** The time limit, counted from its start; 0: none. */
  timeout_ms: number;
  kill_reason: string | null;
  /** start_failed: it could not be started. not_ended: it has ended as its status says, but processes of another user that it started still run. */
  failure: Failure | null;
  /** How much it has printed, including what was dropped. */
  stdout_bytes: number;
  stderr_bytes: number;
  /** Whether the middle of the output was dropped. */
  stdout_truncated: boolean;
  stderr_truncated: boolean;
  on_exit: 'notify' | null;
  /** The state of the turn that notifies the owner of the end. */
  notice: 'pending' | 'delivered' | 'dropped' | null;
  queued_at: number;
  started_at: number | null;
  ended_at: number | null;
  /** Whether retention has deleted its events and its output. */
  trimmed: boolean;
}

/** A process was ended because somebody asked for it, its session was closed, or the server stopped. */
export interface ProcessKilledEvent {
  seq: number;
  id: string;
  kind: 'process.killed';
  scope: 'process';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    process: ProcessInEvents;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** Somebody asked for a process to end. */
export interface ProcessKillRequestedEvent {
  seq: number;
  id: string;
  kind: 'process.kill_requested';
  scope: 'process';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    process: ProcessInEvents;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** The end of the output of a process. */
export interface ProcessLogs {
  process_id: string;
  stdout: LogPart | null;
  stderr: LogPart | null;
}

/** A process has printed something. What it prints within 100 ms is told at once; after 256 KiB of text the events say where its output is, without the text, and at most twice a second. */
export interface ProcessOutputEvent {
  seq: number;
  id: string;
  kind: 'process.output';
  scope: 'process';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    stream: 'stdout' | 'stderr';
    /** Where in the stream the output begins that the event tells of. */
    offset: number;
    /** How many bytes of output the event tells of. */
    bytes: number;
    /** The beginning of it, at most 4 KiB; the whole is in the logs of the process. */
    text: string;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** A process was asked for and stored. It starts as soon as there is a place for it. */
export interface ProcessQueuedEvent {
  seq: number;
  id: string;
  kind: 'process.queued';
  scope: 'process';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    process: Process;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** A process runs. */
export interface ProcessStartedEvent {
  seq: number;
  id: string;
  kind: 'process.started';
  scope: 'process';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    process: ProcessInEvents;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** A process was ended because its `timeout_ms` was over. */
export interface ProcessTimedOutEvent {
  seq: number;
  id: string;
  kind: 'process.timed_out';
  scope: 'process';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    process: ProcessInEvents;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** A kind of agent, what it can do and whether it could start. */
export interface Provider {
  id: ProviderId;
  display_name: string;
  enabled: boolean;
  healthy: boolean;
  detail: string;
  /** Whether the configuration of the server names it as the one for new sessions. */
  default: boolean;
  capabilities: {
    images: boolean;
    approvals: boolean;
    interrupt: boolean;
    resume: boolean;
    usage: boolean;
    models: boolean;
  };
  /** Those that are configured or installed, where its agents have names; else empty. `healthy` of the provider is about its default agent. */
  agents: Array<Agent>;
}

/** The settings with which an agent began a session. */
export interface ProviderDefaults {
  /** Of agents of acp: their mode, as in agent_mode. */
  permission_mode: string | null;
  agent_mode: string | null;
  model: string | null;
  thinking_effort: string | null;
}

/** A provider with what it runs just now. */
export interface ProviderDiagnostics {
  id: ProviderId;
  display_name: string;
  enabled: boolean;
  healthy: boolean;
  detail: string;
  /** Whether the configuration of the server names it as the one for new sessions. */
  default: boolean;
  capabilities: {
    images: boolean;
    approvals: boolean;
    interrupt: boolean;
    resume: boolean;
    usage: boolean;
    models: boolean;
  };
  agents: Array<AgentDiagnostics>;
  version: string | null;
  command: string | null;
  /** Of the process that serves all sessions, where one does. */
  pid: number | null;
  /** Agents that live just now. */
  sessions: number;
  unknown_messages: number;
  last_error: string | null;
}

/** A provider that the interface names. */
export type ProviderId = 'codex' | 'claude' | 'acp';

/** One question of an approval of the kind `question`. */
export interface Question {
  /** The key of its answers; the text or the heading of the question is accepted as the key, too. */
  id: string;
  question: string;
  header: string | null;
  options: Array<{
    label: string;
    description: string | null;
  }>;
  /** Whether an answer may be a text that is not one of the options. */
  free: boolean;
  /** Whether several answers may be given. */
  multiple: boolean;
  required: boolean;
  type: 'text' | 'number' | 'integer';
}

/** An entry was added to the queue of a session, and stored: it is due now, at a time, or again and again. */
export interface QueueAddedEvent {
  seq: number;
  id: string;
  kind: 'queue.added';
  scope: 'session';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    entry: SentStoredQueueEntry;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** An entry changed by itself: its turn was accepted, or ended before it had started, so that it waits again; or its schedule began anew, because the clock was set back by more than a day. */
export interface QueueChangedEvent {
  seq: number;
  id: string;
  kind: 'queue.changed';
  scope: 'session';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    entry: QueueEntryInEvents;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** What waits in the queues of all sessions. */
export interface QueueDiagnostics {
  /** The number of entries, by status. */
  entries: Record<string, number>;
  /** The sessions of which nothing that waits becomes a turn. */
  sessions_held: number;
  /** When the next entry is due; null: none is scheduled. */
  next_at: number | null;
}

/** The time of an entry has come: it becomes a turn once its session is free and nothing before it waits. */
export interface QueueDueEvent {
  seq: number;
  id: string;
  kind: 'queue.due';
  scope: 'session';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    entry: QueueEntryInEvents;
    /** The time that has come. */
    due_at: number;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** A person changed an entry: what is said, when, or what it is called. */
export interface QueueEditedEvent {
  seq: number;
  id: string;
  kind: 'queue.edited';
  scope: 'session';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    entry: SentEditedQueueEntry;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** An entry of the queue, with its place and what holds its session. */
export interface QueueEntry {
  id: string;
  session_id: string;
  /** What people call it. */
  name: string | null;
  reason: string | null;
  input: Array<StoredInputItem>;
  /** Of its turns; null: the session's. */
  permission_mode: string | null;
  /** Of its turns; null: the session's. */
  agent_mode: string | null;
  /** Of its turns; null: the session's. */
  model: string | null;
  /** Of its turns; null: the session's. */
  thinking_effort: string | null;
  /** When its only turn is due; null: it has no such time. */
  at: number | null;
  /** When its turns are due, in time_zone; null: it has one turn. */
  every: string | null;
  /** Of `every`; for `at`, the one in which it is shown. */
  time_zone: string | null;
  /** What happens to a run of a schedule that is due while the run before it has not ended. skip: it is skipped. queue: it follows that one; if one follows already, it is skipped. */
  overlap: 'skip' | 'queue';
  /** scheduled: its time has not come. waiting: it is due, and becomes a turn once its session is free and nothing before it waits. running: its turn is accepted and has not ended. held: it becomes no turn until its hold ends. */
  status: 'scheduled' | 'waiting' | 'running' | 'held';
  /** When it is due next; null: it is due, it was the last time, or it is held. */
  next_at: number | null;
  /** Since when the run that waits or runs is due; null: there is none. */
  due_at: number | null;
  /** Since when the run is due that follows the one that runs; null: there is none. */
  again_at: number | null;
  /** Of a schedule: every time up to here has become a run or was skipped. */
  settled_until: number | null;
  hold: Hold | null;
  /** The turn of the run that runs. */
  turn_id: string | null;
  /** The turn of the last run that has started. */
  last_turn_id: string | null;
  /** How that turn ended; null: none has. */
  last_status:
    | 'accepted'
    | 'running'
    | 'waiting_for_approval'
    | 'completed'
    | 'interrupted'
    | 'failed'
    | null;
  /** How many of its turns have started. */
  runs: number;
  /** How many of its runs were skipped. */
  skipped: number;
  /** The id of the token of the request. */
  created_by: string;
  created_at: number;
  updated_at: number;
  /** Its place among the entries of its session, from 1: of those that are due, the first becomes the next turn. A schedule goes behind all that waits when a run of it ends. */
  position: number;
  /** Why nothing that waits for its session becomes a turn now; empty: nothing is in the way. */
  session_holds: Array<Hold>;
}

/** An entry of the queue that has changed, without `input`. */
export interface QueueEntryInEvents {
  id: string;
  session_id: string;
  /** What people call it. */
  name: string | null;
  reason: string | null;
  /** Of its turns; null: the session's. */
  permission_mode: string | null;
  /** Of its turns; null: the session's. */
  agent_mode: string | null;
  /** Of its turns; null: the session's. */
  model: string | null;
  /** Of its turns; null: the session's. */
  thinking_effort: string | null;
  /** When its only turn is due; null: it has no such time. */
  at: number | null;
  /** When its turns are due, in time_zone; null: it has one turn. */
  every: string | null;
  /** Of `every`; for `at`, the one in which it is shown. */
  time_zone: string | null;
  /** What happens to a run of a schedule that is due while the run before it has not ended. skip: it is skipped. queue: it follows that one; if one follows already, it is skipped. */
  overlap: 'skip' | 'queue';
  /** scheduled: its time has not come. waiting: it is due, and becomes a turn once its session is free and nothing before it waits. running: its turn is accepted and has not ended. held: it becomes no turn until its hold ends. */
  status: 'scheduled' | 'waiting' | 'running' | 'held';
  /** When it is due next; null: it is due, it was the last time, or it is held. */
  next_at: number | null;
  /** Since when the run that waits or runs is due; null: there is none. */
  due_at: number | null;
  /** Since when the run is due that follows the one that runs; null: there is none. */
  again_at: number | null;
  /** Of a schedule: every time up to here has become a run or was skipped. */
  settled_until: number | null;
  hold: Hold | null;
  /** The turn of the run that runs. */
  turn_id: string | null;
  /** The turn of the last run that has started. */
  last_turn_id: string | null;
  /** How that turn ended; null: none has. */
  last_status:
    | 'accepted'
    | 'running'
    | 'waiting_for_approval'
    | 'completed'
    | 'interrupted'
    | 'failed'
    | null;
  /** How many of its turns have started. */
  runs: number;
  /** How many of its runs were skipped. */
  skipped: number;
  /** The id of the token of the request. */
  created_by: string;
  created_at: number;
  updated_at: number;
}

/** The turn of an entry has ended; `queue.removed` follows unless it is a schedule. */
export interface QueueFinishedEvent {
  seq: number;
  id: string;
  kind: 'queue.finished';
  scope: 'session';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    entry: QueueEntryInEvents;
    /** How the turn ended. */
    status:
      | 'accepted'
      | 'running'
      | 'waiting_for_approval'
      | 'completed'
      | 'interrupted'
      | 'failed';
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** An entry becomes no turn for now; its `hold` says why: a person paused it, or its session was closed or has failed. */
export interface QueueHeldEvent {
  seq: number;
  id: string;
  kind: 'queue.held';
  scope: 'session';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    entry: QueueEntryInEvents;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** The order of the entries of a session changed: a person moved one, or a run of a schedule ended, which puts it behind what waits. */
export interface QueueMovedEvent {
  seq: number;
  id: string;
  kind: 'queue.moved';
  scope: 'session';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    /** All entries of the session, in their order. */
    entry_ids?: Array<string> | undefined;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** The hold of an entry ended: a person resumed it, or its session was brought back. */
export interface QueueReleasedEvent {
  seq: number;
  id: string;
  kind: 'queue.released';
  scope: 'session';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    entry: QueueEntryInEvents;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** An entry has left the queue. `why`: done, because its only turn has ended; dropped by a person; trimmed, because retention deleted the content of its closed session. */
export interface QueueRemovedEvent {
  seq: number;
  id: string;
  kind: 'queue.removed';
  scope: 'session';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    entry: QueueEntryInEvents;
    why: 'done' | 'dropped' | 'trimmed';
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** Nothing that waits for a session becomes a turn from now on, until somebody resumes it or the time of the hold has come. A running turn goes on. */
export interface QueueSessionHeldEvent {
  seq: number;
  id: string;
  kind: 'queue.session_held';
  scope: 'session';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    hold: Hold;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** A hold of a session ended, because somebody resumed it or its time has come. */
export interface QueueSessionReleasedEvent {
  seq: number;
  id: string;
  kind: 'queue.session_released';
  scope: 'session';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    hold: Hold;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** Runs of a schedule are left out, for good. `why`: missed, because the server did not run or the machine slept when they were due; held, because the entry was held; overlap, because the run before had not ended. */
export interface QueueSkippedEvent {
  seq: number;
  id: string;
  kind: 'queue.skipped';
  scope: 'session';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    entry: QueueEntryInEvents;
    why: 'missed' | 'held' | 'overlap';
    /** How many; at 1000, there are that many or more. */
    count: number;
    /** When the first of them was due. */
    first_at: number;
    /** When the last of them was due. */
    last_at: number;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** The turn of an entry has an agent, which is about to be prompted. */
export interface QueueStartedEvent {
  seq: number;
  id: string;
  kind: 'queue.started';
  scope: 'session';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    entry: QueueEntryInEvents;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** A piece of reasoning is whole. It comes no later than the end of its turn. */
export interface ReasoningCompletedEvent {
  seq: number;
  id: string;
  kind: 'reasoning.completed';
  scope: 'session';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    /** The item: its deltas and its end have the same. */
    item_id: string;
    /** 0: the text is the whole. */
    offset: number;
    /** How it ended: by itself, or as its turn did. */
    status: 'completed' | 'interrupted' | 'failed';
    /** All that was said. */
    text: string;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** An agent thinks: a piece of its reasoning, as it comes. */
export interface ReasoningDeltaEvent {
  seq: number;
  id: string;
  kind: 'reasoning.delta';
  scope: 'session';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    /** The item: its deltas and its end have the same. */
    item_id: string;
    /** Where in the text of the item this piece begins, in bytes of UTF-8. */
    offset: number;
    /** The piece. */
    text: string;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** The body of POST /v1/worktrees/{worktree_id}/rebase. */
export interface RebaseWorktreeRequest {
  /** The branch. Default: the one that the worktree began at. */
  onto?: string | null | undefined;
  /** Commit what is not committed in the worktree first, with this message. */
  commit_message?: string | null | undefined;
  /** Default: true, which changes nothing and says what would happen. */
  dry_run?: boolean | null | undefined;
  /** Refuse if the result would differ from what was shown: the result_tree of an earlier answer. */
  expected_tree?: string | null | undefined;
}

/** What startup recovery found and repaired: ids, by the kind of repair. */
export interface RecoverySummary {
  status: 'running' | 'done';
  started_at: number;
  ended_at: number | null;
  previous_stop: 'clean' | 'unclean' | 'none';
  /** Null if no events are lost. Older servers have no such field. */
  events_lost?: LostEvents | null | undefined;
  sessions_failed: Array<FailedSession>;
  turn_pointers_cleared: Array<string>;
  turns_failed: Array<string>;
  turns_reconciled: Array<string>;
  approvals_kept: Array<string>;
  approvals_cancelled: Array<string>;
  processes_failed: Array<string>;
  orphans_killed: Array<number>;
  claims_released: Array<string>;
  worktrees_missing: Array<string>;
  deliveries_retried: Array<string>;
}

/** The body of POST /v1/worktrees/{worktree_id}/release. */
export interface ReleaseWorktreeRequest {
  session_id: string;
  /** Default: true. */
  cleanup_if_last_claim?: boolean | null | undefined;
}

/** The response of POST /v1/worktrees/{worktree_id}/release. */
export interface ReleaseWorktreeResponse {
  worktree: Worktree;
  claim: Claim;
  active_claims: number;
  /** null: no cleanup was asked for, or claims are left. */
  cleanup: WorktreeCleanup | null;
}

/** The response of DELETE /v1/teams/{team_id}/members/{agent_id}. */
export interface RemoveMemberResponse {
  team: Team;
  members: Array<Member>;
}

/** The response of POST /v1/processes/{process_id}/restart. */
export interface RestartProcessResponse {
  /** The new process: with the command, directory, owner, time limit, on_exit and stdin of the old one. It is queued until the old one has ended. */
  process: Process;
}

/** The body of PATCH /v1/sessions/{session_id}/files. */
export interface RestoreFileRequest {
  /** Its path, relative to the root of the checkout. */
  file: string;
  turn_id: string;
  /** The files at the end of that turn, or at its start. */
  moment?: SnapshotMoment | undefined;
  /** Write it even if somebody else may have changed it since; what is there is kept beside it, under another name. */
  force?: boolean | undefined;
}

/** The response of PATCH /v1/sessions/{session_id}/files. */
export interface RestoreFileResponse {
  session_id: string;
  path: string;
  turn_id: string;
  moment: SnapshotMoment;
  /** false: the file was like that already. */
  changed: boolean;
  /** The name, relative to the root, under which the file of before was kept. */
  kept_as: string | null;
}

/** The body of POST /v1/worktrees/{worktree_id}/restore. */
export interface RestoreWorktreeRequest {
  /** Another name, if its own is in use. */
  name?: string | null | undefined;
}

/** The comments on the diff of a session that were not sent. */
export interface Review {
  session_id: string;
  /** By path and line. */
  comments: Array<ReviewComment>;
}

/** A person commented on lines of the diff of a session; the agent is not told before the review is sent. */
export interface ReviewAddedEvent {
  seq: number;
  id: string;
  kind: 'review.added';
  scope: 'session';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    comment: SentStoredReviewComment;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** A comment, with what has become of its lines. */
export interface ReviewComment {
  id: string;
  session_id: string;
  /** The file, as the diff names it after the change; a removed one as it was named. */
  path: string;
  /** Of which file the numbers are. new: after the change. old: before it. */
  side: 'new' | 'old';
  /** The first line that it is about. */
  first_line: number;
  /** The last one. */
  last_line: number;
  /** The lines as they were when the comment was written, each with its mark of the diff (" ", "+", "-"), also those of the other side between them. A line is cut after 1000 characters. */
  lines: Array<string>;
  /** What is said of them. */
  text: string;
  /** The id of the token of the request. */
  created_by: string;
  created_at: number;
  updated_at: number;
  /** What has become of its lines. current: the diff shows them as they were. moved: they have other numbers now. changed: the diff does not show them so any more. gone: the file is no longer in the diff. unknown: the diff cannot be read now. A comment is never moved; all but current and unknown are stale. */
  state: 'current' | 'moved' | 'changed' | 'gone' | 'unknown';
  /** Of a comment whose lines have moved: the number of the first of them now. */
  found_at: number | null;
}

/** Comments were dropped by a person, or, of a closed session, by retention. */
export interface ReviewDroppedEvent {
  seq: number;
  id: string;
  kind: 'review.dropped';
  scope: 'session';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    comment_ids?: Array<string> | undefined;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** A person changed what a comment says. */
export interface ReviewEditedEvent {
  seq: number;
  id: string;
  kind: 'review.edited';
  scope: 'session';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    comment: SentStoredReviewComment;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** Comments were sent as one turn, or queued as one, and are no draft any more. */
export interface ReviewSentEvent {
  seq: number;
  id: string;
  kind: 'review.sent';
  scope: 'session';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    comment_ids?: Array<string> | undefined;
    /** The turn; null: it was queued. */
    turn_id: string | null;
    /** The entry of the queue; null: sent at once. */
    entry_id: string | null;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** What a rule does with a request that fits it. `deny`: it is declined. `ask`: a person decides, whatever other rules allow. `allow`: it is accepted for once. Of the rules that fit, `deny` wins over `ask`, and `ask` over `allow`. */
export type RuleEffect = 'allow' | 'ask' | 'deny';

/** What the rules decide about a request. */
export interface Ruling {
  effect: RuleEffect;
  /** The rule that decides; null if none does, so that a person is asked. */
  rule: ApprovalRule | null;
  /** Why it is so, for people. */
  why: string;
}

/** One thing that happened. It belongs to each scope whose id it carries. Within v1, kinds are added: who reads events passes over those of a kind that it does not have. */
export type RuntimeEventRecord = DescribedEvent | NewerEvent;

/** What the run before left unfinished has been mended. It comes at each start, before the server listens. */
export interface RuntimeRecoveredEvent {
  seq: number;
  id: string;
  kind: 'runtime.recovered';
  scope: 'runtime';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    recovery: SentRecoverySummary;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** The server has started: the first event of each run. */
export interface RuntimeStartedEvent {
  seq: number;
  id: string;
  kind: 'runtime.started';
  scope: 'runtime';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    /** How the run before it ended; none: there was none. */
    previous_stop: 'clean' | 'unclean' | 'none';
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** The server was told to stop, and takes no new work. */
export interface RuntimeStoppingEvent {
  seq: number;
  id: string;
  kind: 'runtime.stopping';
  scope: 'runtime';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** A text for an agent that is not blank. */
export interface SaidText {
  type: 'text';
  text: string;
}

/** Something that a search has found. */
export interface SearchHit {
  /** prompt: what a session was asked. answer: a message of its agent. tool: the title and the input of a call of a tool, such as a command or a path. title: the title of a session. */
  kind: 'prompt' | 'answer' | 'tool' | 'title';
  session_id: string;
  /** null: it belongs to no turn, as a title. */
  turn_id: string | null;
  /** The message or call of a tool; null: it is no item. */
  item_id: string | null;
  session_title: string | null;
  session_status: string;
  provider: string;
  cwd: string;
  /** When it was said; of a title, when its session was created. */
  created_at: number;
  /** The part of the text around what was found, as one line of about 200 characters, without control characters. */
  text: string;
  /** The places of what was found in `text`, in its order. */
  marks: Array<SearchMark>;
  /** The path of the turn, or of the session of a title. */
  url: string;
}

/** The index that searches use. */
export interface SearchIndex {
  /** off: there is no index; the first search makes it. building: what was said before back_to is not found yet. ready: everything is found. waiting: it cannot be written now, and detail says why. */
  state: 'off' | 'building' | 'ready' | 'waiting';
  /** How many texts it has. */
  documents: number;
  /** The part of what is stored that was read for it, from 0 to 1. */
  done: number;
  /** While it is built: since when everything that was said is found. */
  back_to: number | null;
  /** The size of its file. */
  bytes: number;
  detail: string | null;
}

/** A place of a text, in UTF-16 code units. */
export interface SearchMark {
  start: number;
  end: number;
}

/** The body of POST /v1/teams/{team_id}/messages. */
export interface SendMessageRequest {
  sender_agent_id: string;
  /** An array of items; a single item is treated as an array of one. */
  input: SaidText | ImageByPath | ImageInline | Array<SaidText | ImageByPath | ImageInline>;
  /** Images on the machine of the server, relative to the directory of the sender; they are copied. */
  image_paths?: Array<string> | null | undefined;
  /** Default: normal. */
  priority?: 'high' | 'normal' | 'low' | null | undefined;
  /** Default: non_interrupting. */
  policy?:
    | 'non_interrupting'
    | 'start_new_turn_only'
    | 'interrupt_after_tool_boundary'
    | 'immediate_interrupt'
    | null
    | undefined;
  correlation_id?: string | null | undefined;
  reply_to_message_id?: string | null | undefined;
  recipient_agent_id: string;
}

/** The response of POST /v1/teams/{team_id}/messages. */
export interface SendMessageResponse {
  message: Message;
  deliveries: Array<Delivery>;
}

/** The body of POST /v1/sessions/{session_id}/review/send. */
export interface SendReviewRequest {
  /** What is said before the comments. */
  text?: string | null | undefined;
  /** true: it becomes a turn once the session is free; absent: now. */
  queue?: boolean | null | undefined;
  /** A guard: it is refused unless this is the session's most recent turn. */
  expected_turn_id?: string | null | undefined;
  /** For this turn only. */
  permission_mode?: string | null | undefined;
  /** For this turn only: the agent's own mode. */
  agent_mode?: string | null | undefined;
  /** For this turn only. */
  model?: string | null | undefined;
  /** For this turn only. */
  thinking_effort?: string | null | undefined;
}

/** The response of POST /v1/sessions/{session_id}/review/send. */
export interface SendReviewResponse {
  session_id: string;
  /** The turn that was accepted; null: it was queued. */
  turn_id: string | null;
  /** The entry of the queue; null: it was sent at once. */
  entry_id: string | null;
  /** How many comments it has. */
  comments: number;
}

/** The body of POST /v1/sessions/{session_id}/turns. */
export interface SendTurnRequest {
  /** An array of items; a single item is treated as an array of one. */
  input: Array<InputItem> | InputItem;
  /** A guard: the turn is refused unless this is the session's most recent one. */
  expected_turn_id?: string | null | undefined;
  /** For this turn only. */
  permission_mode?: string | null | undefined;
  /** For this turn only: the agent's own mode, by its own name; for agents of acp. */
  agent_mode?: string | null | undefined;
  /** For this turn only. */
  model?: string | null | undefined;
  /** For this turn only. */
  thinking_effort?: string | null | undefined;
}

/** The response of POST /v1/sessions/{session_id}/turns. */
export interface SendTurnResponse {
  session_id: string;
  turn_id: string;
  status: 'accepted';
}

/** A request of an agent for permission, and the decision on it. If the event is `truncated`, it may lack `request`, `details`, `subject`, `questions`, `answers`. */
export interface SentApproval {
  id: string;
  session_id: string;
  turn_id: string;
  provider: ProviderId;
  /** budget: no agent asks, but cadre, whether turns may go on although a budget is used up; its turn has ended. */
  kind: 'command' | 'file_change' | 'tool' | 'question' | 'budget';
  title: string;
  /** The request as the agent sent it. */
  request?: unknown;
  /** All that the request would do, whole and for people, at most 12 MiB as JSON. Empty if the agent does not say. */
  details?: Array<ApprovalDetail> | undefined;
  /** What an acceptance may be good for. Empty if the agent offers only to decline. */
  scopes: Array<ApprovalScope>;
  /** What an acceptance for the session would allow, in the agent's words or by its rules; null if `scopes` does not have `session`. */
  session_allows: string | null;
  /** Everything that the request would do: two requests with equal subjects are the same request. Null if the agent does not describe it exactly, or it is larger than 1 MiB; if such an approval is accepted while no agent runs, the agent has to ask again. */
  subject?: unknown;
  /** True if the agent does not say what the request would do, beyond its title: a terminal, the screen and the page of a link then take a typed confirmation to accept it. Absent otherwise. */
  arguments_missing?: boolean | undefined;
  /** The questions that have to be answered to accept an approval of the kind `question`; null if the agent does not list them. */
  questions?: Array<Question> | null | undefined;
  answers?: Record<string, Array<string>> | null | undefined;
  /** True if it was accepted while no agent was running to receive the decision; false again once its turn continues or has ended. */
  held: boolean;
  status: 'pending' | 'accepted' | 'declined' | 'expired' | 'cancelled';
  decision: 'accept' | 'decline' | null;
  /** What the acceptance is good for; null if it was not accepted. `once` also if `session` was asked for while no agent was running. */
  scope: ApprovalScope | null;
  /** The token of the person who decided, or the rule that did. */
  decided_by: string | null;
  reason: string | null;
  expires_at: number | null;
  created_at: number;
  resolved_at: number | null;
}

/** An approval that was resolved, without `request`, `details` and `subject`. If the event is `truncated`, it may lack `questions`, `answers`. */
export interface SentApprovalInEvents {
  id: string;
  session_id: string;
  turn_id: string;
  provider: ProviderId;
  /** budget: no agent asks, but cadre, whether turns may go on although a budget is used up; its turn has ended. */
  kind: 'command' | 'file_change' | 'tool' | 'question' | 'budget';
  title: string;
  /** What an acceptance may be good for. Empty if the agent offers only to decline. */
  scopes: Array<ApprovalScope>;
  /** What an acceptance for the session would allow, in the agent's words or by its rules; null if `scopes` does not have `session`. */
  session_allows: string | null;
  /** True if the agent does not say what the request would do, beyond its title: a terminal, the screen and the page of a link then take a typed confirmation to accept it. Absent otherwise. */
  arguments_missing?: boolean | undefined;
  /** The questions that have to be answered to accept an approval of the kind `question`; null if the agent does not list them. */
  questions?: Array<Question> | null | undefined;
  answers?: Record<string, Array<string>> | null | undefined;
  /** True if it was accepted while no agent was running to receive the decision; false again once its turn continues or has ended. */
  held: boolean;
  status: 'pending' | 'accepted' | 'declined' | 'expired' | 'cancelled';
  decision: 'accept' | 'decline' | null;
  /** What the acceptance is good for; null if it was not accepted. `once` also if `session` was asked for while no agent was running. */
  scope: ApprovalScope | null;
  /** The token of the person who decided, or the rule that did. */
  decided_by: string | null;
  reason: string | null;
  expires_at: number | null;
  created_at: number;
  resolved_at: number | null;
}

/** An entry of the queue that a person has changed. If the event is `truncated`, it may lack `input`. */
export interface SentEditedQueueEntry {
  id: string;
  session_id: string;
  /** What people call it. */
  name: string | null;
  reason: string | null;
  /** What it says; null: as before. */
  input?: Array<StoredInputItem> | null | undefined;
  /** Of its turns; null: the session's. */
  permission_mode: string | null;
  /** Of its turns; null: the session's. */
  agent_mode: string | null;
  /** Of its turns; null: the session's. */
  model: string | null;
  /** Of its turns; null: the session's. */
  thinking_effort: string | null;
  /** When its only turn is due; null: it has no such time. */
  at: number | null;
  /** When its turns are due, in time_zone; null: it has one turn. */
  every: string | null;
  /** Of `every`; for `at`, the one in which it is shown. */
  time_zone: string | null;
  /** What happens to a run of a schedule that is due while the run before it has not ended. skip: it is skipped. queue: it follows that one; if one follows already, it is skipped. */
  overlap: 'skip' | 'queue';
  /** scheduled: its time has not come. waiting: it is due, and becomes a turn once its session is free and nothing before it waits. running: its turn is accepted and has not ended. held: it becomes no turn until its hold ends. */
  status: 'scheduled' | 'waiting' | 'running' | 'held';
  /** When it is due next; null: it is due, it was the last time, or it is held. */
  next_at: number | null;
  /** Since when the run that waits or runs is due; null: there is none. */
  due_at: number | null;
  /** Since when the run is due that follows the one that runs; null: there is none. */
  again_at: number | null;
  /** Of a schedule: every time up to here has become a run or was skipped. */
  settled_until: number | null;
  hold: Hold | null;
  /** The turn of the run that runs. */
  turn_id: string | null;
  /** The turn of the last run that has started. */
  last_turn_id: string | null;
  /** How that turn ended; null: none has. */
  last_status:
    | 'accepted'
    | 'running'
    | 'waiting_for_approval'
    | 'completed'
    | 'interrupted'
    | 'failed'
    | null;
  /** How many of its turns have started. */
  runs: number;
  /** How many of its runs were skipped. */
  skipped: number;
  /** The id of the token of the request. */
  created_by: string;
  created_at: number;
  updated_at: number;
}

/** A message of a member of a team to others. If the event is `truncated`, it may lack `recipient_agent_ids`, `input`, `image_paths`, `images`. */
export interface SentMessage {
  id: string;
  team_id: string;
  scope: 'direct' | 'broadcast';
  sender_agent_id: string;
  /** null: a broadcast. */
  recipient_agent_id: string | null;
  recipient_agent_ids?: Array<string> | undefined;
  /** The input as it was sent, images by their digest. */
  input?: StoredInputItem | Array<StoredInputItem> | undefined;
  /** The paths as they were sent. */
  image_paths?: Array<string> | undefined;
  /** The copies that were made of image_paths. */
  images?: Array<StoredImage> | undefined;
  priority: 'high' | 'normal' | 'low';
  /** non_interrupting waits until the recipient is idle; start_new_turn_only fails if the recipient is not idle; interrupt_after_tool_boundary interrupts its turn as soon as no tool runs and no approval is pending; immediate_interrupt interrupts its turn at once. */
  policy:
    | 'non_interrupting'
    | 'start_new_turn_only'
    | 'interrupt_after_tool_boundary'
    | 'immediate_interrupt';
  correlation_id: string | null;
  reply_to_message_id: string | null;
  /** Whether it is the first message to a member that was spawned. */
  onboarding: boolean;
  created_at: number;
  cancelled_at: number | null;
}

/** A message that was cancelled, without `input` and `images`. If the event is `truncated`, it may lack `recipient_agent_ids`, `image_paths`. */
export interface SentMessageInEvents {
  id: string;
  team_id: string;
  scope: 'direct' | 'broadcast';
  sender_agent_id: string;
  /** null: a broadcast. */
  recipient_agent_id: string | null;
  recipient_agent_ids?: Array<string> | undefined;
  /** The paths as they were sent. */
  image_paths?: Array<string> | undefined;
  priority: 'high' | 'normal' | 'low';
  /** non_interrupting waits until the recipient is idle; start_new_turn_only fails if the recipient is not idle; interrupt_after_tool_boundary interrupts its turn as soon as no tool runs and no approval is pending; immediate_interrupt interrupts its turn at once. */
  policy:
    | 'non_interrupting'
    | 'start_new_turn_only'
    | 'interrupt_after_tool_boundary'
    | 'immediate_interrupt';
  correlation_id: string | null;
  reply_to_message_id: string | null;
  /** Whether it is the first message to a member that was spawned. */
  onboarding: boolean;
  created_at: number;
  cancelled_at: number | null;
}

/** What startup recovery found and repaired: ids, by the kind of repair. If the event is `truncated`, it may lack `sessions_failed`, `turn_pointers_cleared`, `turns_failed`, `turns_reconciled`, `approvals_kept`, `approvals_cancelled`, `processes_failed`, `orphans_killed`, `claims_released`, `worktrees_missing`, `deliveries_retried`. */
export interface SentRecoverySummary {
  status: 'running' | 'done';
  started_at: number;
  ended_at: number | null;
  previous_stop: 'clean' | 'unclean' | 'none';
  /** Null if no events are lost. Older servers have no such field. */
  events_lost?: LostEvents | null | undefined;
  sessions_failed?: Array<FailedSession> | undefined;
  turn_pointers_cleared?: Array<string> | undefined;
  turns_failed?: Array<string> | undefined;
  turns_reconciled?: Array<string> | undefined;
  approvals_kept?: Array<string> | undefined;
  approvals_cancelled?: Array<string> | undefined;
  processes_failed?: Array<string> | undefined;
  orphans_killed?: Array<number> | undefined;
  claims_released?: Array<string> | undefined;
  worktrees_missing?: Array<string> | undefined;
  deliveries_retried?: Array<string> | undefined;
}

/** A conversation with an agent. If the event is `truncated`, it may lack `metadata`. */
export interface SentSession {
  id: string;
  provider: ProviderId;
  /** The name of its agent, where those of the provider have names; else null. */
  agent: string | null;
  model: string | null;
  cwd: string;
  /** Who is asked, and what the agent may do; null: as the agent is configured. */
  permission_mode: string | null;
  /** The agent's own mode, by its own name, for agents of acp; null: the one that permission_mode names, else the one in which the agent began. */
  agent_mode: string | null;
  /** False: its agent never asks for a permission, in no mode; true: it does, in some mode; null: not known. */
  agent_asks: boolean | null;
  thinking_effort: string | null;
  metadata?: unknown;
  /** If no person gave one: the one that its agent gives, and until then the first line of its first prompt, each of at most 80 characters. */
  title: string | null;
  /** Where the title is from: a person gave it, it is the first line of the first prompt, or the agent gave it; null: there is none. Absent in sessions of older versions, whose title no agent replaces. */
  title_source?: 'person' | 'prompt' | 'agent' | null | undefined;
  status: 'ready' | 'running' | 'waiting_for_approval' | 'closed' | 'failed';
  /** Whether a person wants to see it before others. */
  pinned: boolean;
  /** Until when a person does not want to be told of it. It is not cleared afterwards. */
  snoozed_until: number | null;
  /** Whether a person wants no bell and no desktop notification for it. It is listed as ever. */
  muted: boolean;
  /** The seq of the newest of its events that a person has been shown. It only grows. */
  seen_seq: number;
  /** The seq of its newest event that a person should see: a turn that ended, an approval that was requested, or its failure; 0: there is none. It is unseen while news_seq is above seen_seq. */
  news_seq: number;
  /** When a turn was last accepted, started or ended, or an approval requested; before the first turn, when the session was created. */
  last_activity_at: number;
  /** The last message of its agent as one line of at most 200 characters; null: there is none, or retention has deleted it. It changes when a turn ends. */
  last_words: string | null;
  active_turn_id: string | null;
  last_turn_id: string | null;
  provider_session_ref: string | null;
  /** The settings with which its agent began. They apply where neither the session nor the turn sets a value. */
  provider_defaults: ProviderDefaults | null;
  worktree_id: string | null;
  usage: Usage | null;
  close_reason: string | null;
  failure: Failure | null;
  /** Why nothing that waits for it becomes a turn: its agent has reported a usage limit; null or absent: none. */
  usage_limit?: UsageLimit | null | undefined;
  /** What it does when a usage limit of its agent has reset. resume: it goes on by itself. wait: it waits for a person. null: as sessions.after_limit of the configuration says. */
  after_limit?: 'resume' | 'wait' | null | undefined;
  created_at: number;
  updated_at: number;
  closed_at: number | null;
  /** Whether retention has deleted its events and the contents of its turns. */
  trimmed: boolean;
}

/** An input that becomes a turn of a session later. If the event is `truncated`, it may lack `input`. */
export interface SentStoredQueueEntry {
  id: string;
  session_id: string;
  /** What people call it. */
  name: string | null;
  reason: string | null;
  input?: Array<StoredInputItem> | undefined;
  /** Of its turns; null: the session's. */
  permission_mode: string | null;
  /** Of its turns; null: the session's. */
  agent_mode: string | null;
  /** Of its turns; null: the session's. */
  model: string | null;
  /** Of its turns; null: the session's. */
  thinking_effort: string | null;
  /** When its only turn is due; null: it has no such time. */
  at: number | null;
  /** When its turns are due, in time_zone; null: it has one turn. */
  every: string | null;
  /** Of `every`; for `at`, the one in which it is shown. */
  time_zone: string | null;
  /** What happens to a run of a schedule that is due while the run before it has not ended. skip: it is skipped. queue: it follows that one; if one follows already, it is skipped. */
  overlap: 'skip' | 'queue';
  /** scheduled: its time has not come. waiting: it is due, and becomes a turn once its session is free and nothing before it waits. running: its turn is accepted and has not ended. held: it becomes no turn until its hold ends. */
  status: 'scheduled' | 'waiting' | 'running' | 'held';
  /** When it is due next; null: it is due, it was the last time, or it is held. */
  next_at: number | null;
  /** Since when the run that waits or runs is due; null: there is none. */
  due_at: number | null;
  /** Since when the run is due that follows the one that runs; null: there is none. */
  again_at: number | null;
  /** Of a schedule: every time up to here has become a run or was skipped. */
  settled_until: number | null;
  hold: Hold | null;
  /** The turn of the run that runs. */
  turn_id: string | null;
  /** The turn of the last run that has started. */
  last_turn_id: string | null;
  /** How that turn ended; null: none has. */
  last_status:
    | 'accepted'
    | 'running'
    | 'waiting_for_approval'
    | 'completed'
    | 'interrupted'
    | 'failed'
    | null;
  /** How many of its turns have started. */
  runs: number;
  /** How many of its runs were skipped. */
  skipped: number;
  /** The id of the token of the request. */
  created_by: string;
  created_at: number;
  updated_at: number;
}

/** A comment on lines of the diff of a session, which was not sent yet. If the event is `truncated`, it may lack `lines`. */
export interface SentStoredReviewComment {
  id: string;
  session_id: string;
  /** The file, as the diff names it after the change; a removed one as it was named. */
  path: string;
  /** Of which file the numbers are. new: after the change. old: before it. */
  side: 'new' | 'old';
  /** The first line that it is about. */
  first_line: number;
  /** The last one. */
  last_line: number;
  /** The lines as they were when the comment was written, each with its mark of the diff (" ", "+", "-"), also those of the other side between them. A line is cut after 1000 characters. */
  lines?: Array<string> | undefined;
  /** What is said of them. */
  text: string;
  /** The id of the token of the request. */
  created_by: string;
  created_at: number;
  updated_at: number;
}

/** The call of a tool, as the agent reports it. If the event is `truncated`, it may lack `input`. */
export interface SentToolCall {
  call_ref: string;
  title: string;
  kind: string;
  input?: unknown;
  /** The places that it is about; absent where the agent names none. */
  locations?: Array<ToolLocation> | undefined;
  /** The changes of files that it makes or would make; absent where the agent shows none. The text of the item has them, too. */
  diffs?: Array<ToolDiff> | undefined;
}

/** One turn: an input to an agent, and its outcome. If the event is `truncated`, it may lack `input`. */
export interface SentTurn {
  session_id: string;
  turn_id: string;
  status: 'accepted' | 'running' | 'waiting_for_approval' | 'completed' | 'interrupted' | 'failed';
  source: 'user' | 'queue' | 'team_message' | 'process_exit' | 'onboarding' | 'usage_limit';
  input?: Array<StoredInputItem> | undefined;
  /** Of this turn only; null: the session's. */
  permission_mode: string | null;
  /** Of this turn only; null: the session's, or that of the turn's permission_mode where it has one. */
  agent_mode: string | null;
  /** Of this turn only; null: the session's. */
  model: string | null;
  /** Of this turn only; null: the session's. */
  thinking_effort: string | null;
  /** The last message of the agent in this turn. */
  text: string | null;
  usage: Usage | null;
  error: Failure | null;
  provider_turn_ref: string | null;
  accepted_at: number;
  started_at: number | null;
  ended_at: number | null;
  interrupt_requested_at: number | null;
  /** Whether retention has deleted its input, text and items. */
  trimmed: boolean;
}

/** A conversation with an agent. */
export interface Session {
  id: string;
  provider: ProviderId;
  /** The name of its agent, where those of the provider have names; else null. */
  agent: string | null;
  model: string | null;
  cwd: string;
  /** Who is asked, and what the agent may do; null: as the agent is configured. */
  permission_mode: string | null;
  /** The agent's own mode, by its own name, for agents of acp; null: the one that permission_mode names, else the one in which the agent began. */
  agent_mode: string | null;
  /** False: its agent never asks for a permission, in no mode; true: it does, in some mode; null: not known. */
  agent_asks: boolean | null;
  thinking_effort: string | null;
  metadata: unknown;
  /** If no person gave one: the one that its agent gives, and until then the first line of its first prompt, each of at most 80 characters. */
  title: string | null;
  /** Where the title is from: a person gave it, it is the first line of the first prompt, or the agent gave it; null: there is none. Absent in sessions of older versions, whose title no agent replaces. */
  title_source?: 'person' | 'prompt' | 'agent' | null | undefined;
  status: 'ready' | 'running' | 'waiting_for_approval' | 'closed' | 'failed';
  /** Whether a person wants to see it before others. */
  pinned: boolean;
  /** Until when a person does not want to be told of it. It is not cleared afterwards. */
  snoozed_until: number | null;
  /** Whether a person wants no bell and no desktop notification for it. It is listed as ever. */
  muted: boolean;
  /** The seq of the newest of its events that a person has been shown. It only grows. */
  seen_seq: number;
  /** The seq of its newest event that a person should see: a turn that ended, an approval that was requested, or its failure; 0: there is none. It is unseen while news_seq is above seen_seq. */
  news_seq: number;
  /** When a turn was last accepted, started or ended, or an approval requested; before the first turn, when the session was created. */
  last_activity_at: number;
  /** The last message of its agent as one line of at most 200 characters; null: there is none, or retention has deleted it. It changes when a turn ends. */
  last_words: string | null;
  active_turn_id: string | null;
  last_turn_id: string | null;
  provider_session_ref: string | null;
  /** The settings with which its agent began. They apply where neither the session nor the turn sets a value. */
  provider_defaults: ProviderDefaults | null;
  worktree_id: string | null;
  usage: Usage | null;
  close_reason: string | null;
  failure: Failure | null;
  /** Why nothing that waits for it becomes a turn: its agent has reported a usage limit; null or absent: none. */
  usage_limit?: UsageLimit | null | undefined;
  /** What it does when a usage limit of its agent has reset. resume: it goes on by itself. wait: it waits for a person. null: as sessions.after_limit of the configuration says. */
  after_limit?: 'resume' | 'wait' | null | undefined;
  created_at: number;
  updated_at: number;
  closed_at: number | null;
  /** Whether retention has deleted its events and the contents of its turns. */
  trimmed: boolean;
}

/** A session was closed, for good. */
export interface SessionClosedEvent {
  seq: number;
  id: string;
  kind: 'session.closed';
  scope: 'session';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    session: SessionInEvents;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** A session was opened. Its agent starts with its first turn. */
export interface SessionCreatedEvent {
  seq: number;
  id: string;
  kind: 'session.created';
  scope: 'session';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    session: SentSession;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** What changed in the directory of a session, committed or not. */
export interface SessionDiff {
  session_id: string;
  /** The directory that the paths are relative to. */
  root: string;
  base: DiffBase;
  /** The commit that is or was checked out. */
  head_commit: string | null;
  /** When the files were read. */
  taken_at: number;
  /** At most 3,000, in the order of their paths. */
  files: Array<FileChange>;
  files_changed: number;
  additions: number;
  deletions: number;
  /** Whether files, patches or lists are missing because of a limit. */
  is_cut: boolean;
  /** At most 100. */
  left_out: Array<LeftOut>;
  left_out_count: number;
}

/** A session failed: its provider does not have it any more, or cannot take it up again. */
export interface SessionFailedEvent {
  seq: number;
  id: string;
  kind: 'session.failed';
  scope: 'session';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    session: SessionInEvents;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** A session that has changed, without `metadata`. */
export interface SessionInEvents {
  id: string;
  provider: ProviderId;
  /** The name of its agent, where those of the provider have names; else null. */
  agent: string | null;
  model: string | null;
  cwd: string;
  /** Who is asked, and what the agent may do; null: as the agent is configured. */
  permission_mode: string | null;
  /** The agent's own mode, by its own name, for agents of acp; null: the one that permission_mode names, else the one in which the agent began. */
  agent_mode: string | null;
  /** False: its agent never asks for a permission, in no mode; true: it does, in some mode; null: not known. */
  agent_asks: boolean | null;
  thinking_effort: string | null;
  /** If no person gave one: the one that its agent gives, and until then the first line of its first prompt, each of at most 80 characters. */
  title: string | null;
  /** Where the title is from: a person gave it, it is the first line of the first prompt, or the agent gave it; null: there is none. Absent in sessions of older versions, whose title no agent replaces. */
  title_source?: 'person' | 'prompt' | 'agent' | null | undefined;
  status: 'ready' | 'running' | 'waiting_for_approval' | 'closed' | 'failed';
  /** Whether a person wants to see it before others. */
  pinned: boolean;
  /** Until when a person does not want to be told of it. It is not cleared afterwards. */
  snoozed_until: number | null;
  /** Whether a person wants no bell and no desktop notification for it. It is listed as ever. */
  muted: boolean;
  /** The seq of the newest of its events that a person has been shown. It only grows. */
  seen_seq: number;
  /** The seq of its newest event that a person should see: a turn that ended, an approval that was requested, or its failure; 0: there is none. It is unseen while news_seq is above seen_seq. */
  news_seq: number;
  /** When a turn was last accepted, started or ended, or an approval requested; before the first turn, when the session was created. */
  last_activity_at: number;
  /** The last message of its agent as one line of at most 200 characters; null: there is none, or retention has deleted it. It changes when a turn ends. */
  last_words: string | null;
  active_turn_id: string | null;
  last_turn_id: string | null;
  provider_session_ref: string | null;
  /** The settings with which its agent began. They apply where neither the session nor the turn sets a value. */
  provider_defaults: ProviderDefaults | null;
  worktree_id: string | null;
  usage: Usage | null;
  close_reason: string | null;
  failure: Failure | null;
  /** Why nothing that waits for it becomes a turn: its agent has reported a usage limit; null or absent: none. */
  usage_limit?: UsageLimit | null | undefined;
  /** What it does when a usage limit of its agent has reset. resume: it goes on by itself. wait: it waits for a person. null: as sessions.after_limit of the configuration says. */
  after_limit?: 'resume' | 'wait' | null | undefined;
  created_at: number;
  updated_at: number;
  closed_at: number | null;
  /** Whether retention has deleted its events and the contents of its turns. */
  trimmed: boolean;
}

/** An agent has reported a usage limit, so that nothing that waits for the session becomes a turn for now: the limit ended its turn, or its next turn would have met the limit of an account that it shares. `usage_limit` says until when. */
export interface SessionLimitedEvent {
  seq: number;
  id: string;
  kind: 'session.limited';
  scope: 'session';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    session: SessionInEvents;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** A session no longer waits for a usage limit: the limit has reset, a person resumed the session or sent it a turn, or a turn of the same account has shown that the limit is over. */
export interface SessionLimitEndedEvent {
  seq: number;
  id: string;
  kind: 'session.limit_ended';
  scope: 'session';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    session: SessionInEvents;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** Something that a person should know of a session and that nobody said: a notice or warning of its agent, a compaction of its context, or a limit that cadre sees. It has the turn in which it came, if it came in one. */
export interface SessionNoticeEvent {
  seq: number;
  id: string;
  kind: 'session.notice';
  scope: 'session';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    /** What it is about, in snake_case, such as notice, warning, compaction or agent_never_asks; others may be added. */
    code: string;
    /** What it says, for people. */
    message: string;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** The queue of one session. */
export interface SessionQueue {
  session_id: string;
  /** Why no entry becomes a turn now, though the session may be idle; empty: nothing is in the way. */
  holds: Array<Hold>;
  /** In their order. */
  entries: Array<QueueEntry>;
}

/** A failed session was brought back, since its provider still has it. */
export interface SessionResumedEvent {
  seq: number;
  id: string;
  kind: 'session.resumed';
  scope: 'session';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    session: SessionInEvents;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** A session changed otherwise than by its turns: its title, what a person has seen, pinned, snoozed or muted, the worktree that it works in, or its status after the end of a run. What turns change in their session, their own events say. */
export interface SessionUpdatedEvent {
  seq: number;
  id: string;
  kind: 'session.updated';
  scope: 'session';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    session: SessionInEvents;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** The worktree of a new session. */
export interface SessionWorktree {
  /** Its name; a worktree of that name is used again. Absent: a new one is named after the id of the session. */
  worktree_name?: string | null | undefined;
  /** A directory of the repository, relative to cwd; absent: cwd. */
  repo_root?: string | null | undefined;
  /** The prefix of its branch, which is PREFIX/NAME. Default: cadre. */
  branch_prefix?: string | null | undefined;
  /** The commit or branch to start from; absent: what is checked out. */
  base_ref?: string | null | undefined;
  /** Default: worktrees.deletion_policy_default. */
  deletion_policy?: DeletionPolicy | null | undefined;
  /** true: run it even if its content is not allowed. Absent: run it if its content is allowed. */
  run_init_script?: boolean | null | undefined;
  /** Whether the ignored files that .worktreeinclude names are copied. true: even if its content is not allowed. Absent: if it is allowed. */
  copy_included?: boolean | null | undefined;
}

/** The body of POST /v1/budgets. */
export interface SetBudgetRequest {
  /** The session it is for. */
  session_id?: string | null | undefined;
  /** The team it is for; neither: all sessions together. */
  team_id?: string | null | undefined;
  /** Absent: total for a session or a team, day for all sessions, which have a budget a day only. */
  per?: 'total' | 'day' | null | undefined;
  /** Of days; absent: the server's. */
  time_zone?: string | null | undefined;
  /** The tokens that may be used. */
  tokens?: number | null | undefined;
  /** The US dollars that may be used. */
  cost_usd?: number | null | undefined;
  /** The turns that may be taken. */
  turns?: number | null | undefined;
  /** Whether running turns are interrupted when it is reached; absent: they go on. */
  hard?: boolean | null | undefined;
}

/** The body of POST /v1/providers/claude/auth/api-key. */
export interface SetClaudeApiKeyRequest {
  /** The key. It is shown nowhere again. */
  api_key: string;
}

/** The body of POST /v1/providers/codex/auth/api-key. */
export interface SetCodexApiKeyRequest {
  /** The key. It is shown nowhere again. */
  api_key: string;
}

/** The body of POST /v1/teams/{team_id}/lead. */
export interface SetLeadRequest {
  lead_agent_id: string;
}

/** The response of POST /v1/teams/{team_id}/lead. */
export interface SetLeadResponse {
  team: Team;
  members: Array<Member>;
}

/** The body of PATCH /v1/sessions/{session_id}/snapshots. */
export interface SetSnapshotsRequest {
  /** null: as the configuration says. */
  enabled: boolean | null;
}

/** The response of PATCH /v1/sessions/{session_id}/snapshots. */
export interface SetSnapshotsResponse {
  session_id: string;
  /** Whether snapshots are taken at its next turn. */
  enabled: boolean;
  /** What a person chose for this session; null: snapshots.enabled decides. */
  chosen: boolean | null;
  /** The newest 1,000, oldest first. */
  snapshots: Array<Snapshot>;
}

/** The body of POST /v1/hooks/{hook_name}/skip. */
export interface SkipHookRequest {
  /** Only if the hook waits with this event; the default is whichever it waits with. */
  event_seq?: number | null | undefined;
  /** All that have happened up to now. */
  all?: boolean | null | undefined;
}

/** The files of a session at the beginning or end of a turn. */
export interface Snapshot {
  session_id: string;
  turn_id: string;
  moment: SnapshotMoment;
  /** The id of the tree of files; null: the snapshot could not be taken. */
  tree: string | null;
  /** The commit that was checked out. */
  head_commit: string | null;
  /** The directory of the files. */
  root: string | null;
  /** Why it could not be taken. */
  problem: string | null;
  /** false: changed files were left out, because they are too large or too many. */
  is_whole: boolean;
  /** Whether the turn had begun before the snapshot was taken, because that took too long. */
  is_late: boolean;
  taken_at: number;
  took_ms: number;
}

/** The beginning of a turn, or its end. */
export type SnapshotMoment = 'start' | 'end';

/** A session that was opened for a team. */
export interface SpawnedMember {
  operation_id: string;
  team: Team;
  session: Session;
  member: Member;
  worktree: Worktree | null;
  onboarding: {
    message_id: string;
    delivery_ids: Array<string>;
  };
}

/** The body of POST /v1/teams/{team_id}/members/spawn. */
export interface SpawnMemberRequest {
  /** The member that asks for it; settings that are absent are copied from it. */
  source_session_id: string;
  provider?: ProviderId | null | undefined;
  /** An agent of the provider acp by its name; with no provider named, it also chooses acp. */
  agent?: string | null | undefined;
  model?: string | null | undefined;
  /** A name of teams.model_presets. */
  model_preset?: string | null | undefined;
  permission_mode?: string | null | undefined;
  /** The agent's own mode, by its own name; for agents of acp. */
  agent_mode?: string | null | undefined;
  metadata?: unknown;
  /** The role of the member in the team. */
  title?: string | null | undefined;
  /** Its first message. */
  prompt?: string | null | undefined;
  /** Images on the machine of the server, relative to the directory of the sender; they are copied. */
  image_paths?: Array<string> | null | undefined;
  worktree?: WorktreeWish | null | undefined;
}

/** The distribution of a number over the last samples. */
export interface Spread {
  count: number;
  mean: number;
  p50: number;
  p99: number;
  max: number;
}

/** The size of the store, by part. */
export interface StorageDiagnostics {
  latest_seq: number;
  database_bytes: number;
  /** Free pages, which new rows fill before the database file grows. */
  free_bytes_in_database: number;
  wal_bytes: number;
  budget: {
    /** retention.max_bytes; 0: no limit. */
    max_bytes: number;
    /** The size that retention compares with max_bytes. */
    used_bytes: number;
  };
  disk_free_bytes: number;
  /** retention.min_free_bytes. */
  min_free_bytes: number;
  /** When the fields of this route alone were counted: at most a minute ago. */
  counted_at: number;
  tables: Array<StorageTable>;
  blobs_bytes: number;
  logs_bytes: number;
  oldest_seq: number | null;
}

/** The size of one table. */
export interface StorageTable {
  name: string;
  rows: number;
  /** The size of the texts in its rows. */
  bytes: number;
}

/** Retention took events: of a closed session, of an ended process, or the oldest of the rest. It comes once for each step. */
export interface StorageTrimmedEvent {
  seq: number;
  id: string;
  kind: 'storage.trimmed';
  scope: 'runtime';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    /** The setting of retention that asked for it. */
    reason: 'max_bytes' | 'max_age_days';
    /** How many events went. */
    events: number;
    /** The highest seq that went; 0: none. */
    trimmed_seq: number;
    /** The session, where they were of one. */
    closed_session_id?: string | undefined;
    /** The process, where they were of one. */
    process_id?: string | undefined;
    /** Whether nothing but its record is left of the session or process. */
    is_whole?: boolean | undefined;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** The stored copy of an image of an input. */
export interface StoredImage {
  type: 'image';
  path: string;
  media_type: string;
  bytes: number;
  sha256: string;
}

/** One input item as it is stored: an image by its digest, never its data. */
export type StoredInputItem = StoredText | StoredImage;

/** A comment on lines of the diff of a session, which was not sent yet. */
export interface StoredReviewComment {
  id: string;
  session_id: string;
  /** The file, as the diff names it after the change; a removed one as it was named. */
  path: string;
  /** Of which file the numbers are. new: after the change. old: before it. */
  side: 'new' | 'old';
  /** The first line that it is about. */
  first_line: number;
  /** The last one. */
  last_line: number;
  /** The lines as they were when the comment was written, each with its mark of the diff (" ", "+", "-"), also those of the other side between them. A line is cut after 1000 characters. */
  lines: Array<string>;
  /** What is said of them. */
  text: string;
  /** The id of the token of the request. */
  created_by: string;
  created_at: number;
  updated_at: number;
}

/** A text of a stored input. */
export interface StoredText {
  type: 'text';
  text: string;
}

/** What follows on the stream is not all there was after its cursor. */
export interface StreamGap {
  /** The cursor. */
  requested: number;
  /** The highest seq that retention took from the scope. */
  trimmed_seq: number;
  /** The newest seq there is. */
  latest_seq: number;
}

/** Sessions that work together; one of them is the lead. */
export interface Team {
  id: string;
  name: string;
  lead_agent_id: string;
  created_by: string;
  created_at: number;
  updated_at: number;
  deleted_at: number | null;
}

/** A team was made. Its members come as events of their own. */
export interface TeamCreatedEvent {
  seq: number;
  id: string;
  kind: 'team.created';
  scope: 'team';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    team: Team;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** A team was deleted. Its sessions go on. */
export interface TeamDeletedEvent {
  seq: number;
  id: string;
  kind: 'team.deleted';
  scope: 'team';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    team: Team;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** Another member leads a team. */
export interface TeamLeadChangedEvent {
  seq: number;
  id: string;
  kind: 'team.lead_changed';
  scope: 'team';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    team: Team;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** A session became a member of a team. */
export interface TeamMemberJoinedEvent {
  seq: number;
  id: string;
  kind: 'team.member_joined';
  scope: 'team';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    member: Member;
    /** The spawn that opened its session; null: the session was there before. */
    operation_id: string | null;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** A member was taken out of a team. */
export interface TeamMemberLeftEvent {
  seq: number;
  id: string;
  kind: 'team.member_left';
  scope: 'team';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    member: Member;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** A message was taken back from those who had not got it. */
export interface TeamMessageCancelledEvent {
  seq: number;
  id: string;
  kind: 'team.message_cancelled';
  scope: 'team';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    message: SentMessageInEvents;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** A member said something to others. Its deliveries come as events of their own. */
export interface TeamMessageCreatedEvent {
  seq: number;
  id: string;
  kind: 'team.message_created';
  scope: 'team';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    message: SentMessage;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** A member that was to be spawned was not: nothing is left of it. */
export interface TeamSpawnFailedEvent {
  seq: number;
  id: string;
  kind: 'team.spawn_failed';
  scope: 'team';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    /** The spawn, as its request was answered. */
    operation_id: string;
    error: Failure;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** A team, its members and its last messages. */
export interface TeamView {
  team: Team;
  /** In the order in which they joined. */
  members: Array<MemberRow>;
  /** Newest first. */
  messages: Array<Message>;
  deliveries_by_message_id: Record<string, Array<Delivery>> | null;
  /** The seq as of which the view is complete: stream the events after it to miss nothing. */
  latest_seq: number;
}

/** The body of POST /v1/approval-rules/test. */
export interface TestApprovalRulesRequest {
  /** The whole command, as an agent would show it. */
  command?: string | null | undefined;
  /** A file that would be changed. */
  path?: string | null | undefined;
  tool?: string | null | undefined;
  /** The provider of the agent; without it, rules for one provider do not fit. */
  provider?: ProviderId | null | undefined;
  /** The directory of session and command; the default is that of the server. */
  cwd?: string | null | undefined;
}

/** A text for an agent. */
export interface TextInput {
  type: 'text';
  text: string;
}

/** A token beside the API token, without its secret. */
export interface Token {
  id: string;
  name: string;
  scope: TokenScope;
  created_at: number;
  /** When it becomes invalid; null: never. */
  expires_at: number | null;
  /** Of the scope `tools`: what its bearer may do without a session, where no person can be asked. `full_access`: run commands. Others, and null: what the gate lets it do without asking. */
  permission_mode: 'read_only' | 'default' | 'full_access' | null;
  /** When it was last used, to the minute; null: never, or not known. */
  last_used_at: number | null;
}

/** The rights of the token. `admin`: everything. `read`: GET and HEAD only, without the routes of tokens and without waiting for ports. `tools`: only the tools under /v1/mcp/, on behalf of any session; these can start processes, so this is not a lesser right than `admin`. */
export type TokenScope = 'admin' | 'read' | 'tools';

/** The annotations of MCP: hints that a client can show its user before it calls the tool. */
export interface ToolAnnotations {
  title: string;
  readOnlyHint: boolean;
  destructiveHint: boolean;
  idempotentHint: boolean;
  openWorldHint: boolean;
}

/** The call of a tool, as the agent reports it. */
export interface ToolCall {
  call_ref: string;
  title: string;
  kind: string;
  input: unknown;
  /** The places that it is about; absent where the agent names none. */
  locations?: Array<ToolLocation> | undefined;
  /** The changes of files that it makes or would make; absent where the agent shows none. The text of the item has them, too. */
  diffs?: Array<ToolDiff> | undefined;
}

/** A tool call has ended. It comes no later than the end of its turn. */
export interface ToolCompletedEvent {
  seq: number;
  id: string;
  kind: 'tool.completed';
  scope: 'session';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    /** The item: its deltas and its end have the same. */
    item_id: string;
    /** 0: the text is the whole. */
    offset: number;
    /** How it ended: by itself, or as its turn did. */
    status: 'completed' | 'interrupted' | 'failed';
    /** Its whole output. */
    text: string;
    tool: SentToolCall;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** The change of a file by a tool. */
export interface ToolDiff {
  path: string;
  /** As a unified diff. */
  diff: string;
}

/** The result of a tool call, or the reason why it failed. */
export type ToolEnvelope = ToolResult | ToolFailure;

/** Why a tool failed. */
export interface ToolError {
  code:
    | 'bad_request'
    | 'not_found'
    | 'unauthorized'
    | 'feature_disabled'
    | 'unsupported_provider_images'
    | 'unknown_model_preset'
    | 'conflict'
    | 'limit_reached'
    | 'backend_unavailable'
    | 'internal';
  message: string;
}

/** The envelope of a tool call that failed. */
export interface ToolFailure {
  ok: false;
  error: ToolError;
}

/** A tool, with the schemas of its arguments and of its result. */
export interface ToolInfo {
  name: string;
  title: string;
  description: string;
  /** The JSON Schema of its arguments. */
  input_schema: Record<string, unknown>;
  /** The JSON Schema of the envelope of a call that succeeds. */
  output_schema: Record<string, unknown>;
  annotations: ToolAnnotations;
}

/** A place in a file. */
export interface ToolLocation {
  path: string;
  line: number | null;
}

/** Tools whose names share a prefix. */
export interface ToolNamespace {
  name: string;
  tools: Array<ToolInfo>;
}

/** The result of a tool call that succeeded. */
export interface ToolResult {
  ok: true;
  result: Record<string, unknown>;
}

/** An agent tells of a tool call for the first time. */
export interface ToolStartedEvent {
  seq: number;
  id: string;
  kind: 'tool.started';
  scope: 'session';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    /** The item: its deltas and its end have the same. */
    item_id: string;
    /** 0: the text is the whole. */
    offset: number;
    tool: SentToolCall;
    /** As the agent says. */
    status: 'pending' | 'running' | 'completed' | 'failed';
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** A tool call changed: its status, its title, its input or its output. Output that grew comes as the new piece; output that was replaced begins again at offset 0. */
export interface ToolUpdatedEvent {
  seq: number;
  id: string;
  kind: 'tool.updated';
  scope: 'session';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    /** The item: its deltas and its end have the same. */
    item_id: string;
    /** Where in the text of the item this piece begins, in bytes of UTF-8. */
    offset: number;
    /** The piece. */
    text: string;
    tool: SentToolCall;
    /** As the agent says. */
    status: 'pending' | 'running' | 'completed' | 'failed';
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** The body of POST /v1/worktree-trust. */
export interface TrustContentRequest {
  /** A directory of the repository. */
  repo_root: string;
  /** The digest of the allowed content: of the script, or of the list of filters as `look` shows it. */
  sha256: string;
}

/** A content of a repository that is allowed to run, identified by its digest. */
export interface TrustedContent {
  repo_root: string;
  /** The digest of the allowed content: of the script, or of the list of filters as `look` shows it. */
  sha256: string;
  trusted_by: string;
  trusted_at: number;
}

/** One turn: an input to an agent, and its outcome. */
export interface Turn {
  session_id: string;
  turn_id: string;
  status: 'accepted' | 'running' | 'waiting_for_approval' | 'completed' | 'interrupted' | 'failed';
  source: 'user' | 'queue' | 'team_message' | 'process_exit' | 'onboarding' | 'usage_limit';
  input: Array<StoredInputItem>;
  /** Of this turn only; null: the session's. */
  permission_mode: string | null;
  /** Of this turn only; null: the session's, or that of the turn's permission_mode where it has one. */
  agent_mode: string | null;
  /** Of this turn only; null: the session's. */
  model: string | null;
  /** Of this turn only; null: the session's. */
  thinking_effort: string | null;
  /** The last message of the agent in this turn. */
  text: string | null;
  usage: Usage | null;
  error: Failure | null;
  provider_turn_ref: string | null;
  accepted_at: number;
  started_at: number | null;
  ended_at: number | null;
  interrupt_requested_at: number | null;
  /** Whether retention has deleted its input, text and items. */
  trimmed: boolean;
}

/** A turn was sent and stored. Its session is running from now on. */
export interface TurnAcceptedEvent {
  seq: number;
  id: string;
  kind: 'turn.accepted';
  scope: 'session';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    turn: SentTurn;
    /** The title of its session from now on. */
    title: string | null;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** A turn has ended: its agent has answered. Its session is ready. */
export interface TurnCompletedEvent {
  seq: number;
  id: string;
  kind: 'turn.completed';
  scope: 'session';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    turn: TurnInEvents;
    /** The `last_words` of its session from now on. */
    last_words: string | null;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** A turn has ended without an answer; its `error` says why. Its session is ready, unless it failed with it. */
export interface TurnFailedEvent {
  seq: number;
  id: string;
  kind: 'turn.failed';
  scope: 'session';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    turn: TurnInEvents;
    /** The `last_words` of its session from now on. */
    last_words: string | null;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** A turn that has changed, without `input` and `text`. */
export interface TurnInEvents {
  session_id: string;
  turn_id: string;
  status: 'accepted' | 'running' | 'waiting_for_approval' | 'completed' | 'interrupted' | 'failed';
  source: 'user' | 'queue' | 'team_message' | 'process_exit' | 'onboarding' | 'usage_limit';
  /** Of this turn only; null: the session's. */
  permission_mode: string | null;
  /** Of this turn only; null: the session's, or that of the turn's permission_mode where it has one. */
  agent_mode: string | null;
  /** Of this turn only; null: the session's. */
  model: string | null;
  /** Of this turn only; null: the session's. */
  thinking_effort: string | null;
  usage: Usage | null;
  error: Failure | null;
  provider_turn_ref: string | null;
  accepted_at: number;
  started_at: number | null;
  ended_at: number | null;
  interrupt_requested_at: number | null;
  /** Whether retention has deleted its input, text and items. */
  trimmed: boolean;
}

/** A turn has ended because somebody asked for it. Its session is ready. */
export interface TurnInterruptedEvent {
  seq: number;
  id: string;
  kind: 'turn.interrupted';
  scope: 'session';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    turn: TurnInEvents;
    /** The `last_words` of its session from now on. */
    last_words: string | null;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** Somebody asked for a turn to end. It ends interrupted, whatever its agent does. */
export interface TurnInterruptRequestedEvent {
  seq: number;
  id: string;
  kind: 'turn.interrupt_requested';
  scope: 'session';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    turn: TurnInEvents;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** A turn has an agent, which is about to be prompted. */
export interface TurnStartedEvent {
  seq: number;
  id: string;
  kind: 'turn.started';
  scope: 'session';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    turn: TurnInEvents;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** The body of 401. */
export interface Unauthorized {
  error: 'missing or invalid bearer token';
}

/** The body of POST /v1/worktree-trust/withdraw. */
export interface UntrustContentRequest {
  /** A directory of the repository. */
  repo_root: string;
  /** The content; absent: all of the repository. */
  sha256?: string | null | undefined;
}

/** A field that is absent stays as it is. A closed session may be changed too. */
export interface UpdateSessionRequest {
  /** null: it has none, until the next prompt of a person gives it one. */
  title?: string | null | undefined;
  pinned?: boolean | undefined;
  snoozed_until?: number | null | undefined;
  muted?: boolean | undefined;
  /** A seq that the server has given. One below the stored value changes nothing, so that clients need not agree on an order. */
  seen_seq?: number | undefined;
  /** What it does when a usage limit of its agent has reset. resume: it goes on by itself. wait: it waits for a person. null: as sessions.after_limit of the configuration says. */
  after_limit?: 'resume' | 'wait' | null | undefined;
}

/** The usage of a turn or session, as the provider counts it; null where it does not report a number. */
export interface Usage {
  input_tokens: number | null;
  output_tokens: number | null;
  cached_input_tokens: number | null;
  total_tokens: number | null;
  /** The size of the last request to the model. */
  context_tokens: number | null;
  context_window: number | null;
  cost_usd: number | null;
}

/** Why a session waits for a usage limit of its agent, and until when. */
export interface UsageLimit {
  /** What the agent said of the limit, for people. */
  message: string;
  since: number;
  /** When the limit resets; null: the agent did not say. */
  resets_at: number | null;
  /** When it goes on by itself; null: not before a person resumes it. */
  resumes_at: number | null;
  /** Why it does not go on by itself. chosen: after_limit says so. unknown_reset: the agent did not say when the limit resets. repeated: each time that it went on, the limit was reported again before the agent did anything. null: it does. */
  waits_because: 'chosen' | 'unknown_reset' | 'repeated' | null;
  /** The turn that the limit has ended, and that goes on; null: it waits because another session of the account has reached the limit. */
  turn_id: string | null;
}

/** What turns have used. */
export interface UsageReport {
  /** What turns are summed by. A turn counts for the day on which it ended, and for every team that its session was in then. */
  by: 'session' | 'team' | 'provider' | 'day';
  /** The turns that ended from here on. */
  since: number;
  /** The turns that ended before this. */
  until: number;
  /** The one in which days begin. */
  time_zone: string;
  /** Days: the newest first. Others: the one with the most tokens first. */
  rows: Array<UsageRow>;
  /** How many rows more there are than `limit`. */
  left_out: number;
  /** Of all turns, each counted once. */
  total: UsageSums;
}

/** What the turns of a session, team, provider or day used. */
export interface UsageRow {
  /** The id of the session or team, the provider, or the day (2026-11-22); null: turns of sessions in no team. */
  key: string | null;
  /** The title of the session, or the name of the team. */
  name: string | null;
  /** By session or provider; else null. */
  provider: ProviderId | null;
  /** The name of the agent, where the provider has names. */
  agent: string | null;
  /** The turns that an agent has seen and that have ended; a running one is not counted. */
  turns: number;
  /** Input tokens, without those from a cache; null: no turn reports them. */
  input_tokens: number | null;
  /** Output tokens; null: no turn reports them. */
  output_tokens: number | null;
  /** Input tokens from a cache; null: no turn reports them. */
  cached_input_tokens: number | null;
  /** All tokens, as the provider counts them; null: no turn reports them. */
  total_tokens: number | null;
  /** In US dollars; null: no turn reports a cost. */
  cost_usd: number | null;
  /** The turns of which no tokens are known: the sums are too low by what these used. */
  turns_without_tokens: number;
  /** The turns of which no cost is known. */
  turns_without_cost: number;
}

/** What some turns have used. */
export interface UsageSums {
  /** The turns that an agent has seen and that have ended; a running one is not counted. */
  turns: number;
  /** Input tokens, without those from a cache; null: no turn reports them. */
  input_tokens: number | null;
  /** Output tokens; null: no turn reports them. */
  output_tokens: number | null;
  /** Input tokens from a cache; null: no turn reports them. */
  cached_input_tokens: number | null;
  /** All tokens, as the provider counts them; null: no turn reports them. */
  total_tokens: number | null;
  /** In US dollars; null: no turn reports a cost. */
  cost_usd: number | null;
  /** The turns of which no tokens are known: the sums are too low by what these used. */
  turns_without_tokens: number;
  /** The turns of which no cost is known. */
  turns_without_cost: number;
}

/** An agent tells what its turn has used so far. */
export interface UsageUpdatedEvent {
  seq: number;
  id: string;
  kind: 'usage.updated';
  scope: 'session';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    usage: Usage;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** The response of GET /v1/processes/{process_id}/wait. */
export interface WaitForProcessResponse {
  process: Process;
  matched: boolean;
}

/** The contents that are no longer allowed. */
export interface WithdrawnTrust {
  repo_root: string;
  withdrawn: Array<TrustedContent>;
}

/** A git worktree that the server made. */
export interface Worktree {
  id: string;
  worktree_name: string;
  repo_root: string;
  path: string;
  branch: string;
  base_ref: string;
  base_commit: string;
  deletion_policy: DeletionPolicy;
  /** active: it has claims. retained: it has none. cleaned: the server removed its path and branch. missing: its path was removed by somebody else. */
  status: 'active' | 'retained' | 'cleaned' | 'missing';
  source_session_id: string;
  team_id: string | null;
  operation_id: string | null;
  init_script: {
    /** not_found: the repository has no init script. skipped_untrusted: its content is not allowed. If the script fails, no worktree is created. */
    status: 'completed' | 'not_found' | 'off' | 'skipped_untrusted';
    exit_code: number | null;
    output_tail: string;
    /** The digest of the script as it is committed in the main worktree, if there is one. */
    sha256?: string | null | undefined;
    /** How to allow a script that was skipped. */
    how_to_allow?: string | null | undefined;
  };
  /** What was copied into it when it was made: ignored files of the main worktree that .worktreeinclude names. */
  included: {
    /** not_found: the repository has no .worktreeinclude, or no main worktree. skipped_untrusted: its content is not allowed. If a file cannot be copied, no worktree is created. */
    status: 'completed' | 'not_found' | 'off' | 'skipped_untrusted';
    /** How many files were copied. */
    files: number;
    /** Their size together. */
    bytes: number;
    /** How many more files match and were left out: symbolic links, files that the checkout has or does not ignore, and names that are not UTF-8. */
    skipped: number;
    /** The digest of .worktreeinclude as it is committed in the main worktree. */
    sha256: string | null;
    /** How to allow a list that was skipped. */
    how_to_allow: string | null;
  };
  /** The first of the ports that belong to it while it exists; null: none was free when it was made. Programs in it have it as CADRE_PORT_BASE. */
  port_base: number | null;
  /** How many ports that are; 0: none. */
  port_count: number;
  /** The ref in its repository that keeps the work that was in it when it was last cleaned. */
  archive_ref: string | null;
  /** When its last claim was released, while the cleanup after that has not ended. Null or absent if no cleanup is due. */
  cleanup_due_at?: number | null | undefined;
  created_at: number;
  updated_at: number;
}

/** The work that a worktree holds is kept under a ref of its repository. It comes before the worktree goes. */
export interface WorktreeArchivedEvent {
  seq: number;
  id: string;
  kind: 'worktree.archived';
  scope: 'worktree';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    worktree: WorktreeInEvents;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** A worktree that was made. */
export interface WorktreeAsMade {
  id: string;
  worktree_name: string;
  repo_root: string;
  path: string;
  branch: string;
  base_ref: string;
  base_commit: string;
  deletion_policy: DeletionPolicy;
  /** active: it has claims. retained: it has none. cleaned: the server removed its path and branch. missing: its path was removed by somebody else. */
  status: 'active' | 'retained' | 'cleaned' | 'missing';
  source_session_id: string;
  team_id: string | null;
  operation_id: string | null;
  init_script: {
    /** not_found: the repository has no init script. skipped_untrusted: its content is not allowed. If the script fails, no worktree is created. */
    status: 'completed' | 'not_found' | 'off' | 'skipped_untrusted';
    exit_code: number | null;
    output_tail: string;
    /** The digest of the script as it is committed in the main worktree, if there is one. */
    sha256?: string | null | undefined;
    /** How to allow a script that was skipped. */
    how_to_allow?: string | null | undefined;
  };
  /** What was copied into it when it was made: ignored files of the main worktree that .worktreeinclude names. */
  included?:
    | {
        /** not_found: the repository has no .worktreeinclude, or no main worktree. skipped_untrusted: its content is not allowed. If a file cannot be copied, no worktree is created. */
        status: 'completed' | 'not_found' | 'off' | 'skipped_untrusted';
        /** How many files were copied. */
        files: number;
        /** Their size together. */
        bytes: number;
        /** How many more files match and were left out: symbolic links, files that the checkout has or does not ignore, and names that are not UTF-8. */
        skipped: number;
        /** The digest of .worktreeinclude as it is committed in the main worktree. */
        sha256: string | null;
        /** How to allow a list that was skipped. */
        how_to_allow: string | null;
      }
    | undefined;
  /** The first of the ports that belong to it while it exists; null: none was free when it was made. Programs in it have it as CADRE_PORT_BASE. */
  port_base?: number | null | undefined;
  /** How many ports that are; 0: none. */
  port_count?: number | undefined;
  /** The ref in its repository that keeps the work that was in it when it was last cleaned. */
  archive_ref: string | null;
  /** When its last claim was released, while the cleanup after that has not ended. Null or absent if no cleanup is due. */
  cleanup_due_at?: number | null | undefined;
  created_at: number;
  updated_at: number;
}

/** A session claims a worktree: while it is claimed, it stays. */
export interface WorktreeClaimedEvent {
  seq: number;
  id: string;
  kind: 'worktree.claimed';
  scope: 'worktree';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    worktree: WorktreeInEvents;
    claim: Claim;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** The path and the branch of a worktree were removed. */
export interface WorktreeCleanedEvent {
  seq: number;
  id: string;
  kind: 'worktree.cleaned';
  scope: 'worktree';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    worktree: WorktreeInEvents;
    /** Why it was to go, as whoever asked for it says. */
    reason: string | null;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** The outcome of the cleanup of a worktree. */
export interface WorktreeCleanup {
  worktree: Worktree;
  status: 'cleaned' | 'retained_by_policy' | 'skipped_active_claims' | 'failed';
  deleted_path: boolean;
  deleted_branch: boolean;
  archive_ref: string | null;
  active_claims: number;
  /** The reasons, and what was deleted without being archived. */
  diagnostics: Array<string>;
}

/** A worktree was to go and could not. */
export interface WorktreeCleanupFailedEvent {
  seq: number;
  id: string;
  kind: 'worktree.cleanup_failed';
  scope: 'worktree';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    worktree: WorktreeInEvents;
    /** Why it was to go, as whoever asked for it says. */
    reason: string | null;
    /** What went wrong: one text. */
    diagnostics: Array<string>;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** A worktree was made. */
export interface WorktreeCreatedEvent {
  seq: number;
  id: string;
  kind: 'worktree.created';
  scope: 'worktree';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    worktree: WorktreeAsMade;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** How many worktrees there are, by status. */
export interface WorktreeDiagnostics {
  active: number;
  retained: number;
  cleaned: number;
  missing: number;
  active_claims: number;
  /** Creations, removals and restorations that are running or were cut off by a crash. */
  under_way: number;
}

/** What a merge or a rebase does, or has done. */
export interface WorktreeFinish {
  worktree: Worktree;
  /** planned: this is what would happen. nothing_to_do: the branch has it all already. */
  outcome: 'planned' | 'done' | 'nothing_to_do';
  /** The commit at which the branch of the worktree is. */
  source_commit: string;
  /** The branch that it is merged into or rebased onto. */
  target: string;
  /** The commit at which that branch was. */
  target_commit: string;
  /** What the worktree has beyond the target, newest first: at most 100. */
  commits: Array<FinishedCommit>;
  commit_count: number;
  /** What changes in the target: at most 500 files. */
  files: Array<FinishedFile>;
  file_count: number;
  /** Changes in the worktree that are not committed: at most 100 names. */
  uncommitted: Array<string>;
  uncommitted_count: number;
  /** Why it is refused as things are, and what to do; empty: nothing prevents it. */
  obstacles: Array<string>;
  /** What is worth knowing before it happens. */
  notes: Array<string>;
  /** fast_forward: the branch moves to a commit that exists. replay: the commits are written again. none: there is nothing to do, or a conflict. */
  how: 'fast_forward' | 'merge_commit' | 'squash' | 'replay' | 'none';
  /** The commit at which the branch is afterwards; null while it is planned. */
  result_commit: string | null;
  /** What the branch holds afterwards, as the id of a tree; null: there are conflicts. */
  result_tree: string | null;
  /** Where git cannot decide; nothing is changed then. */
  conflicts: Array<MergeConflict>;
  /** Of a rebase: the commit that conflicts. */
  conflict_in: string | null;
  /** Who commits, by the settings of git; null: it does not know. */
  committer: string | null;
  /** The directory that has the branch checked out, and whose files follow it. */
  checkout: string | null;
}

/** A worktree that has changed, without `init_script` and `included`. */
export interface WorktreeInEvents {
  id: string;
  worktree_name: string;
  repo_root: string;
  path: string;
  branch: string;
  base_ref: string;
  base_commit: string;
  deletion_policy: DeletionPolicy;
  /** active: it has claims. retained: it has none. cleaned: the server removed its path and branch. missing: its path was removed by somebody else. */
  status: 'active' | 'retained' | 'cleaned' | 'missing';
  source_session_id: string;
  team_id: string | null;
  operation_id: string | null;
  /** The first of the ports that belong to it while it exists; null: none was free when it was made. Programs in it have it as CADRE_PORT_BASE. */
  port_base?: number | null | undefined;
  /** How many ports that are; 0: none. */
  port_count?: number | undefined;
  /** The ref in its repository that keeps the work that was in it when it was last cleaned. */
  archive_ref: string | null;
  /** When its last claim was released, while the cleanup after that has not ended. Null or absent if no cleanup is due. */
  cleanup_due_at?: number | null | undefined;
  created_at: number;
  updated_at: number;
}

/** The branch of a worktree was merged into another branch, as somebody asked. The worktree is as it was. */
export interface WorktreeMergedEvent {
  seq: number;
  id: string;
  kind: 'worktree.merged';
  scope: 'worktree';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    worktree: WorktreeInEvents;
    /** The branch. */
    into: string;
    /** fast_forward, merge_commit, squash or replay. */
    how: string;
    /** Where the branch that moved was before. */
    previous_commit: string;
    /** Where it is now. */
    commit: string;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** The path of a worktree is gone, and the server did not remove it. */
export interface WorktreeMissingEvent {
  seq: number;
  id: string;
  kind: 'worktree.missing';
  scope: 'worktree';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    worktree: WorktreeInEvents;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** The pull request of a worktree. */
export interface WorktreePullRequest {
  worktree: Worktree;
  /** planned: this is what would happen. nothing_to_do: the branch has it all already. */
  outcome: 'planned' | 'done' | 'nothing_to_do';
  /** The commit at which the branch of the worktree is. */
  source_commit: string;
  /** The branch that it is merged into or rebased onto. */
  target: string;
  /** The commit at which that branch was. */
  target_commit: string;
  /** What the worktree has beyond the target, newest first: at most 100. */
  commits: Array<FinishedCommit>;
  commit_count: number;
  /** What changes in the target: at most 500 files. */
  files: Array<FinishedFile>;
  file_count: number;
  /** Changes in the worktree that are not committed: at most 100 names. */
  uncommitted: Array<string>;
  uncommitted_count: number;
  /** Why it is refused as things are, and what to do; empty: nothing prevents it. */
  obstacles: Array<string>;
  /** What is worth knowing before it happens. */
  notes: Array<string>;
  /** The name of the remote. */
  remote: string;
  /** Where that is; a password in it is left out. */
  remote_url: string;
  /** The branch there, from which the pull request is made. */
  branch: string;
  /** Whether that branch is at source_commit: in a plan, as the repository knows it, because a plan connects to no remote. */
  pushed: boolean;
  title: string;
  body: string;
  draft: boolean;
  /** The pull request; null while it is planned. */
  url: string | null;
}

/** A pull request was opened for the branch of a worktree, as somebody asked. */
export interface WorktreePullRequestOpenedEvent {
  seq: number;
  id: string;
  kind: 'worktree.pull_request_opened';
  scope: 'worktree';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    worktree: WorktreeInEvents;
    /** The branch. */
    into: string;
    /** The commit at which the branch was. */
    commit: string;
    /** Whether the branch was pushed for it. */
    pushed: boolean;
    url: string;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** The commits of a worktree were written again on top of a branch, as somebody asked. */
export interface WorktreeRebasedEvent {
  seq: number;
  id: string;
  kind: 'worktree.rebased';
  scope: 'worktree';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    worktree: WorktreeInEvents;
    /** The branch. */
    onto: string;
    /** fast_forward, merge_commit, squash or replay. */
    how: string;
    /** Where the branch that moved was before. */
    previous_commit: string;
    /** Where it is now. */
    commit: string;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** A claim was released, by request or with the end of its session. */
export interface WorktreeReleasedEvent {
  seq: number;
  id: string;
  kind: 'worktree.released';
  scope: 'worktree';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    worktree: WorktreeInEvents;
    claim: Claim;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** A worktree that was cleaned is there again, with the work that was archived. */
export interface WorktreeRestoredEvent {
  seq: number;
  id: string;
  kind: 'worktree.restored';
  scope: 'worktree';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    worktree: WorktreeInEvents;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** Nobody claims a worktree any more, and it stays. */
export interface WorktreeRetainedEvent {
  seq: number;
  id: string;
  kind: 'worktree.retained';
  scope: 'worktree';
  session_id: string | null;
  turn_id: string | null;
  process_id: string | null;
  worktree_id: string | null;
  team_id: string | null;
  created_at: number;
  /** The payload's version. */
  v: number;
  payload: {
    worktree: WorktreeInEvents;
    /** The payload was longer than 256 KiB: its long texts are cut. */
    truncated?: true | undefined;
    /** With truncated: the bytes of its longest text, else of the whole. */
    total_bytes?: number | undefined;
  };
}

/** The worktree of a new member. */
export interface WorktreeWish {
  /** none: the member works in the directory of the source session. create: in a new worktree. reuse: in the worktree of that name, which is created if there is none. */
  mode: 'none' | 'create' | 'reuse';
  /** create: by default it is derived from the operation. reuse: required. */
  name?: string | null | undefined;
  branch_prefix?: string | null | undefined;
  base_ref?: string | null | undefined;
  run_init_script?: boolean | null | undefined;
  copy_included?: boolean | null | undefined;
}

/** The body of POST /v1/processes/{process_id}/stdin. */
export interface WriteToProcessRequest {
  /** What it is to read. The response comes once that was passed on or, up to 64 KiB, is held for it; so whoever sends the next part after the response of the one before sends as fast as the process reads. It is refused if 1 MiB waits already. */
  data?: string | null | undefined;
  /** How data is written; base64 is for bytes that are no text. Default: utf8. */
  encoding?: 'utf8' | 'base64' | null | undefined;
  /** true: it then reads the end of its input, and nothing more can be sent. */
  eof?: boolean | null | undefined;
}

/** The response of POST /v1/processes/{process_id}/stdin. */
export interface WriteToProcessResponse {
  process_id: string;
  /** The number of bytes that were sent. */
  bytes: number;
}

/** The routes that answer with one document, by method and path. */
export interface Routes {
  /** Whether the server runs. */
  'GET /health': {
    answer: GetPublicHealthResponse;
  };
  /** This API description. */
  'GET /openapi.yaml': {
    answer: string;
  };
  /** Health of the server and its parts; 200 also when degraded. */
  'GET /v1/health': {
    answer: Health;
  };
  /** Version of the server and of its data. */
  'GET /v1/version': {
    answer: GetVersionResponse;
  };
  /** Metrics of the server and its parts, as JSON. */
  'GET /v1/diagnostics': {
    answer: Diagnostics;
  };
  /** What startup recovery found and repaired. */
  'GET /v1/diagnostics/recovery': {
    answer: RecoverySummary;
  };
  /** The size of the store, by part. */
  'GET /v1/diagnostics/storage': {
    answer: StorageDiagnostics;
  };
  /** Metrics of the server, for Prometheus. */
  'GET /metrics': {
    answer: string;
  };
  /** Open a session; its agent starts with the first turn. */
  'POST /v1/sessions': {
    body: CreateSessionRequest;
    answer: Session;
  };
  /** List sessions, newest first. */
  'GET /v1/sessions': {
    query?:
      | {
          /** Only sessions with this status. */
          status?: 'ready' | 'running' | 'waiting_for_approval' | 'closed' | 'failed' | undefined;
          /** Only sessions of this provider. */
          provider?: ProviderId | undefined;
          /** Only members of this team. */
          team_id?: string | undefined;
          /** The maximum number of records. */
          limit?: number | undefined;
          /** Where the page begins: the X-Next-Cursor of the page before. */
          cursor?: string | undefined;
        }
      | undefined;

    answer: Array<Session>;
  };
  /** Read a session. */
  'GET /v1/sessions/{session_id}': {
    params: {
      /** The session. */
      session_id: string;
    };

    answer: Session;
  };
  /** Change what people keep with a session: its title, what they pinned, snoozed, muted or saw, and what it does after a usage limit. */
  'PATCH /v1/sessions/{session_id}': {
    params: {
      /** The session. */
      session_id: string;
    };

    body?: UpdateSessionRequest | undefined;
    answer: Session;
  };
  /** The slash commands of its agent, as the agent told them last; a prompt that begins with one runs it. */
  'GET /v1/sessions/{session_id}/commands': {
    params: {
      /** The session. */
      session_id: string;
    };

    answer: Array<AgentCommand>;
  };
  /** Send a turn; its output comes as events. */
  'POST /v1/sessions/{session_id}/turns': {
    params: {
      /** The session. */
      session_id: string;
    };

    body: SendTurnRequest;
    answer: SendTurnResponse;
  };
  /** List the turns of a session, newest first. */
  'GET /v1/sessions/{session_id}/turns': {
    params: {
      /** The session. */
      session_id: string;
    };
    query?:
      | {
          /** The maximum number of records. */
          limit?: number | undefined;
          /** Where the page begins: the X-Next-Cursor of the page before. */
          cursor?: string | undefined;
        }
      | undefined;

    answer: Array<Turn>;
  };
  /** Read a turn. */
  'GET /v1/sessions/{session_id}/turns/{turn_id}': {
    params: {
      /** The session. */
      session_id: string;
      /** The turn. */
      turn_id: string;
    };

    answer: Turn;
  };
  /** List the items of a turn, in order: messages, reasoning and tool calls. */
  'GET /v1/sessions/{session_id}/turns/{turn_id}/items': {
    params: {
      /** The session. */
      session_id: string;
      /** The turn. */
      turn_id: string;
    };

    answer: Array<Item>;
  };
  /** Read an item of a turn. */
  'GET /v1/sessions/{session_id}/turns/{turn_id}/items/{item_id}': {
    params: {
      /** The session. */
      session_id: string;
      /** The turn. */
      turn_id: string;
      /** The item. */
      item_id: string;
    };

    answer: Item;
  };
  /** Interrupt a turn; it ends as interrupted even if its agent does not react. */
  'POST /v1/sessions/{session_id}/turns/{turn_id}/interrupt': {
    params: {
      /** The session. */
      session_id: string;
      /** The turn. */
      turn_id: string;
    };

    body?: {} | undefined;
    answer: Turn;
  };
  /** Close a session; closing a closed one changes nothing. */
  'POST /v1/sessions/{session_id}/close': {
    params: {
      /** The session. */
      session_id: string;
    };

    body?: CloseSessionRequest | undefined;
    answer: Session;
  };
  /** Resume a failed session, if its provider still has it; an open one is returned unchanged. */
  'POST /v1/sessions/{session_id}/resume': {
    params: {
      /** The session. */
      session_id: string;
    };

    body?: {} | undefined;
    answer: Session;
  };
  /** What changed in the checkout of a session: its files now against where they began. */
  'GET /v1/sessions/{session_id}/diff': {
    params: {
      /** The session. */
      session_id: string;
    };
    query?:
      | {
          /** start: the last commit that its worktree shares with the branch at which that began, or what was checked out when the session was opened. head: what is checked out, so that only what is not committed is shown. */
          against?: 'start' | 'head' | undefined;
          /** A turn: against the files at its beginning, of which there has to be a snapshot. */
          since?: string | undefined;
          /** A turn: the files at its end instead of those of now; without `since`, against its beginning. */
          at?: string | undefined;
          /** Only files at or below these paths, relative to `root`. */
          path?: Array<string> | undefined;
          /** Only the figures, without patches. */
          stat?: boolean | undefined;
          /** Patches for git apply: of binary files in git's binary form, and none of a file whose patch is not UTF-8, which counts as binary. */
          exact?: boolean | undefined;
        }
      | undefined;

    answer: SessionDiff;
  };
  /** List the snapshots of a session, and whether more are taken. */
  'GET /v1/sessions/{session_id}/snapshots': {
    params: {
      /** The session. */
      session_id: string;
    };

    answer: GetSnapshotsResponse;
  };
  /** Switch the snapshots of a session on or off, from its next turn on. */
  'PATCH /v1/sessions/{session_id}/snapshots': {
    params: {
      /** The session. */
      session_id: string;
    };

    body: SetSnapshotsRequest;
    answer: SetSnapshotsResponse;
  };
  /** List the files of a session that git does not ignore, now or at a turn. */
  'GET /v1/sessions/{session_id}/files': {
    params: {
      /** The session. */
      session_id: string;
    };
    query?:
      | {
          /** Absent: the files as they are now. */
          turn_id?: string | undefined;
          /** The files at the end of that turn, or at its start. */
          moment?: SnapshotMoment | undefined;
          /** Only files at or below this path. */
          path?: string | undefined;
        }
      | undefined;

    answer: ListSessionFilesResponse;
  };
  /** Write a file as it was at a turn, unless somebody else changed it since. */
  'PATCH /v1/sessions/{session_id}/files': {
    params: {
      /** The session. */
      session_id: string;
    };

    body: RestoreFileRequest;
    answer: RestoreFileResponse;
  };
  /** Queue a turn: for when the session is free, for a time, or for every time of a schedule. */
  'POST /v1/sessions/{session_id}/queue': {
    params: {
      /** The session. */
      session_id: string;
    };

    body: AddToQueueRequest;
    answer: QueueEntry;
  };
  /** The queue of a session, in its order. */
  'GET /v1/sessions/{session_id}/queue': {
    params: {
      /** The session. */
      session_id: string;
    };

    answer: SessionQueue;
  };
  /** Let nothing that waits for a session become a turn, until it is resumed; a running turn goes on. */
  'POST /v1/sessions/{session_id}/queue/pause': {
    params: {
      /** The session. */
      session_id: string;
    };

    body?: PauseSessionQueueRequest | undefined;
    answer: SessionQueue;
  };
  /** End the pause of a session, also the one that an interrupt has begun. */
  'POST /v1/sessions/{session_id}/queue/resume': {
    params: {
      /** The session. */
      session_id: string;
    };

    body?: {} | undefined;
    answer: SessionQueue;
  };
  /** The entries of the queues of all sessions, newest first. */
  'GET /v1/queue': {
    query?:
      | {
          /** Only entries of this session. */
          session_id?: string | undefined;
          /** Only entries with this status. */
          status?: 'scheduled' | 'waiting' | 'running' | 'held' | undefined;
          /** The maximum number of records. */
          limit?: number | undefined;
          /** Where the page begins: the X-Next-Cursor of the page before. */
          cursor?: string | undefined;
        }
      | undefined;

    answer: Array<QueueEntry>;
  };
  /** One entry of the queue. */
  'GET /v1/queue/{entry_id}': {
    params: {
      /** The entry of the queue. */
      entry_id: string;
    };

    answer: QueueEntry;
  };
  /** Change an entry of the queue; a field that is absent stays as it is. */
  'PATCH /v1/queue/{entry_id}': {
    params: {
      /** The entry of the queue. */
      entry_id: string;
    };

    body?: EditQueueEntryRequest | undefined;
    answer: QueueEntry;
  };
  /** Take an entry out of the queue; a turn of a schedule that runs goes on. */
  'DELETE /v1/queue/{entry_id}': {
    params: {
      /** The entry of the queue. */
      entry_id: string;
    };

    answer: QueueEntry;
  };
  /** Give an entry another place in the queue of its session. */
  'POST /v1/queue/{entry_id}/move': {
    params: {
      /** The entry of the queue. */
      entry_id: string;
    };

    body?: MoveQueueEntryRequest | undefined;
    answer: SessionQueue;
  };
  /** Let an entry of the queue become no turn until it is resumed; a turn of it that runs goes on. */
  'POST /v1/queue/{entry_id}/pause': {
    params: {
      /** The entry of the queue. */
      entry_id: string;
    };

    body?: PauseQueueEntryRequest | undefined;
    answer: QueueEntry;
  };
  /** End the pause of an entry; what a schedule has missed meanwhile is skipped. */
  'POST /v1/queue/{entry_id}/resume': {
    params: {
      /** The entry of the queue. */
      entry_id: string;
    };

    body?: {} | undefined;
    answer: QueueEntry;
  };
  /** The comments on the diff of a session that were not sent yet. */
  'GET /v1/sessions/{session_id}/review': {
    params: {
      /** The session. */
      session_id: string;
    };

    answer: Review;
  };
  /** Drop all comments on the diff of a session. */
  'DELETE /v1/sessions/{session_id}/review': {
    params: {
      /** The session. */
      session_id: string;
    };

    answer: Review;
  };
  /** Comment on lines of the diff of a session; nothing is sent yet. */
  'POST /v1/sessions/{session_id}/review/comments': {
    params: {
      /** The session. */
      session_id: string;
    };

    body: AddReviewCommentRequest;
    answer: ReviewComment;
  };
  /** Change what a comment says. */
  'PATCH /v1/sessions/{session_id}/review/comments/{comment_id}': {
    params: {
      /** The session. */
      session_id: string;
      /** The comment. */
      comment_id: string;
    };

    body: EditReviewCommentRequest;
    answer: ReviewComment;
  };
  /** Drop a comment. */
  'DELETE /v1/sessions/{session_id}/review/comments/{comment_id}': {
    params: {
      /** The session. */
      session_id: string;
      /** The comment. */
      comment_id: string;
    };

    answer: StoredReviewComment;
  };
  /** Send all comments on the diff of a session as one turn; they leave the draft with it. */
  'POST /v1/sessions/{session_id}/review/send': {
    params: {
      /** The session. */
      session_id: string;
    };

    body?: SendReviewRequest | undefined;
    answer: SendReviewResponse;
  };
  /** Decide an approval; the first decision wins. */
  'POST /v1/sessions/{session_id}/approvals/{approval_id}': {
    params: {
      /** The session. */
      session_id: string;
      /** The approval. */
      approval_id: string;
    };

    body: DecideApprovalRequest;
    answer: Approval;
  };
  /** One approval, whole. */
  'GET /v1/sessions/{session_id}/approvals/{approval_id}': {
    params: {
      /** The session. */
      session_id: string;
      /** The approval. */
      approval_id: string;
    };

    answer: Approval;
  };
  /** The approvals of a session, newest first. */
  'GET /v1/sessions/{session_id}/approvals': {
    params: {
      /** The session. */
      session_id: string;
    };
    query?:
      | {
          /** Only approvals with this status. */
          status?: 'pending' | 'accepted' | 'declined' | 'expired' | 'cancelled' | undefined;
          /** The maximum number of records. */
          limit?: number | undefined;
          /** Where the page begins: the X-Next-Cursor of the page before. */
          cursor?: string | undefined;
        }
      | undefined;

    answer: Array<Approval>;
  };
  /** The approvals of all sessions, newest first. */
  'GET /v1/approvals': {
    query?:
      | {
          /** Only approvals with this status. */
          status?: 'pending' | 'accepted' | 'declined' | 'expired' | 'cancelled' | undefined;
          /** Only approvals of this session. */
          session_id?: string | undefined;
          /** The maximum number of records. */
          limit?: number | undefined;
          /** Where the page begins: the X-Next-Cursor of the page before. */
          cursor?: string | undefined;
        }
      | undefined;

    answer: Array<Approval>;
  };
  /** List the rules that decide approvals, newest first. */
  'GET /v1/approval-rules': {
    query?:
      | {
          /** The maximum number of records. */
          limit?: number | undefined;
          /** Where the page begins: the X-Next-Cursor of the page before. */
          cursor?: string | undefined;
        }
      | undefined;

    answer: Array<ApprovalRule>;
  };
  /** Add a rule that decides approvals from now on, or return the existing one; needs `tool`, `command`, `path` or `directory`. */
  'POST /v1/approval-rules': {
    body: AddApprovalRuleRequest;
    answer: ApprovalRule;
  };
  /** Remove a rule and all with the same conditions; decisions that were made by it stay. */
  'DELETE /v1/approval-rules/{rule_id}': {
    params: {
      /** The rule. */
      rule_id: string;
    };

    answer: ApprovalRule;
  };
  /** What the rules would decide about a command, a changed file or a tool; changes nothing. */
  'POST /v1/approval-rules/test': {
    body?: TestApprovalRulesRequest | undefined;
    answer: Ruling;
  };
  /** What turns have used, by session, team, provider or day. */
  'GET /v1/usage': {
    query?:
      | {
          /** What turns are summed by. A turn counts for the day on which it ended, and for every team that its session was in then. */
          by?: 'session' | 'team' | 'provider' | 'day' | undefined;
          /** Turns that ended from here on; absent: since the begin of the day 29 days ago. */
          since?: number | undefined;
          /** Turns that ended before this; absent: up to now. */
          until?: number | undefined;
          /** In which days begin; absent: the server's. */
          time_zone?: string | undefined;
          /** The maximum number of rows. */
          limit?: number | undefined;
        }
      | undefined;

    answer: UsageReport;
  };
  /** The budgets, newest first. */
  'GET /v1/budgets': {
    query?:
      | {
          /** Only those of this session. */
          session_id?: string | undefined;
          /** Only those of this team. */
          team_id?: string | undefined;
          /** The maximum number of records. */
          limit?: number | undefined;
          /** Where the page begins: the X-Next-Cursor of the page before. */
          cursor?: string | undefined;
        }
      | undefined;

    answer: Array<Budget>;
  };
  /** Set the budget of a session, of a team, or of all sessions; one that is there already is replaced. */
  'POST /v1/budgets': {
    body?: SetBudgetRequest | undefined;
    answer: Budget;
  };
  /** One budget. */
  'GET /v1/budgets/{budget_id}': {
    params: {
      /** The budget. */
      budget_id: string;
    };

    answer: Budget;
  };
  /** Remove a budget; what it has held goes on. */
  'DELETE /v1/budgets/{budget_id}': {
    params: {
      /** The budget. */
      budget_id: string;
    };

    answer: Budget;
  };
  /** The providers of this server, what they can do and whether they are healthy. */
  'GET /v1/providers': {
    answer: Array<Provider>;
  };
  /** The models of a provider, or of one of its agents, as the agent last offered them; it may be started for this. */
  'GET /v1/providers/{provider}/models': {
    params: {
      /** The provider. */
      provider: ProviderId;
    };
    query?:
      | {
          /** The agent, where those of the provider have names; absent: its default agent. */
          agent?: string | undefined;
        }
      | undefined;

    answer: Array<Model>;
  };
  /** Whether somebody is logged in to codex, told without a network. */
  'GET /v1/providers/codex/auth/status': {
    answer: AuthStatus;
  };
  /** Whether somebody is logged in to claude, told without a network. */
  'GET /v1/providers/claude/auth/status': {
    answer: AuthStatus;
  };
  /** Whether the agent is logged in, as far as can be told. */
  'GET /v1/providers/acp/auth/status': {
    query?:
      | {
          /** The agent, where those of the provider have names; absent: its default agent. */
          agent?: string | undefined;
        }
      | undefined;

    answer: AuthStatus;
  };
  /** Give codex an API key, kept in its private home; takes no Idempotency-Key. */
  'POST /v1/providers/codex/auth/api-key': {
    body: SetCodexApiKeyRequest;
    answer: AuthStatus;
  };
  /** Give claude an API key, kept in its private home; takes no Idempotency-Key. */
  'POST /v1/providers/claude/auth/api-key': {
    body: SetClaudeApiKeyRequest;
    answer: AuthStatus;
  };
  /** Give codex a login that was made elsewhere; takes no Idempotency-Key. */
  'POST /v1/providers/codex/auth/import': {
    body: ImportCodexLoginRequest;
    answer: AuthStatus;
  };
  /** End the login in the private home of codex; takes no Idempotency-Key. */
  'POST /v1/providers/codex/auth/logout': {
    answer: AuthStatus;
  };
  /** End the login in the private home of claude; takes no Idempotency-Key. */
  'POST /v1/providers/claude/auth/logout': {
    answer: AuthStatus;
  };
  /** The ways to log in that an agent offers; starts the agent to ask it. */
  'GET /v1/providers/acp/agents/{agent}/login': {
    params: {
      /** The name of the agent. */
      agent: string;
    };

    answer: AgentLogin;
  };
  /** The pages that a login under way asks a person to open; nothing is started. */
  'GET /v1/providers/acp/agents/{agent}/login/pages': {
    params: {
      /** The name of the agent. */
      agent: string;
    };

    answer: Array<LoginPage>;
  };
  /** Log in to an agent; it answers once the agent has, which may wait for a person at its browser. */
  'POST /v1/providers/acp/agents/{agent}/authenticate': {
    params: {
      /** The name of the agent. */
      agent: string;
    };

    body?: AuthenticateAgentRequest | undefined;
    answer: AuthStatus;
  };
  /** Start an agent and open a session, to see whether somebody is logged in. */
  'POST /v1/providers/acp/agents/{agent}/check': {
    params: {
      /** The name of the agent. */
      agent: string;
    };

    answer: AuthStatus;
  };
  /** End the login of an agent, where it can do so. */
  'POST /v1/providers/acp/agents/{agent}/logout': {
    params: {
      /** The name of the agent. */
      agent: string;
    };

    answer: AuthStatus;
  };
  /** The providers with what they run. */
  'GET /v1/diagnostics/providers': {
    answer: Array<ProviderDiagnostics>;
  };
  /** Run a command; it is queued until the number of running processes allows it to start. */
  'POST /v1/processes': {
    body: CreateProcessRequest;
    answer: CreateProcessResponse;
  };
  /** List processes, newest first. */
  'GET /v1/processes': {
    query?:
      | {
          /** Only processes of this session; one with another owner, or with none, counts as not found. */
          session_id?: string | undefined;
          /** Only processes with this status. */
          status?:
            | 'queued'
            | 'running'
            | 'completed'
            | 'failed'
            | 'timed_out'
            | 'killed'
            | undefined;
          /** The maximum number of records. */
          limit?: number | undefined;
          /** Where the page begins: the X-Next-Cursor of the page before. */
          cursor?: string | undefined;
        }
      | undefined;

    answer: Array<Process>;
  };
  /** Get a process. */
  'GET /v1/processes/{process_id}': {
    params: {
      /** The process. */
      process_id: string;
    };
    query?:
      | {
          /** Only processes of this session; one with another owner, or with none, counts as not found. */
          session_id?: string | undefined;
        }
      | undefined;

    answer: Process;
  };
  /** Read the end of the output of a process. */
  'GET /v1/processes/{process_id}/logs': {
    params: {
      /** The process. */
      process_id: string;
    };
    query?:
      | {
          /** Only processes of this session; one with another owner, or with none, counts as not found. */
          session_id?: string | undefined;
          /** The stream to read. */
          stream?: 'stdout' | 'stderr' | 'both' | undefined;
          /** The maximum number of lines of each stream. */
          tail_lines?: number | undefined;
          /** The maximum number of bytes of each stream: the last ones, cut between characters. */
          max_bytes?: number | undefined;
          /** Read on from this position instead of the end: the next output in whole characters, at most max_bytes of it, and no more than is there. The stream has to be named; tail_lines does not count. */
          from_byte?: number | undefined;
        }
      | undefined;

    answer: ProcessLogs;
  };
  /** Wait for the end of a process, for a port that accepts connections, or for a text in its output. */
  'GET /v1/processes/{process_id}/wait': {
    params: {
      /** The process. */
      process_id: string;
    };
    query?:
      | {
          /** Only processes of this session; one with another owner, or with none, counts as not found. */
          session_id?: string | undefined;
          /** What to wait for: exit, port:N on the loopback, or a text in a line of output. */
          for?: string | undefined;
          /** After this time the response says `matched: false`. */
          timeout_ms?: number | undefined;
        }
      | undefined;

    answer: WaitForProcessResponse;
  };
  /** End a process and all processes that it started; one that has ended is returned unchanged. */
  'POST /v1/processes/{process_id}/kill': {
    params: {
      /** The process. */
      process_id: string;
    };
    query?:
      | {
          /** Only processes of this session; one with another owner, or with none, counts as not found. */
          session_id?: string | undefined;
        }
      | undefined;
    body?: KillProcessRequest | undefined;
    answer: KillProcessResponse;
  };
  /** Run the command of a process again, as a new process; one that still runs is ended first, with kill_reason "restarted". */
  'POST /v1/processes/{process_id}/restart': {
    params: {
      /** The process. */
      process_id: string;
    };
    query?:
      | {
          /** Only processes of this session; one with another owner, or with none, counts as not found. */
          session_id?: string | undefined;
        }
      | undefined;
    body?: {} | undefined;
    answer: RestartProcessResponse;
  };
  /** Send input to a process that was created with stdin "pipe". */
  'POST /v1/processes/{process_id}/stdin': {
    params: {
      /** The process. */
      process_id: string;
    };
    query?:
      | {
          /** Only processes of this session; one with another owner, or with none, counts as not found. */
          session_id?: string | undefined;
        }
      | undefined;
    body?: WriteToProcessRequest | undefined;
    answer: WriteToProcessResponse;
  };
  /** How many processes run and wait, and how many have ended since the start, by status. */
  'GET /v1/diagnostics/processes': {
    answer: ProcessDiagnostics;
  };
  /** Create a worktree for a session, or claim the existing one of that name. */
  'POST /v1/worktrees': {
    body: CreateWorktreeRequest;
    answer: CreateWorktreeResponse;
  };
  /** List worktrees, newest first. */
  'GET /v1/worktrees': {
    query?:
      | {
          /** Only of this repository. */
          repo_root?: string | undefined;
          /** Only of this team. */
          team_id?: string | undefined;
          /** Only worktrees with this status. */
          status?: 'active' | 'retained' | 'cleaned' | 'missing' | undefined;
          /** The maximum number of records. */
          limit?: number | undefined;
          /** Where the page begins: the X-Next-Cursor of the page before. */
          cursor?: string | undefined;
        }
      | undefined;

    answer: Array<Worktree>;
  };
  /** Read a worktree, with its claims. */
  'GET /v1/worktrees/{worktree_id}': {
    params: {
      /** The worktree. */
      worktree_id: string;
    };

    answer: GetWorktreeResponse;
  };
  /** Claim a worktree for a session; a claimed worktree is not removed. */
  'POST /v1/worktrees/{worktree_id}/claims': {
    params: {
      /** The worktree. */
      worktree_id: string;
    };

    body: ClaimWorktreeRequest;
    answer: Claim;
  };
  /** Release the claim of a session; after the last one the worktree may be removed. */
  'POST /v1/worktrees/{worktree_id}/release': {
    params: {
      /** The worktree. */
      worktree_id: string;
    };

    body: ReleaseWorktreeRequest;
    answer: ReleaseWorktreeResponse;
  };
  /** Remove the path and branch of a worktree without claims; work in it is archived first. */
  'POST /v1/worktrees/{worktree_id}/cleanup': {
    params: {
      /** The worktree. */
      worktree_id: string;
    };

    body?: CleanUpWorktreeRequest | undefined;
    answer: WorktreeCleanup;
  };
  /** Restore an archived worktree: its branch, its commits and its uncommitted changes. */
  'POST /v1/worktrees/{worktree_id}/restore': {
    params: {
      /** The worktree. */
      worktree_id: string;
    };

    body?: RestoreWorktreeRequest | undefined;
    answer: Worktree;
  };
  /** Clean up all worktrees without claims, or list them. */
  'POST /v1/worktrees/gc': {
    body?: CollectWorktreesRequest | undefined;
    answer: CollectWorktreesResponse;
  };
  /** How many worktrees there are, by status, and how many claims. */
  'GET /v1/diagnostics/worktrees': {
    answer: WorktreeDiagnostics;
  };
  /** Merge the branch of a worktree into another branch, or show what that would do. */
  'POST /v1/worktrees/{worktree_id}/merge': {
    params: {
      /** The worktree. */
      worktree_id: string;
    };

    body?: MergeWorktreeRequest | undefined;
    answer: WorktreeFinish;
  };
  /** Write the commits of a worktree again on top of a branch, or show what that would do. */
  'POST /v1/worktrees/{worktree_id}/rebase': {
    params: {
      /** The worktree. */
      worktree_id: string;
    };

    body?: RebaseWorktreeRequest | undefined;
    answer: WorktreeFinish;
  };
  /** Open a pull request with `gh` for the branch of a worktree, or show what that would do. */
  'POST /v1/worktrees/{worktree_id}/pull-request': {
    params: {
      /** The worktree. */
      worktree_id: string;
    };

    body?: OpenPullRequestRequest | undefined;
    answer: WorktreePullRequest;
  };
  /** List the contents of repositories that are allowed to run, newest first. */
  'GET /v1/worktree-trust': {
    query?:
      | {
          /** Only of this repository. */
          repo_root?: string | undefined;
          /** The maximum number of records. */
          limit?: number | undefined;
          /** Where the page begins: the X-Next-Cursor of the page before. */
          cursor?: string | undefined;
        }
      | undefined;

    answer: Array<TrustedContent>;
  };
  /** Allow content of a repository: an init script, a list of included files, or its filters. */
  'POST /v1/worktree-trust': {
    body: TrustContentRequest;
    answer: TrustedContent;
  };
  /** Show the contents of a repository that need a permission, and which of them are allowed. */
  'POST /v1/worktree-trust/look': {
    body: LookAtBroughtRequest;
    answer: BroughtContents;
  };
  /** Withdraw the permission to run content of a repository: one, or all. */
  'POST /v1/worktree-trust/withdraw': {
    body: UntrustContentRequest;
    answer: WithdrawnTrust;
  };
  /** Create a team of sessions. */
  'POST /v1/teams': {
    body: CreateTeamRequest;
    answer: CreateTeamResponse;
  };
  /** List teams, newest first; deleted ones too. */
  'GET /v1/teams': {
    query?:
      | {
          /** The maximum number of records. */
          limit?: number | undefined;
          /** Where the page begins: the X-Next-Cursor of the page before. */
          cursor?: string | undefined;
        }
      | undefined;

    answer: Array<Team>;
  };
  /** Read a team, with its members. */
  'GET /v1/teams/{team_id}': {
    params: {
      /** The team. */
      team_id: string;
    };

    answer: GetTeamResponse;
  };
  /** Delete a team; its sessions continue, and its messages stay readable. */
  'DELETE /v1/teams/{team_id}': {
    params: {
      /** The team. */
      team_id: string;
    };

    answer: undefined;
  };
  /** Add a session to a team. */
  'POST /v1/teams/{team_id}/members': {
    params: {
      /** The team. */
      team_id: string;
    };

    body: AddMemberRequest;
    answer: AddMemberResponse;
  };
  /** Remove a session from a team; its pending deliveries fail. */
  'DELETE /v1/teams/{team_id}/members/{agent_id}': {
    params: {
      /** The team. */
      team_id: string;
      /** The member: a session. */
      agent_id: string;
    };

    answer: RemoveMemberResponse;
  };
  /** Make a member the lead of a team. */
  'POST /v1/teams/{team_id}/lead': {
    params: {
      /** The team. */
      team_id: string;
    };

    body: SetLeadRequest;
    answer: SetLeadResponse;
  };
  /** Open a session as a new member of a team; if any step fails, nothing is left of it. */
  'POST /v1/teams/{team_id}/members/spawn': {
    params: {
      /** The team. */
      team_id: string;
    };

    body: SpawnMemberRequest;
    answer: SpawnedMember;
  };
  /** Send a message to a member; the response comes once it is stored. */
  'POST /v1/teams/{team_id}/messages': {
    params: {
      /** The team. */
      team_id: string;
    };

    body: SendMessageRequest;
    answer: SendMessageResponse;
  };
  /** List the messages of a team, newest first. */
  'GET /v1/teams/{team_id}/messages': {
    params: {
      /** The team. */
      team_id: string;
    };
    query?:
      | {
          /** The maximum number of records. */
          limit?: number | undefined;
          /** Where the page begins: the X-Next-Cursor of the page before. */
          cursor?: string | undefined;
        }
      | undefined;

    answer: Array<Message>;
  };
  /** Send a message to all members; the response comes once it is stored. */
  'POST /v1/teams/{team_id}/broadcasts': {
    params: {
      /** The team. */
      team_id: string;
    };

    body: BroadcastRequest;
    answer: BroadcastResponse;
  };
  /** Cancel the deliveries of a message that have not started. */
  'POST /v1/teams/{team_id}/messages/{message_id}/cancel': {
    params: {
      /** The team. */
      team_id: string;
      /** The message. */
      message_id: string;
    };

    body?: {} | undefined;
    answer: Message;
  };
  /** List the deliveries of a team, newest first. */
  'GET /v1/teams/{team_id}/deliveries': {
    params: {
      /** The team. */
      team_id: string;
    };
    query?:
      | {
          /** Only deliveries with this status; consumed: only those injected ones whose turn has completed. */
          status?:
            | 'pending'
            | 'deferred'
            | 'injecting'
            | 'injected'
            | 'failed'
            | 'cancelled'
            | 'consumed'
            | undefined;
          /** Only of this message. */
          message_id?: string | undefined;
          /** Only to this session. */
          recipient_agent_id?: string | undefined;
          /** The maximum number of records. */
          limit?: number | undefined;
          /** Where the page begins: the X-Next-Cursor of the page before. */
          cursor?: string | undefined;
        }
      | undefined;

    answer: Array<Delivery>;
  };
  /** Retry a delivery that failed or was deferred, or whose turn did not complete. */
  'POST /v1/teams/{team_id}/deliveries/{delivery_id}/retry': {
    params: {
      /** The team. */
      team_id: string;
      /** The delivery. */
      delivery_id: string;
    };

    body?: {} | undefined;
    answer: Delivery;
  };
  /** Interrupt the turns of all members. */
  'POST /v1/teams/{team_id}/interrupt-all': {
    params: {
      /** The team. */
      team_id: string;
    };

    body?: {} | undefined;
    answer: InterruptTeamResponse;
  };
  /** A team, its members and its last messages. */
  'GET /v1/teams/{team_id}/view': {
    params: {
      /** The team. */
      team_id: string;
    };
    query?:
      | {
          /** Whether the view contains the deliveries of its messages. */
          include_delivery_map?: boolean | undefined;
          /** The maximum number of messages. */
          message_limit?: number | undefined;
        }
      | undefined;

    answer: TeamView;
  };
  /** How many teams and messages there are, and deliveries by status. */
  'GET /v1/diagnostics/comms': {
    answer: CommsDiagnostics;
  };
  /** Replay events of a process. */
  'GET /v1/processes/{process_id}/events': {
    params: {
      /** The process. */
      process_id: string;
    };
    query?:
      | {
          /** Only events of these kinds; may be repeated. "turn.*" is every kind of that group. */
          kind?: Array<KindPattern> | undefined;
          /** Only events after this one. */
          after_seq?: number | undefined;
          /** How many at most; a page also ends at 8 MiB. */
          limit?: number | undefined;
          /** Only processes of this session; one with another owner, or with none, counts as not found. */
          session_id?: string | undefined;
        }
      | undefined;

    answer: Array<RuntimeEventRecord>;
  };
  /** Replay events of a team. */
  'GET /v1/teams/{team_id}/events': {
    params: {
      /** The team. */
      team_id: string;
    };
    query?:
      | {
          /** Only events of these kinds; may be repeated. "turn.*" is every kind of that group. */
          kind?: Array<KindPattern> | undefined;
          /** Only events after this one. */
          after_seq?: number | undefined;
          /** How many at most; a page also ends at 8 MiB. */
          limit?: number | undefined;
        }
      | undefined;

    answer: Array<RuntimeEventRecord>;
  };
  /** Replay events of the whole runtime. */
  'GET /v1/events': {
    query?:
      | {
          /** Only events of these kinds; may be repeated. "turn.*" is every kind of that group. */
          kind?: Array<KindPattern> | undefined;
          /** Only events after this one. */
          after_seq?: number | undefined;
          /** How many at most; a page also ends at 8 MiB. */
          limit?: number | undefined;
        }
      | undefined;

    answer: Array<RuntimeEventRecord>;
  };
  /** Replay events of a session. */
  'GET /v1/sessions/{session_id}/events': {
    params: {
      /** The session. */
      session_id: string;
    };
    query?:
      | {
          /** Only events of these kinds; may be repeated. "turn.*" is every kind of that group. */
          kind?: Array<KindPattern> | undefined;
          /** Only events after this one. */
          after_seq?: number | undefined;
          /** How many at most; a page also ends at 8 MiB. */
          limit?: number | undefined;
        }
      | undefined;

    answer: Array<RuntimeEventRecord>;
  };
  /** The tools that sessions may call at the moment. */
  'GET /v1/mcp/capabilities': {
    answer: Capabilities;
  };
  /** Call a tool as a session; an error of the tool is in the envelope, with status 200. */
  'POST /v1/mcp/invoke': {
    body: InvokeToolRequest;
    answer: ToolEnvelope;
  };
  /** Search prompts, answers, the input of tools and titles. */
  'GET /v1/search': {
    query?:
      | {
          /** Absent: whatever was said. Words that all have to be in the text, in any case and order. "in quotes": one after the other. word*: the beginning of a word. -word: what contains it is left out. */
          q?: string | undefined;
          /** Only texts of this kind. */
          kind?: 'prompt' | 'answer' | 'tool' | 'title' | undefined;
          /** Only this session. */
          session_id?: string | undefined;
          /** Only the members of this team. */
          team_id?: string | undefined;
          /** Only sessions of this provider. */
          provider?: ProviderId | undefined;
          /** Only sessions in this directory, or below it; an absolute path. */
          cwd?: string | undefined;
          /** Only what was said then or later. */
          since?: number | undefined;
          /** newest: what was said last comes first. best: the 400 newest that match, by how well they match; it has one page. */
          order?: 'newest' | 'best' | undefined;
          /** The maximum number of hits. A page may have fewer, because the time of a search is limited: there are more wherever there is an X-Next-Cursor. */
          limit?: number | undefined;
          /** Where the page begins: the X-Next-Cursor of the page before. */
          cursor?: string | undefined;
        }
      | undefined;

    answer: Array<SearchHit>;
  };
  /** How far the index of searches is. */
  'GET /v1/search/index': {
    answer: SearchIndex;
  };
  /** Delete the index of searches; the next search makes a new one. */
  'DELETE /v1/search/index': {
    answer: SearchIndex;
  };
  /** List the tokens that were created beside the API token, newest first. */
  'GET /v1/tokens': {
    query?:
      | {
          /** The maximum number of records. */
          limit?: number | undefined;
          /** Where the page begins: the X-Next-Cursor of the page before. */
          cursor?: string | undefined;
        }
      | undefined;

    answer: Array<Token>;
  };
  /** Create a token; accepts no Idempotency-Key. */
  'POST /v1/tokens': {
    body: CreateTokenRequest;
    answer: CreatedToken;
  };
  /** Revoke a token: its streams and the processes that it started as a caller of its own end, and requests with it are refused from now on. */
  'DELETE /v1/tokens/{token_id}': {
    params: {
      /** The token. */
      token_id: string;
    };

    answer: Token;
  };
  /** List the hooks of the configuration, with how far each has come. */
  'GET /v1/hooks': {
    answer: Array<Hook>;
  };
  /** Give a hook an example of its first kind at once, marked with `test: true`; its place in the log stays. */
  'POST /v1/hooks/{hook_name}/test': {
    params: {
      /** The hook. */
      hook_name: string;
    };

    answer: HookTest;
  };
  /** Have a hook never be given the event that it waits with, or all that wait. */
  'POST /v1/hooks/{hook_name}/skip': {
    params: {
      /** The hook. */
      hook_name: string;
    };

    body?: SkipHookRequest | undefined;
    answer: HookSkip;
  };
  /** Make a link that answers this approval once; accepts no Idempotency-Key. */
  'POST /v1/sessions/{session_id}/approvals/{approval_id}/link': {
    params: {
      /** The session. */
      session_id: string;
      /** The approval. */
      approval_id: string;
    };

    body?: LinkApprovalRequest | undefined;
    answer: ApprovalLink;
  };
}

/** The routes that answer with a stream or a file. */
export interface RawRoutes {
  /** Download a copy of the store, to be the events.cadre of a new data directory; accepts no Idempotency-Key. */
  'POST /v1/storage/backup': {
    answer: string;
  };
  /** Stream the output of a process as frames "log", and a frame "end" after its end. */
  'GET /v1/processes/{process_id}/logs/stream': {
    params: {
      /** The process. */
      process_id: string;
    };
    query?:
      | {
          /** Only processes of this session; one with another owner, or with none, counts as not found. */
          session_id?: string | undefined;
          /** The stream to follow. */
          stream?: 'stdout' | 'stderr' | undefined;
          /** The position to begin at. It takes precedence over Last-Event-ID, which is the position after the last frame. */
          from_byte?: number | undefined;
        }
      | undefined;

    answer: string;
  };
  /** Stream events of a process: stored ones first, then live ones. */
  'GET /v1/processes/{process_id}/events/stream': {
    params: {
      /** The process. */
      process_id: string;
    };
    query?:
      | {
          /** Only events of these kinds; may be repeated. "turn.*" is every kind of that group. */
          kind?: Array<KindPattern> | undefined;
          /** Only events after this one; a number wins over Last-Event-ID. "latest": only what is new; Last-Event-ID wins over it. */
          after_seq?: number | 'latest' | undefined;
          /** Only processes of this session; one with another owner, or with none, counts as not found. */
          session_id?: string | undefined;
        }
      | undefined;

    answer: string;
  };
  /** Stream events of a team: stored ones first, then live ones. */
  'GET /v1/teams/{team_id}/events/stream': {
    params: {
      /** The team. */
      team_id: string;
    };
    query?:
      | {
          /** Only events of these kinds; may be repeated. "turn.*" is every kind of that group. */
          kind?: Array<KindPattern> | undefined;
          /** Only events after this one; a number wins over Last-Event-ID. "latest": only what is new; Last-Event-ID wins over it. */
          after_seq?: number | 'latest' | undefined;
        }
      | undefined;

    answer: string;
  };
  /** Stream events of the whole runtime: stored ones first, then live ones. */
  'GET /v1/events/stream': {
    query?:
      | {
          /** Only events of these kinds; may be repeated. "turn.*" is every kind of that group. */
          kind?: Array<KindPattern> | undefined;
          /** Only events after this one; a number wins over Last-Event-ID. "latest": only what is new; Last-Event-ID wins over it. */
          after_seq?: number | 'latest' | undefined;
        }
      | undefined;

    answer: string;
  };
  /** Stream events of a session: stored ones first, then live ones. */
  'GET /v1/sessions/{session_id}/events/stream': {
    params: {
      /** The session. */
      session_id: string;
    };
    query?:
      | {
          /** Only events of these kinds; may be repeated. "turn.*" is every kind of that group. */
          kind?: Array<KindPattern> | undefined;
          /** Only events after this one; a number wins over Last-Event-ID. "latest": only what is new; Last-Event-ID wins over it. */
          after_seq?: number | 'latest' | undefined;
        }
      | undefined;

    answer: string;
  };
}
