/** The parts of the program that are bundles of their own, by their folders. */
export const parts: string[];

/** The file of a part in dist. */
export function partFile(part: string): string;
