// The exceptions to the lint rule `cadre/vocabulary`, each with a reason. The rule reports an exception that is no longer needed.
//
// A module is a path under src without its extension. `name` is an identifier, or the name of the file.

const lazy =
  'the three loaders of parts that are loaded on first use are to become one lazy module';

export const exceptions = [
  { in: 'server/runtime/hook-seat', name: 'hook-seat', because: lazy },
  { in: 'server/runtime/hook-seat', name: 'HookSeat', because: lazy },
  { in: 'server/runtime/search', name: 'SearchSeat', because: lazy },
  { in: 'server/runtime/fleet', name: 'FleetSeat', because: lazy },
  {
    in: 'core/store/migrations/011-news',
    name: '011-news',
    because: 'a migration that was released is not changed',
  },
] as const;
