/** The code of an error of the system, such as `ENOENT`; empty for any other error. */
export function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? '';
}

/** Returns a handler of rejections that ignores the errors of the system with this code, and throws all others. */
export function unless(code: string): (error: unknown) => undefined {
  return (error) => {
    if (codeOf(error) !== code) throw error;
    return undefined;
  };
}
