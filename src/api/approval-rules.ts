import { z } from 'zod';
import { component, nullableText, optionalText, pageQuery, text, timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';
import { providerId } from './provider-kinds.ts';

export const ruleEffect = z.enum(['allow', 'ask', 'deny']).meta({
  id: 'RuleEffect',
  description:
    'Effect of a rule on a matching request. `deny`: the request is declined. `ask`: a user decides, even if other rules allow the request. `allow`: the request is accepted once. If several rules match, `deny` takes precedence over `ask`, and `ask` over `allow`.',
});

const textUpTo = (most: number) =>
  z
    .string()
    .trim()
    .min(1)
    .max(most)
    .regex(/^[^\u0000-\u001f\u007f-\u009f]*$/, 'must not contain control characters');

const conditions = {
  provider: providerId
    .nullable()
    .describe('Match only requests of agents of this provider. Null matches every provider.'),
  tool: nullableText(
    'Match only requests to use the tool with this name. Agents of claude name all their tools, and calls of cadre’s own tools have the name of the tool. Agents of acp and codex name no tools.',
  ),
  command: nullableText(
    'Match only requests to run one simple command whose words match this pattern. `*` matches one word or a part of one. `**` at the end matches any number of words. In an `allow` rule, a `*` at the start of a word does not match an option, assignment or address. No `*` in an `allow` rule matches hidden files, paths outside the directory of the command, or files of git and agents.',
  ),
  path: nullableText(
    'Match only requests whose changed files all match this path. A path that does not start with `/` is relative to the directory of the session. `*` matches any part of a name, `**` any number of names. In an `allow` rule, neither matches a hidden name: the rule must contain its dot. Files of git or an agent (such as `.git`) need their full name.',
  ),
  directory: nullableText(
    'Match only requests in this directory or below it. The directory of a request is the working directory of its command, or else of the session. If null, an `allow` rule for commands applies only in the directory of the session.',
  ),
};

const iKnow = z.boolean().meta({
  description:
    'Whether a user confirms that any arguments matched by `*` are safe for this program. Needed for programs that are not on the list of known safe programs.',
});

export const approvalRule = component(
  'ApprovalRule',
  'A rule that decides requests of agents without a user. A rule matches a request if all its conditions that are not null match.',
  {
    id: z.string(),
    effect: ruleEffect,
    ...conditions,
    i_know: iKnow,
    refused: nullableText(
      'Reason why a rule stored by an earlier version would be refused now. Its `effect` is `ask` if it was added as `allow`. Null if the rule is valid.',
    ),
    reason: nullableText('Reason for the rule. An agent receives it when its request is declined.'),
    created_by: text('Token that created the rule.'),
    created_at: timestamp,
  },
);
export type ApprovalRule = z.output<typeof approvalRule>;

export const ruleDecision = component('RuleDecision', 'Decision of the rules about a request.', {
  effect: ruleEffect,
  rule: approvalRule
    .nullable()
    .describe('Rule that decides. Null if no rule matches, so that a user decides.'),
  why: text('Explanation of the decision, for users to read.'),
});
export type RuleDecision = z.output<typeof ruleDecision>;

export const listApprovalRules = endpoint('GET /v1/approval-rules', {
  summary: 'List approval rules, newest first',
  query: pageQuery,
  response: z.array(approvalRule),
});

export const addApprovalRule = endpoint('POST /v1/approval-rules', {
  summary:
    'Add an approval rule, or update the rule with the same conditions; requires `tool`, `command`, `path` or `directory`',
  body: z.strictObject({
    effect: ruleEffect,
    provider: providerId.nullish(),
    tool: textUpTo(200)
      .nullish()
      .describe(conditions.tool.description ?? ''),
    command: textUpTo(2000)
      .nullish()
      .describe(conditions.command.description ?? ''),
    path: textUpTo(2000)
      .nullish()
      .describe(conditions.path.description ?? ''),
    directory: textUpTo(4096)
      .nullish()
      .describe('Absolute path of an existing directory. The real path is stored.'),
    i_know: iKnow.optional().meta({
      description: `${iKnow.description ?? ''} Default: false, and an \`allow\` rule that needs the confirmation is refused.`,
    }),
    reason: textUpTo(500).nullish(),
  }),
  response: approvalRule,
  errors: ['conflict'],
});

export const removeApprovalRule = endpoint('DELETE /v1/approval-rules/{rule_id}', {
  summary: 'Remove a rule and all rules with the same conditions; earlier decisions remain valid',
  params: { rule_id: text('Rule id.') },
  response: approvalRule,
});

export const testApprovalRules = endpoint('POST /v1/approval-rules/test', {
  summary:
    'Show the decision of the rules about a command, a changed file or a tool, without any effect',
  body: z.strictObject({
    command: z.string().max(65_536).nullish().meta({
      description: 'Complete command, as an agent would show it.',
    }),
    path: z.string().min(1).max(4096).nullish().describe('File that would be changed.'),
    tool: z.string().min(1).max(200).nullish(),
    provider: providerId
      .nullish()
      .describe('Provider of the agent. If absent, rules for one provider do not match.'),
    cwd: optionalText(
      'Working directory of the session and the command. Default: the working directory of the server.',
    ),
  }),
  response: ruleDecision,
});
