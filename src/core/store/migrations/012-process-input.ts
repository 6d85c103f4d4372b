/** Processes to which nothing can be written, as all of them were before. */
export const migration012 = {
  table: 'processes',
  complete: (process: Record<string, unknown>) => ({ stdin: 'none', ...process }),
};
