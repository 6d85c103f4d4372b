import { endpoints } from '../../../api/index.ts';
import type { RuleService } from '../../conversations/approvals/rules/service.ts';
import { type Mount, onePage, senderOf } from '../mount.ts';

/** The rules that decide approvals. */
export function approvalRuleRoutes(mount: Mount, rules: RuleService): void {
  mount(endpoints.listApprovalRules, async ({ query, setHeader }) =>
    onePage(await rules.list(query), setHeader),
  );
  mount(endpoints.addApprovalRule, ({ body, bearer, saveResponse }) =>
    rules.add(body, senderOf({ bearer }), saveResponse),
  );
  mount(endpoints.removeApprovalRule, ({ params, bearer }) =>
    rules.remove(params.rule_id, senderOf({ bearer })),
  );
  mount(endpoints.testApprovalRules, ({ body }) => rules.test(body));
}
