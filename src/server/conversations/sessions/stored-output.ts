import type { Item, Turn, Usage } from '../../../api/sessions.ts';
import type { StoredTool } from '../../../agents/attached-turn.ts';
import type { EventLog } from '../../../core/events/log.ts';
import type { Reader } from '../../../core/store/transaction.ts';
import { type OpenTool, type ToolItem, withDeltas } from './items.ts';
import type { UsageReports } from './known-usage.ts';
import type { SessionStore } from './store.ts';

export type SpeechItem = {
  kind: 'message' | 'reasoning';
  item: Item;
  ref: string | undefined;
  waiting: string;
  bytes: number;
};

/** The state of an output, which is restored if a transaction is lost. */
export interface OutputState {
  speech: SpeechItem | undefined;
  tools: Map<string, OpenTool>;
  lastMessage: string | null;
  usage: Usage | null;
}

/** The state of an output that its rows do not show. */
export interface SavedOutput {
  /** The ref of the open text, and its half of a character that waits for the other half. */
  ref: string | null;
  waiting: string;
  isSilent: boolean;
  usage: Usage | null;
  usedBefore: Usage | null;
  outOfRange: ReturnType<UsageReports['save']>;
}

/** The state of an output of an earlier server. */
export interface StoredOutput extends OutputState {
  closedTools: ReadonlySet<string>;
  saved: SavedOutput;
}

interface Rows {
  store: SessionStore;
  log: EventLog;
}

/** Reads the state of the output of a turn that another server has stored. */
export function readStoredOutput(
  rx: Reader,
  { turn_id }: Pick<Turn, 'turn_id'>,
  saved: SavedOutput,
  { store, log }: Rows,
): StoredOutput {
  const tools = new Map<string, OpenTool>();
  const closedTools = new Set<string>();
  let speech: SpeechItem | undefined;
  let lastMessage: string | null = null;
  for (const stored of store.itemsOf(rx, turn_id)) {
    const { kind, status: itemStatus, tool, text } = stored;
    if (itemStatus !== 'open') {
      if (tool) closedTools.add(tool.call_ref);
      if (kind === 'message') lastMessage = text;
      continue;
    }
    const { item, status } = withDeltas(rx, stored, log);
    if (kind === 'message' || kind === 'reasoning')
      speech = {
        kind,
        item,
        ref: saved.ref ?? undefined,
        waiting: saved.waiting,
        bytes: Buffer.byteLength(item.text),
      };
    else if (tool)
      tools.set(tool.call_ref, {
        item: item as ToolItem,
        status: status ?? log.firstStatus(rx, item.session_id, item.item_id) ?? 'pending',
      });
  }
  return { speech, tools, lastMessage, usage: saved.usage, closedTools, saved };
}

/** The tools of an output as its agent knows them. */
export function storedTools({ tools, closedTools }: StoredOutput): StoredTool[] {
  const open = [...tools].map(([ref, { item }]) => ({ ref, text: item.text, isOpen: true }));
  return [...open, ...[...closedTools].map((ref) => ({ ref, text: '', isOpen: false }))];
}
