import {
  type DescribedEvent,
  isDescribed,
  isNotice,
  type RuntimeEventRecord,
} from '../../../api/events.ts';
import { noticeCode } from '../../terminal/conversation.ts';
import {
  addDelta,
  type KnownBytes,
  remainderOf,
  type TextPiece,
} from '../../../client/streamed-text.ts';
import { EMOJI_UNITS, plainAfter } from '../../../core/lib/plain.ts';
import { toolText } from '../../terminal/conversation.ts';
import type { Palette } from '../../terminal/palette.ts';
import { plain } from '../output.ts';
import type { ApprovalAsker } from './ask-approval.ts';
import { inOptions } from '../hints.ts';
import type { TurnOutput } from './turn-output.ts';

/**
 * Writes the events of turns as text: messages as they grow, and a line when a tool starts and when it ends; with
 * `isVerbose` thoughts, plans and the output of tools as well.
 */
export class TurnText {
  readonly #output: TurnOutput;
  readonly #asker: ApprovalAsker;
  readonly #palette: Palette;
  readonly #isVerbose: boolean;
  readonly #written: KnownBytes = new Map();
  /** The end of the written text of each open item: the next piece may continue an emoji. */
  readonly #ends = new Map<string, string>();
  /** The steps of the plan as they were shown last. */
  #plan: readonly string[] = [];

  constructor(deps: {
    turnOutput: TurnOutput;
    asker: ApprovalAsker;
    palette: Palette;
    isVerbose: boolean;
  }) {
    this.#output = deps.turnOutput;
    this.#asker = deps.asker;
    this.#palette = deps.palette;
    this.#isVerbose = deps.isVerbose;
  }

  write(event: RuntimeEventRecord): void {
    if (!isDescribed(event)) return;
    const { kind, payload } = event;
    if (kind === 'approval.requested') {
      this.#asker.requested(payload.approval);
    } else if (kind === 'approval.resolved') {
      this.#asker.resolved(payload.approval);
    } else if (isNotice(event))
      this.#output.status(
        `[${plain(noticeCode(event.payload))}] ${plain(inOptions(event.payload.message))}\n`,
      );
    else if (kind === 'plan.updated') this.#writePlan(payload.entries ?? []);
    else this.#writeItem(event);
  }

  #writeItem({ kind, payload }: DescribedEvent): void {
    switch (kind) {
      case 'message.delta':
        this.#output.message(this.#begun(payload));
        break;
      case 'message.completed':
        this.#output.message(`${this.#rest(payload)}\n`);
        break;
      case 'reasoning.delta':
        this.#writeBeside(this.#begun(payload));
        break;
      case 'reasoning.completed':
        this.#writeBeside(this.#rest(payload));
        // Ends the line.
        if (this.#isVerbose) this.#output.status('');
        break;
      case 'tool.started':
        this.#noteTool('started', payload.tool);
        break;
      case 'tool.updated':
        this.#writeBeside(this.#begun(payload));
        break;
      case 'tool.completed':
        this.#writeBeside(this.#rest(payload));
        this.#noteTool(payload.status === 'completed' ? 'done' : payload.status, payload.tool);
        break;
      default:
    }
  }

  /** A piece of an item as plain text. It is now written. */
  #begun(piece: TextPiece): string {
    return this.#plainPiece(piece.item_id, addDelta(this.#written, piece) ?? '');
  }

  /** The unwritten rest of a completed item: the stream may have begun late, or lost pieces. */
  #rest(piece: TextPiece): string {
    const shown = this.#plainPiece(piece.item_id, remainderOf(this.#written, piece));
    this.#ends.delete(piece.item_id);
    return shown;
  }

  #plainPiece(item_id: string, text: string): string {
    const before = this.#ends.get(item_id) ?? '';
    this.#ends.set(item_id, (before + text).slice(-EMOJI_UNITS));
    return plainAfter(before, text);
  }

  #noteTool(how: string, tool: Parameters<typeof toolText>[0] | undefined): void {
    this.#output.status(`[${how}] ${tool ? toolText(tool) : 'a tool'}\n`);
  }

  #writeBeside(text: string): void {
    if (!this.#isVerbose) return;
    const body = text.replace(/\n+$/, '');
    this.#output.detail(this.#palette.faint(body) + text.slice(body.length));
  }

  #writePlan(entries: readonly { content: string; status: string }[]): void {
    const before = new Set(this.#plan);
    this.#plan = entries.map(({ content, status }) => `[plan] ${status}: ${plain(content)}\n`);
    if (!this.#isVerbose) return;
    for (const step of this.#plan) if (!before.has(step)) this.#output.status(step);
  }
}
