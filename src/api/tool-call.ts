import { z } from 'zod';
import { component, text } from './common.ts';

export const toolCall = component('ToolCall', 'A tool call, as the agent reports it.', {
  call_ref: z.string(),
  title: z.string(),
  kind: z.string(),
  input: z.unknown(),
  locations: z
    .array(
      component('ToolLocation', 'A position in a file.', {
        path: z.string(),
        line: z.number().nullable(),
      }),
    )
    .optional()
    .describe('File positions that the call concerns. Absent if the agent reports none.'),
  diffs: z
    .array(
      component('ToolDiff', 'A change to a file by a tool.', {
        path: z.string(),
        diff: text('Change as a unified diff.'),
      }),
    )
    .optional()
    .describe(
      'File changes that the call makes or would make. Absent if the agent reports none. The text of the item contains them too.',
    ),
});
export type ToolCall = z.output<typeof toolCall>;
