import { expect, test } from 'vitest';
import type { RequestPermissionRequest } from '@agentclientprotocol/sdk/unstable';
import type { Approval } from '../../../src/api/approvals.ts';
import { endpoints } from '../../../src/api/index.ts';
import { ApprovalRelay } from '../../../src/frontends/editor/approval-relay.ts';

type Given = ConstructorParameters<typeof ApprovalRelay>[0];

const approval = {
  id: 'apr_1',
  kind: 'command',
  title: 'Shell',
  status: 'pending',
  details: [],
  scopes: ['once'],
  session_allows: null,
  request: {},
};

/** Sends an approval to an editor that answers with these options, one after the other. */
async function answered(more: Partial<Approval>, ...options: string[]) {
  const asked: RequestPermissionRequest[] = [];
  const decided = Promise.withResolvers<unknown>();
  const relay = new ApprovalRelay({
    sessionId: 's',
    hasForms: false,
    callOf: () => null,
    noteChanges: () => undefined,
    update: () => Promise.resolve(),
    warn: (text: string) => decided.reject(new Error(text)),
    link: {
      call: async (endpoint: unknown, { body }: { body?: unknown }) =>
        endpoint === endpoints.getApproval ? { ...approval, ...more } : decided.resolve(body),
    },
    editor: {
      request: async (_method: unknown, params: RequestPermissionRequest) => ({
        outcome: { outcome: 'selected', optionId: options[asked.push(params) - 1] },
      }),
    },
  } as unknown as Given);
  relay.requested(approval.id);
  return { decision: await decided.promise, asked };
}

test('An editor confirms twice, with the reason, before it accepts an action without a description.', async () => {
  const missing = { arguments_missing: true };
  const accepted = await answered(missing, 'once', 'once');
  expect(accepted.decision).toEqual({ decision: 'accept' });
  expect(accepted.asked).toHaveLength(2);
  for (const { toolCall } of accepted.asked)
    expect(JSON.stringify(toolCall.content)).toContain('does not say what this request would do');
  expect((await answered(missing, 'once', 'reject')).decision).toEqual({ decision: 'decline' });
  expect((await answered(missing, 'reject')).asked).toHaveLength(1);
});

test('An editor confirms a described action once.', async () => {
  const { decision, asked } = await answered({}, 'once');
  expect([decision, asked.length]).toEqual([{ decision: 'accept' }, 1]);
});
