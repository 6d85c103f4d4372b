/** Formats the first items of a list of names and the number of the others: `a, b and 3 more`. */
export function shortNameList(names: readonly string[], max = 10): string {
  const shown = names.slice(0, max).join(', ');
  return names.length > max ? `${shown} and ${names.length - max} more` : shown;
}
