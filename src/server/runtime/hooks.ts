/**
 * Two nouns may need each other, but one of them is built first. Its builder makes an empty object of hooks, and passes
 * on functions that call them; `connect` fills that object once all nouns are built. A hook that is called before that
 * is a bug, and throws a TypeError.
 */
export function fill<Hooks extends object>(hooks: Hooks, functions: NoInfer<Hooks>): void {
  Object.assign(hooks, functions);
}

/** The parameter type of a class's constructor. */
export type NeedsOf<Class> = Class extends new (needs: infer Needs) => unknown ? Needs : never;
