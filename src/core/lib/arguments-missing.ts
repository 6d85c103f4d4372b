/** Said of a request whose arguments its agent does not send. */
export const ARGUMENTS_MISSING =
  'The agent does not say what this request would do, beyond its title.';
/** The word that accepts such a request. */
export const CONFIRMATION = 'yes';

/** Whether an approval does not show all that it would allow, so that people type {@link CONFIRMATION} to accept it. */
export function needsConfirmation({
  arguments_missing: isMissing,
  details,
}: {
  arguments_missing?: boolean | undefined;
  details: readonly { type: string }[];
}): boolean {
  return isMissing === true || details.some(({ type }) => type === 'omitted');
}
