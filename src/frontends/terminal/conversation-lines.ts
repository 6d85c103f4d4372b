import { isDiff } from '../../core/lib/diff-lines.ts';
import { oneLine, plain } from '../../core/lib/plain.ts';
import {
  approvalText,
  type Block,
  endText,
  inputFields,
  noticeText,
  locationsText,
  speakers,
  toolMarks,
  toolText,
} from './conversation.ts';
import { diffLines } from './diff.ts';
import { markdownLines } from './markdown.ts';
import type { LineShape } from './palette.ts';
import { truncated, wrapped } from './width.ts';

export interface ConversationShape extends LineShape {
  /** Whether tools are one line each and thoughts are left out; else both are shown whole. */
  folded: boolean;
}

/** A conversation as lines for a terminal, with an empty line between prompts, messages and runs of tools. */
export function conversationLines(blocks: readonly Block[], shape: ConversationShape): string[] {
  const shown = visibleBlocks(blocks, shape);
  return shown.flatMap((block, at) => {
    const lines = blockLines(block, shape);
    return isApart(block, shown[at - 1], shape) ? ['', ...lines] : lines;
  });
}

export function visibleBlocks(
  blocks: readonly Block[],
  { folded }: Pick<ConversationShape, 'folded'>,
): readonly Block[] {
  return folded ? blocks.filter(({ type }) => type !== 'thought') : blocks;
}

/** Whether an empty line stands between a block and the shown block before it. */
export function isApart(
  block: Block,
  before: Block | undefined,
  { folded }: Pick<ConversationShape, 'folded'>,
): boolean {
  return before !== undefined && !(folded && isLine(block) && isLine(before));
}

/** Whether a block is one line where it is folded, so that a run of them needs no empty lines. */
function isLine({ type }: Block): boolean {
  return type === 'tool' || type === 'approval' || type === 'notice';
}

export function blockLines(block: Block, shape: ConversationShape): string[] {
  const { palette, columns, folded } = shape;
  switch (block.type) {
    case 'prompt':
      return promptLines(block, shape);
    case 'message':
      return markdownLines(block.text, shape);
    case 'thought':
      return wrapped(plain(block.text).trim(), columns, { trims: true }).map(palette.faint);
    case 'tool':
      return folded ? [toolLine(block, shape)] : toolLines(block, shape);
    case 'approval': {
      const style = block.approval.status === 'pending' ? palette.warn : palette.faint;
      return [style(truncated(`? ${approvalText(block.approval)}`, columns))];
    }
    case 'plan':
      return block.entries.flatMap(({ content, status }) => {
        const mark = status === 'completed' ? '[x]' : status === 'in_progress' ? '[>]' : '[ ]';
        return wrapped(`${mark} ${oneLine(content)}`, columns).map(palette.faint);
      });
    case 'notice':
      return wrapped(`! ${noticeText(block)}`, columns).map(palette.warn);
    case 'end':
      return wrapped(endText(block), columns).map(
        block.status === 'failed' ? palette.bad : palette.warn,
      );
  }
}

function promptLines(
  { source, text }: Extract<Block, { type: 'prompt' }>,
  { columns, palette }: ConversationShape,
): string[] {
  const lines = wrapped(plain(text), columns - 2).map(palette.strong);
  const whose = source === 'user' ? [] : [palette.faint(truncated(speakers[source], columns))];
  return [...whose, ...lines.map((line, at) => (at === 0 ? palette.accent('> ') : '  ') + line)];
}

type Tool = Extract<Block, { type: 'tool' }>;

function toolLine(tool: Tool, { columns, palette }: ConversationShape): string {
  const { status } = tool;
  const style =
    status === 'completed' ? palette.good : status === 'open' ? palette.warn : palette.bad;
  return `${style(toolMarks[status])} ${truncated(toolText(tool), columns - 2)}`;
}

function toolLines(tool: Tool, shape: ConversationShape): string[] {
  const { columns, palette } = shape;
  const inner = { columns: Math.max(2, columns - 2), palette };
  const output = plain(tool.output).replace(/\s+$/, '');
  const body = [
    ...fieldLines(tool, inner),
    ...(output === ''
      ? []
      : isDiff(output)
        ? diffLines(output, inner)
        : wrapped(output, inner.columns)),
  ];
  return [toolLine(tool, shape), ...body.map((line) => palette.faint('│ ') + line)];
}

/** The fields of the input and the locations of a tool call, each behind its name. */
function fieldLines({ input, locations }: Tool, { columns, palette }: LineShape): string[] {
  const found = locationsText(locations);
  const fields = [...inputFields(input), ...(found === '' ? [] : [['at', found]])];
  return fields.flatMap(([name, text]) =>
    wrapped(plain(`${name}: ${text}`), columns).map(palette.faint),
  );
}
