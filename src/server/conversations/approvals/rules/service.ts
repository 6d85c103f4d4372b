import nodePath from 'node:path';
import type {
  ApprovalRule,
  RuleDecision,
  addApprovalRule,
  listApprovalRules,
  testApprovalRules,
} from '../../../../api/approval-rules.ts';
import type { BodyOf, QueryOf } from '../../../../api/endpoint.ts';
import type { Session } from '../../../../api/sessions.ts';
import { conflictError, invalidError } from '../../../../api/errors.ts';
import type { AgentRequest } from '../../../../agents/provider.ts';
import { workingDirectory } from '../../sessions/working-directory.ts';
import type { ServerParts } from '../../../../core/events/server-parts.ts';
import type { SaveResponse } from '../../../../core/store/idempotency-store.ts';
import { type RecordPage, RecordTable } from '../../../../core/store/records.ts';
import { evaluateRules, ruleText } from './evaluate-rules.ts';
import { CommandNames, RealPaths } from './real-paths.ts';
import {
  type Lookups,
  type RequestedAction,
  commandIn,
  fileIn,
  requestedActionOf,
} from './requested-action.ts';
import { readPattern, whyNothingFits } from './command-pattern.ts';

/** The maximum number of rules, because all of them are in memory. */
const MAX_RULES = 1000;

/** How often the rules are evaluated for one request, each time with more of the names that they ask for. */
const MAX_ROUNDS = 5;

interface RuleServiceDeps extends Pick<ServerParts, 'db' | 'clock' | 'ids' | 'logger'> {}

/** The rules that decide requests of agents instead of a person. */
export class RuleService {
  readonly #deps: RuleServiceDeps;
  readonly #table: RecordTable<StoredRule>;
  readonly #realPaths: RealPaths;
  #rules: readonly ApprovalRule[];

  constructor(deps: RuleServiceDeps) {
    this.#deps = deps;
    this.#table = new RecordTable(deps.db, 'approval_rules', ({ id }) => id);
    this.#realPaths = new RealPaths(deps);
    this.#rules = deps.db.peek((rx) => this.#table.all(rx).map(withRefusal));
  }

  /** Decides a request of an agent of the session. A path that cannot be looked up in time is allowed by no rule. */
  async decide(
    request: AgentRequest,
    session: Pick<Session, 'provider' | 'cwd'>,
  ): Promise<RuleDecision> {
    if (this.#rules.length === 0) return { effect: 'ask', rule: null, why: 'there are no rules' };
    return this.#evaluate((lookups) => requestedActionOf(request, session, lookups));
  }

  /** Resolves with the decision about a described request. Throws `invalid` for a directory that does not exist. */
  async test(asked: BodyOf<typeof testApprovalRules>): Promise<RuleDecision> {
    const cwd = await workingDirectory(asked.cwd);
    const { command = null, path = null } = asked;
    return this.#evaluate(async ({ realPath, names }) => ({
      provider: asked.provider ?? null,
      tool: asked.tool ?? null,
      kind: command !== null ? 'command' : path !== null ? 'file_change' : 'tool',
      cwd,
      commands: command === null ? [] : [commandIn(command, cwd, { sessionCwd: cwd, names })],
      files: path === null ? [] : [await fileIn(nodePath.resolve(cwd, path), cwd, realPath)],
      rest: null,
    }));
  }

  /** Evaluates the rules, and once more wherever they have asked for names in commands that had to be looked up. */
  #evaluate(read: (lookups: Lookups) => Promise<RequestedAction>): Promise<RuleDecision> {
    return this.#realPaths.within(async (realPath) => {
      const names = new CommandNames();
      const action = await read({ realPath, names });
      for (let round = 1; ; round++) {
        if (round === MAX_ROUNDS) names.close();
        const decision = evaluateRules(this.#rules, action);
        if (!(await names.lookUp(realPath))) return decision;
      }
    });
  }

  async list(query: QueryOf<typeof listApprovalRules>): Promise<RecordPage<ApprovalRule>> {
    const { limit, cursor } = query;
    const page = await this.#deps.db.read((rx) => this.#table.page(rx, {}, limit, cursor));
    return { ...page, records: page.records.map(withRefusal) };
  }

  /** Adds a rule, or updates the one of the same conditions. Throws `invalid`, and `conflict` at 1000 rules. */
  async add(
    body: BodyOf<typeof addApprovalRule>,
    by: string,
    saveResponse?: SaveResponse,
  ): Promise<ApprovalRule> {
    const { db, clock, ids, logger } = this.#deps;
    const {
      effect,
      provider = null,
      tool = null,
      command = null,
      path = null,
      reason = null,
      i_know = false,
    } = body;
    const directory = body.directory ? await workingDirectory(absolute(body.directory)) : null;
    const made = { effect, provider, tool, command, path, directory, reason, i_know };
    assertUsable(made);
    const conditions = conditionsOf(made);
    const { isNew, rule: added } = await db.transact((tx) => {
      const stored = this.#table.all(tx);
      const same = stored.find((one) => conditionsOf(one) === conditions);
      if (!same && stored.length >= MAX_RULES)
        throw conflictError(
          `cannot add a rule, because the server already has the maximum of ${MAX_RULES} rules: remove a rule first`,
        );
      const record: StoredRule = same
        ? { ...same, reason: reason ?? same.reason, i_know: i_know || same.i_know === true }
        : { id: ids.next('rule'), ...made, created_by: by, created_at: clock.now() };
      if (same) this.#table.update(tx, record);
      else this.#table.insert(tx, record);
      const rule = withRefusal(record);
      saveResponse?.(tx, rule);
      tx.whenDurable(() => {
        this.#rules = same
          ? this.#rules.map((one) => (one.id === rule.id ? rule : one))
          : [...this.#rules, rule];
      });
      return { isNew: !same, rule };
    });
    if (isNew)
      logger.info({ rule_id: added.id, rule: ruleText(added), by }, 'an approval rule was added');
    return added;
  }

  /** Removes a rule, and all of the same conditions that an earlier version stored. Throws `not_found`. */
  async remove(id: string, by: string): Promise<ApprovalRule> {
    const removed = await this.#deps.db.transact((tx) => {
      const found = this.#table.require(tx, id, 'rule');
      const conditions = conditionsOf(found);
      const same = this.#table
        .all(tx)
        .filter((one) => conditionsOf(one) === conditions)
        .map((one) => one.id);
      for (const one of same) this.#table.delete(tx, one);
      tx.whenDurable(() => (this.#rules = this.#rules.filter((one) => !same.includes(one.id))));
      return withRefusal(found);
    });
    this.#deps.logger.info(
      { rule_id: id, rule: ruleText(removed), by },
      'an approval rule was removed',
    );
    return removed;
  }
}

/** A rule as it is stored: earlier versions stored no `i_know`. */
type StoredRule = Pick<
  ApprovalRule,
  | 'id'
  | 'effect'
  | 'provider'
  | 'tool'
  | 'command'
  | 'path'
  | 'directory'
  | 'reason'
  | 'created_by'
  | 'created_at'
> & { i_know?: boolean };

/** A stored rule as it decides: one to allow that could not be added now asks a person. */
function withRefusal(stored: StoredRule): ApprovalRule {
  const rule = { ...stored, i_know: stored.i_know ?? false, refused: null };
  const refusal = refusalOf(rule);
  if (refusal === null) return rule;
  if (rule.effect !== 'allow') return { ...rule, refused: refusal.why };
  return {
    ...rule,
    effect: 'ask',
    refused: `the rule was added with effect allow, but now asks instead: ${refusal.why}`,
  };
}

function absolute(directory: string): string {
  if (directory.startsWith('/')) return directory;
  throw invalidError(`body.directory: "${directory}" is not an absolute path`);
}

/** Throws `invalid` for a rule without a condition of its own, or one that allows more than people would think. */
function assertUsable({
  effect,
  command,
  path,
  tool,
  directory,
  i_know,
}: Pick<ApprovalRule, 'effect' | 'command' | 'path' | 'tool' | 'directory' | 'i_know'>): void {
  if ((command ?? path ?? tool ?? directory) === null)
    throw invalidError('body: a rule requires a command, a path, a tool or a directory');
  if (command !== null && path !== null)
    throw invalidError('body: a rule cannot have both a command and a path: add one rule for each');
  if (effect === 'allow' && (command ?? path ?? tool) === null)
    throw invalidError('body: a rule with effect allow requires a command, a path or a tool');
  const refusal = refusalOf({ effect, command, path, i_know });
  if (refusal !== null) throw invalidError(`body.${refusal.field}: ${refusal.why}`);
}

type Conditions = Pick<ApprovalRule, 'effect' | 'command' | 'path' | 'i_know'>;

interface Refusal {
  field: 'command' | 'path';
  why: string;
}

/** Why a rule can match nothing, or would allow more than it says; null if neither. */
function refusalOf({ effect, command, path: file, i_know }: Conditions): Refusal | null {
  if (file !== null) {
    const why = whyNoFile(file);
    return why === null ? null : { field: 'path', why };
  }
  if (command === null) return null;
  const why = whyNothingFits(command);
  if (why !== null) return { field: 'command', why };
  const pattern = readPattern(command, effect === 'allow' ? 'strict' : 'any', i_know);
  return 'why' in pattern ? { field: 'command', why: pattern.why } : null;
}

/** Why no file fits a pattern of paths; null if some may. */
function whyNoFile(pattern: string): string | null {
  const names = pattern.split('/');
  if (names[0]?.startsWith('~') === true)
    return 'a path that starts with "~" never matches: use the absolute path';
  if (/^(["']).*\1$/.test(pattern))
    return 'a path with quotes never matches, because rules do not read quotes: leave them out';
  const open = names.findIndex((name) => name.includes('*'));
  if (open >= 0 && names.indexOf('..', open) >= 0)
    return '".." after * never matches: write the path without ".."';
  const shortest = nodePath.posix.normalize(pattern).replace(/(?<=.)\/$/, '');
  if (shortest === '/' || shortest === '.' || shortest.split('/').at(-1) === '..')
    return `"${pattern}" is a directory, so the rule never matches: add /** for all files below it`;
  if (pattern.endsWith('/'))
    return `a path that ends with "/" never matches: use ${shortest}/** for all files below it`;
  if (pattern.startsWith('/') && pattern !== shortest)
    return `the rule never matches: the path has to be written as ${shortest}`;
  return null;
}

function conditionsOf(
  rule: Pick<ApprovalRule, 'effect' | 'provider' | 'tool' | 'command' | 'path' | 'directory'>,
): string {
  const { effect, provider, tool, command, path: file, directory } = rule;
  const words = command?.split(/[ \t]+/).filter((word) => word !== '') ?? null;
  const names = file === null ? null : nodePath.posix.normalize(file);
  return JSON.stringify([effect, provider, tool, words, names, directory]);
}
