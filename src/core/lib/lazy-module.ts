/** A module, or objects that are made from it, loaded on first use. */
export interface LazyModule<T> {
  /** Loads the module with the first call. Every call has the same result. */
  load(): Promise<T>;
  readonly loaded: T | null;
  /** Whether the module is loaded or loading. */
  readonly isUsed: boolean;
}

export function lazyModule<T>(load: () => Promise<T>): LazyModule<T> {
  let loading: Promise<T> | undefined;
  let loaded: T | null = null;
  return {
    load: () => (loading ??= load().then((module) => (loaded = module))),
    get loaded() {
      return loaded;
    },
    get isUsed() {
      return loading !== undefined;
    },
  };
}
