/** The fields of a record, with their values, except those that are null or undefined and those that are named. */
export function filledFields(
  record: object,
  except: readonly string[] = [],
): [name: string, value: unknown][] {
  return Object.entries(record).filter(
    ([name, value]) => !except.includes(name) && value !== undefined && value !== null,
  );
}
