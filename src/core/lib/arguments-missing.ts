/** Said of a request whose arguments its agent does not send. */
export const ARGUMENTS_MISSING = 'The agent does not say what this would do, beyond its title.';
/** The word that accepts such a request. */
export const CONFIRMATION = 'yes';
