/** The parts of the program that are bundles of their own, by the name of their folder. */
export const parts: string[];
