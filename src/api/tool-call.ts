import { z } from 'zod';

/** The call of a tool. */
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
          .meta({ id: 'ToolLocation', description: 'A place in a file.' }),
      )
      .optional()
      .describe('The places that it is about; absent where the agent names none.'),
    diffs: z
      .array(
        z
          .looseObject({ path: z.string(), diff: z.string().describe('As a unified diff.') })
          .meta({ id: 'ToolDiff', description: 'The change of a file by a tool.' }),
      )
      .optional()
      .describe(
        'The changes of files that it makes or would make; absent where the agent shows none. The text of the item has them, too.',
      ),
  })
  .meta({ id: 'ToolCall', description: 'The call of a tool, as the agent reports it.' });
export type ToolCall = z.output<typeof toolCall>;
