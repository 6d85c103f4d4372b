import { z } from 'zod';
import { pageQuery, timestamp } from './common.ts';
import { endpoint } from './endpoint.ts';
import { providerId } from './provider-kinds.ts';

export const ruleEffect = z.enum(['allow', 'ask', 'deny']).meta({
  id: 'RuleEffect',
  description:
    'What a rule does with a request that fits it. `deny`: it is declined. `ask`: a person decides, whatever other ' +
    'rules allow. `allow`: it is accepted for once. Of the rules that fit, `deny` wins over `ask`, and `ask` over `allow`.',
});

const text = (most: number) =>
  z
    .string()
    .trim()
    .min(1)
    .max(most)
    .regex(/^[^\u0000-\u001f\u007f-\u009f]*$/, 'has to be without control characters');

const conditions = {
  provider: providerId.nullable().describe('Only requests of agents of this provider.'),
  tool: z
    .string()
    .nullable()
    .describe(
      'Only requests to use the tool of this name. Agents of claude name all their tools, calls of cadre’s own tools have ' +
        'the name of the tool; agents of acp and codex name none.',
    ),
  command: z
    .string()
    .nullable()
    .describe(
      'Only requests to run one simple command whose words fit these. `*` stands for one word, or for a part of one; ' +
        '`**` at the end for any number of words. To allow, a `*` at the start of a word stands for no option, assignment or ' +
        'address, and no `*` for a hidden file, a path that leads out of the directory of the command, or files of git and ' +
        'agents.',
    ),
  path: z
    .string()
    .nullable()
    .describe(
      'Only requests to change files that all fit this path, below the directory of the session if it does not begin ' +
        'with `/`. `*` stands for any part of a name, `**` for any number of names. To allow, neither stands ' +
        'for a hidden name: the rule has to write its dot, and all of the name of a file of git or an agent (`.git`).',
    ),
  directory: z
    .string()
    .nullable()
    .describe(
      'Only requests in this directory or below it: the one that a command would run in, else that of the session. ' +
        'Without it, a command is allowed in the directory of the session alone.',
    ),
};

const iKnow = z
  .boolean()
  .describe(
    'Whether a person confirms that a `*` is harmless behind this program, which is not on the list of known safe ones.',
  );

export const approvalRule = z
  .looseObject({
    id: z.string(),
    effect: ruleEffect,
    ...conditions,
    i_know: iKnow,
    refused: z
      .string()
      .nullable()
      .describe(
        'Why a rule that an earlier version stored could not be added now. Its `effect` is `ask` if it was added as ' +
          '`allow`. Null if the rule could be added.',
      ),
    reason: z
      .string()
      .nullable()
      .describe('Why there is this rule. An agent is told it if its request is declined.'),
    created_by: z.string().describe('The token that it was made with.'),
    created_at: timestamp,
  })
  .meta({
    id: 'ApprovalRule',
    description:
      'Decides requests of agents without asking a person. A request fits if it fits all conditions that are not null.',
  });
export type ApprovalRule = z.output<typeof approvalRule>;

export const ruling = z
  .looseObject({
    effect: ruleEffect,
    rule: approvalRule
      .nullable()
      .describe('The rule that decides; null if none does, so that a person is asked.'),
    why: z.string().describe('Why it is so, for people.'),
  })
  .meta({ id: 'Ruling', description: 'What the rules decide about a request.' });
export type RuleDecision = z.output<typeof ruling>;

export const listApprovalRules = endpoint({
  method: 'GET',
  path: '/v1/approval-rules',
  summary: 'List the rules that decide approvals, newest first',
  query: pageQuery,
  response: z.array(approvalRule),
});

export const addApprovalRule = endpoint({
  method: 'POST',
  path: '/v1/approval-rules',
  summary:
    'Add a rule that decides approvals from now on, or return the existing one; needs `tool`, `command`, `path` or `directory`',
  body: z.strictObject({
    effect: ruleEffect,
    provider: providerId.nullish(),
    tool: text(200)
      .nullish()
      .describe(conditions.tool.description ?? ''),
    command: text(2000)
      .nullish()
      .describe(conditions.command.description ?? ''),
    path: text(2000)
      .nullish()
      .describe(conditions.path.description ?? ''),
    directory: text(4096)
      .nullish()
      .describe('An existing directory, as an absolute path. Its real path is stored.'),
    i_know: iKnow
      .optional()
      .describe(`${iKnow.description ?? ''} Absent: false, and such a rule to allow is refused.`),
    reason: text(500).nullish(),
  }),
  response: approvalRule,
  errors: ['conflict'],
});

export const removeApprovalRule = endpoint({
  method: 'DELETE',
  path: '/v1/approval-rules/{rule_id}',
  summary: 'Remove a rule and all with the same conditions; decisions that were made by it stay',
  params: { rule_id: z.string().describe('The rule.') },
  response: approvalRule,
  errors: ['not_found'],
});

export const testApprovalRules = endpoint({
  method: 'POST',
  path: '/v1/approval-rules/test',
  summary: 'What the rules would decide about a command, a changed file or a tool; changes nothing',
  body: z.strictObject({
    command: z
      .string()
      .max(65_536)
      .nullish()
      .describe('The whole command, as an agent would show it.'),
    path: z.string().min(1).max(4096).nullish().describe('A file that would be changed.'),
    tool: z.string().min(1).max(200).nullish(),
    provider: providerId
      .nullish()
      .describe('The provider of the agent; without it, rules for one provider do not fit.'),
    cwd: z
      .string()
      .nullish()
      .describe('The directory of session and command; the default is that of the server.'),
  }),
  response: ruling,
});
