import nodePath from 'node:path';
import type {
  ApprovalRule,
  Ruling,
  addApprovalRule,
  listApprovalRules,
  testApprovalRules,
} from '../api/approval-rules.ts';
import type { BodyOf, QueryOf } from '../api/endpoint.ts';
import type { Session } from '../api/sessions.ts';
import { AppError } from '../errors.ts';
import type { Clock } from '../lib/clock.ts';
import type { Ids } from '../lib/ids.ts';
import type { Logger } from '../lib/log.ts';
import type { AgentRequest } from '../providers/provider.ts';
import { workingDirectory } from '../sessions/working-directory.ts';
import type { Database } from '../store/database.ts';
import { type Keep, keepNothing } from '../store/kept-answers.ts';
import { type RecordPage, RecordTable } from '../store/records.ts';
import { readPattern } from './command-pattern.ts';
import { rule, ruleText } from './ruling.ts';
import { commandIn, fileIn, type Wish, wishOf } from './wish.ts';

/** The maximum number of rules, because all of them are in memory. */
const MAX_RULES = 1000;

interface RuleServiceDependencies {
  db: Database;
  clock: Clock;
  ids: Ids;
  logger: Logger;
}

/** The rules that decide requests of agents instead of a person. */
export class RuleService {
  readonly #given: RuleServiceDependencies;
  readonly #table: RecordTable<ApprovalRule>;
  #rules: readonly ApprovalRule[];

  constructor(given: RuleServiceDependencies) {
    this.#given = given;
    this.#table = new RecordTable(given.db, 'approval_rules', ({ id }) => id);
    this.#rules = given.db.peek((rx) => this.#table.where(rx, 'true'));
  }

  /** Decides a request of an agent of the session. */
  decide(request: AgentRequest, session: Pick<Session, 'provider' | 'cwd'>): Ruling {
    if (this.#rules.length === 0) return { effect: 'ask', rule: null, why: 'there are no rules' };
    return rule(this.#rules, wishOf(request, session));
  }

  /** Says what would be decided. Throws `invalid` for a directory that does not exist. */
  async test(asked: BodyOf<typeof testApprovalRules>): Promise<Ruling> {
    const cwd = await workingDirectory(asked.cwd);
    const { command = null, path = null } = asked;
    const wish: Wish = {
      provider: asked.provider ?? null,
      tool: asked.tool ?? null,
      kind: command !== null ? 'command' : path !== null ? 'file_change' : 'tool',
      cwd,
      commands: command === null ? [] : [commandIn(command, cwd, cwd)],
      files: path === null ? [] : [fileIn(nodePath.resolve(cwd, path), cwd)],
      rest: null,
    };
    return rule(this.#rules, wish);
  }

  list({ limit, cursor }: QueryOf<typeof listApprovalRules>): Promise<RecordPage<ApprovalRule>> {
    return this.#given.db.read((rx) => this.#table.page(rx, {}, limit, cursor));
  }

  /** Adds a rule. Throws `invalid` if it would decide everything, or allow more than it says, and `conflict` at 1000 rules. */
  async add(
    body: BodyOf<typeof addApprovalRule>,
    by: string,
    keep: Keep = keepNothing,
  ): Promise<ApprovalRule> {
    const { db, clock, ids, logger } = this.#given;
    const {
      effect,
      provider = null,
      tool = null,
      command = null,
      path = null,
      reason = null,
    } = body;
    const directory = body.directory ? await workingDirectory(absolute(body.directory)) : null;
    const made = { effect, provider, tool, command, path, directory, reason };
    assertUsable(made);
    const added = { id: ids.next('rule'), ...made, created_by: by, created_at: clock.now() };
    await db.transact((tx) => {
      if (this.#table.where(tx, 'true').length >= MAX_RULES)
        throw new AppError(
          'conflict',
          `there are ${MAX_RULES} rules, which is the maximum: remove some`,
        );
      this.#table.insert(tx, added);
      keep(tx, added);
      tx.whenDurable(() => (this.#rules = [...this.#rules, added]));
    });
    logger.info({ rule_id: added.id, rule: ruleText(added), by }, 'a rule for approvals was added');
    return added;
  }

  /** Removes a rule. Throws `not_found`. */
  async remove(id: string, by: string): Promise<ApprovalRule> {
    const removed = await this.#given.db.transact((tx) => {
      const found = this.#table.get(tx, id);
      if (!found) throw new AppError('not_found', `no rule "${id}"`);
      this.#table.deleteWhere(tx, 'id = ?', id);
      tx.whenDurable(() => (this.#rules = this.#rules.filter((one) => one.id !== id)));
      return found;
    });
    this.#given.logger.info(
      { rule_id: id, rule: ruleText(removed), by },
      'a rule for approvals was removed',
    );
    return removed;
  }
}

function absolute(directory: string): string {
  if (directory.startsWith('/')) return directory;
  throw new AppError('invalid', `body.directory: "${directory}" is no absolute path`);
}

/** Throws `invalid` for a rule without a condition of its own, or one that allows more than people would think. */
function assertUsable({
  effect,
  command,
  path,
  tool,
  directory,
}: Pick<ApprovalRule, 'effect' | 'command' | 'path' | 'tool' | 'directory'>): void {
  if ((command ?? path ?? tool ?? directory) === null)
    throw new AppError('invalid', 'body: a rule needs a command, a path, a tool or a directory');
  if (command !== null && path !== null)
    throw new AppError('invalid', 'body: a rule is for a command or for a path: make two of it');
  if (effect === 'allow' && (command ?? path ?? tool) === null)
    throw new AppError('invalid', 'body: to allow, a rule needs a command, a path or a tool');
  if (command === null) return;
  const pattern = readPattern(command, effect === 'allow' ? 'strict' : 'any');
  if ('why' in pattern) throw new AppError('invalid', `body.command: ${pattern.why}`);
}
