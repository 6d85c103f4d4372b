/** The variable that every child of a run carries, with a value that no other run has: what a census looks for. */
export const MARKER_VARIABLE = 'CADRE_RUN';
