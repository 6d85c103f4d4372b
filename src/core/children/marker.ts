/** The variable that every child carries; its value is unique to the run, so that the run's processes can be found. */
export const MARKER_VARIABLE = 'CADRE_RUN';
