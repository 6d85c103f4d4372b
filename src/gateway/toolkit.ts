import type { z } from 'zod';
import type { Session } from '../api/sessions.ts';
import type { ToolDescription } from '../api/tools.ts';

/** Who calls a tool, and whether it still waits for the answer. */
export interface Caller {
  session: Session;
  /** It came with a token of the operator's, not with the session's own. */
  isOperator: boolean;
  gone: AbortSignal;
}

/** What a tool gives. */
export type Answer = Record<string, unknown>;

/** A tool as it runs. Its arguments have been checked. Throws ToolError or AppError. */
type Run<Description> =
  Description extends ToolDescription<infer Args>
    ? (args: z.output<Args>, caller: Caller) => Promise<Answer>
    : never;

/** What the tools of a namespace do. */
export type Runs<Tools> = { [Name in keyof Tools]: Run<Tools[Name]> };

/** The tools of a namespace. */
export interface Toolkit {
  namespace: string;
  /** Why none of them may be called just now; null: they may. */
  disabled(): string | null;
  descriptions: Readonly<Record<string, ToolDescription>>;
  runs: Readonly<Record<string, (args: never, caller: Caller) => Promise<Answer>>>;
}

/** Every description with what it does: the compiler keeps the two complete. */
export function toolkit<Tools extends Record<string, ToolDescription>>(given: {
  namespace: string;
  disabled?: () => string | null;
  descriptions: Tools;
  runs: Runs<Tools>;
}): Toolkit {
  return { disabled: () => null, ...given };
}
