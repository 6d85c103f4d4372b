import type { Item } from '../../../api/sessions.ts';
import type { ToolChange } from '../../../agents/provider.ts';

export type ToolItem = Item & { tool: NonNullable<Item['tool']> };
export type ToolStatus = NonNullable<ToolChange['status']>;

export interface OpenTool {
  item: ToolItem;
  status: ToolStatus;
}

export function changedTool(item: ToolItem, change: ToolChange): ToolItem {
  const tool = { ...item.tool };
  if (change.title !== undefined) tool.title = change.title;
  if (change.kind !== undefined) tool.kind = change.kind;
  if (change.input !== undefined) tool.input = change.input;
  if (change.locations !== undefined) tool.locations = change.locations;
  if (change.diffs !== undefined) tool.diffs = change.diffs;
  return { ...item, tool, text: change.output ?? item.text };
}

/** The most tools that one transaction closes, and the most code units of their texts and inputs in it. */
const CLOSED_AT_ONCE = 500;
const CLOSED_UNITS = 256 * 1024;

/** The first of the open tools that one transaction closes; null if it closes all. */
export function someTools(tools: ReadonlyMap<string, OpenTool>): [string, OpenTool][] | null {
  const some: [string, OpenTool][] = [];
  let units = 0;
  for (const one of tools) {
    if (some.length >= CLOSED_AT_ONCE || units >= CLOSED_UNITS) return some;
    units += one[1].item.text.length + JSON.stringify(one[1].item.tool).length;
    some.push(one);
  }
  return null;
}
