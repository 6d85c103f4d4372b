import { blockLines, isApart, visibleBlocks } from '../../terminal/conversation-lines.ts';
import { type Block, noticeText, toolText } from '../../terminal/conversation.ts';
import { GrowingMarkdown } from '../../terminal/growing-markdown.ts';
import type { Shape, Text } from './reader.ts';

/** The blocks of a conversation as text. Rendered lines are kept until the block or the shape changes. */
export class ConversationText implements Text {
  blocks: readonly Block[] = [];
  #folded = true;
  #rendered = new WeakMap<Block, { key: string; lines: readonly string[] }>();
  /** The messages that grow. */
  readonly #growing = new Map<string, GrowingMarkdown>();

  show(blocks: readonly Block[], folded: boolean): void {
    this.#folded = folded;
    this.blocks = visibleBlocks(blocks, { folded });
  }

  count(): number {
    return this.blocks.length;
  }

  textOf(at: number): string {
    const block = this.blocks[at];
    if (!block) return '';
    switch (block.type) {
      case 'tool':
        return this.#folded
          ? toolText(block)
          : `${toolText(block)}\n${JSON.stringify(block.input)}\n${block.output}`;
      case 'approval':
        return `${block.approval.kind} ${block.approval.title} ${block.approval.status}`;
      case 'plan':
        return block.entries.map(({ content }) => content).join('\n');
      case 'notice':
        return noticeText(block);
      case 'end':
        return `${block.status} ${block.message}`;
      default:
        return block.text;
    }
  }

  linesOf(at: number, { columns, palette }: Shape): readonly string[] {
    const block = this.blocks[at];
    if (!block) return [];
    const shape = { columns, palette, folded: this.#folded };
    const apart = isApart(block, this.blocks[at - 1], shape);
    const key = `${columns} ${palette.on} ${this.#folded} ${apart}`;
    const known = this.#rendered.get(block);
    if (known?.key === key) return known.lines;
    const own = this.#linesOf(block, shape);
    const lines = apart ? ['', ...own] : own;
    this.#rendered.set(block, { key, lines });
    return lines;
  }

  #linesOf(block: Block, shape: Parameters<typeof blockLines>[1]): string[] {
    if (block.type !== 'message' || block.status !== 'open') {
      this.#growing.delete(block.key);
      return blockLines(block, shape);
    }
    const growing = this.#growing.get(block.key) ?? new GrowingMarkdown();
    this.#growing.set(block.key, growing);
    return growing.lines(block.text, shape);
  }
}
