import { expect, test } from 'vitest';
import { isPermissive } from '../../../src/agents/acp/modes.ts';

test.each<[id: string, name: string, description: string | null]>([
  ['bypassPermissions', 'Bypass', null],
  ['yolo', 'YOLO', null],
  ['m1', 'Auto-approve', ''],
  ['autoApprove', 'Hands off', null],
  ['m1', 'Agent (full access)', null],
  ['agent-full-access', 'Agent', null],
  ['dangerously-skip', 'D', null],
  ['never', 'Never', null],
  ['m1', "Don't ask", null],
  ['noConfirm', 'Quick', null],
  ['m1', 'Allow all', null],
  ['m1', 'X', 'Edits files with full access to the network. Exercise caution.'],
  ['m1', 'Fast', 'Never asks for approval'],
  ['m1', 'Fast', 'Runs every tool without asking for confirmation'],
  ['m1', 'Fast', 'Commands run without any user approval'],
  ['m1', 'Wild', 'Automatically approves all tool calls'],
  ['m1', 'Free', 'No approval is required for anything'],
  ['m1', 'Free', "Doesn't ask before it runs commands"],
  ['m1', 'Free', 'Skips all permission prompts'],
  ['m1', 'Trust', 'Approves all actions'],
  ['m1', 'Hot', 'Bypasses the permission checks of the user'],
  ['m1', 'W', 'Dangerous: commands run unrestricted'],
])('The mode %s "%s" (%s) counts as a mode that never asks.', (id, name, description) => {
  expect(isPermissive({ id, name, description })).toBe(true);
});

test.each<[id: string, name: string, description: string | null]>([
  ['default', 'Always Ask', 'Prompts for permission on first use of each tool'],
  ['acceptEdits', 'Accept Edits', 'Automatically accepts file edit permissions for the session'],
  ['plan', 'Plan Mode', 'The agent can analyze but not modify files or execute commands'],
  ['read-only', 'Read Only', 'Requires approval to edit files and run commands.'],
  ['autoEdit', 'Auto Edit', 'Approves edits; asks before other tools'],
  ['automation', 'Automation', 'Writes automation scripts'],
  ['ask', 'Ask', 'Asks before dangerous operations'],
  ['m1', 'Default', 'Asks for permission before dangerous or unrestricted commands'],
  ['m1', 'Careful', 'Never runs commands without approval'],
  ['m1', 'Careful', 'Does nothing without asking'],
  ['m1', 'Manual', 'No action is taken without your permission'],
  ['m1', 'S', 'Full access needs approval each time'],
  ['code', 'Code', 'Write and modify code with full tool access'],
  ['m1', 'Chat', 'No tools'],
])('The mode %s "%s" (%s) does not count as a mode that never asks.', (id, name, description) => {
  expect(isPermissive({ id, name, description })).toBe(false);
});
