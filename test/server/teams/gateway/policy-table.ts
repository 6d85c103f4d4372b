import { policyTable, type Row } from '../../../../src/server/teams/gateway/tool-policy-table.ts';

/** The modes of each column of the table. */
export const columns = [
  { kind: 'read_only', modes: ['read_only'] },
  { kind: 'asks', modes: [null, 'default', 'require_approval', 'a-mode-of-its-agent'] },
  { kind: 'writes', modes: ['workspace_write', 'accept_edits'] },
  { kind: 'full', modes: ['full_access', 'bypass'] },
] as const;

/** Every row of the tool policy, in order. */
export const rows: { tool: string; action: string; row: Row }[] = Object.entries(
  policyTable,
).flatMap(([tool, actions]) =>
  Object.entries(actions).map(([action, row]: [string, Row]) => ({ tool, action, row })),
);

/** The tool policy as the table of docs/permissions.md. */
export function asMarkdown(): string {
  const head = [
    'Tool',
    'Effect',
    '`read_only`',
    'null, `default`, `require_approval`, any other',
    '`workspace_write`, `accept_edits`',
    '`full_access`, `bypass`',
  ];
  const lines = rows.map(({ tool, action, row }) => [
    `\`${tool}\``,
    action.replaceAll('_', ' '),
    ...columns.map(({ kind }) => row[kind]),
  ]);
  return [head, head.map(() => '---'), ...lines]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n');
}
