/** The name of the index in the data directory. It may be deleted while no server runs: the next search makes a new one. */
export const SEARCH_FILE = 'search.cadre';
