import { z } from 'zod';
import { text } from './common.ts';

export const toolCall = z
  .looseObject({
    call_ref: z.string(),
    title: z.string(),
    kind: z.string(),
    input: z.unknown(),
    locations: z
      .array(
        z
          .looseObject({ path: z.string(), line: z.number().nullable() })
          .meta({ id: 'ToolLocation', description: 'A position in a file.' }),
      )
      .optional()
      .describe('File positions that the call concerns. Absent if the agent reports none.'),
    diffs: z
      .array(
        z
          .looseObject({ path: z.string(), diff: text('Change as a unified diff.') })
          .meta({ id: 'ToolDiff', description: 'A change to a file by a tool.' }),
      )
      .optional()
      .describe(
        'File changes that the call makes or would make. Absent if the agent reports none. The text of the item contains them too.',
      ),
  })
  .meta({ id: 'ToolCall', description: 'A tool call, as the agent reports it.' });
export type ToolCall = z.output<typeof toolCall>;
