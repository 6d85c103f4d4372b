// The exceptions to the lint rule `cadre/vocabulary`, each with a reason. The rule reports an exception that is no longer needed.
//
// A module is a path under src without its extension. `name` is an identifier, or the name of the file.

export const exceptions = [
  {
    in: 'core/store/migrations/011-news',
    name: '011-news',
    because: 'a migration that was released is not changed',
  },
] as const;
