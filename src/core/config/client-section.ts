import { z } from 'zod';

/** The section `[client]`: settings of commands, which the server does not read. */
export const clientSection = z
  .strictObject({
    /**
     * Whether `run`, `sessions` and `acp` start a server in the background if none runs; null: always on a terminal and
     * for `acp`, else never.
     */
    autostart: z.enum(['always', 'ask', 'never']).nullable().default(null),
    /** The mode of new sessions for which a person can be asked, where no flag and no `defaults.permission_mode` chooses one. */
    permission_mode: z.string().min(1).default('require_approval'),
    /** Whether prompts that are sent from a terminal are kept in the data directory, to be sent again. */
    history: z.boolean().default(true),
  })
  .prefault({});
