/** The code of an error of the system, such as `ENOENT`; empty for any other error. */
export function codeOf(error: unknown): string {
  return (error as Partial<NodeJS.ErrnoException> | null | undefined)?.code ?? '';
}

/** Returns a handler of rejections that ignores the errors of the system with this code, and throws all others. */
export function unless(code: string): (error: unknown) => undefined {
  return (error) => {
    if (codeOf(error) !== code) throw error;
    return undefined;
  };
}

/** These errors say nothing about a file: the process or the machine has no descriptor or no memory left. */
const SHORTAGES = new Set(['EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN']);

/** Reports whether the process or the machine has no descriptor or no memory left. */
export function isShortage(error: unknown): boolean {
  return SHORTAGES.has(codeOf(error));
}

/** A handler of rejections that returns null if a file cannot be used, and throws if there is no descriptor or memory left. */
export function nullUnlessShort(error: unknown): null {
  if (isShortage(error)) throw error;
  return null;
}

/** Reports whether the system refused a write because the disk or the quota was full. */
export function isNoRoom(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT'].includes(codeOf(error));
}

/** Reports whether the system refused an operation because of the file that it is about. */
export function isAboutFile(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).syscall !== undefined && !isShortage(error);
}
