/** A map that counts the size of its values. */
export class SizedMap<V> extends Map<string, V> {
  /** The size of all values. */
  total = 0;
  readonly #sizeOf: (value: V) => number;

  constructor(sizeOf: (value: V) => number) {
    super();
    this.#sizeOf = sizeOf;
  }

  override set(key: string, value: V): this {
    this.total += this.#sizeOf(value) - this.#sizeAt(key);
    return super.set(key, value);
  }

  override delete(key: string): boolean {
    this.total -= this.#sizeAt(key);
    return super.delete(key);
  }

  override clear(): void {
    this.total = 0;
    super.clear();
  }

  #sizeAt(key: string): number {
    const value = this.get(key);
    return value === undefined ? 0 : this.#sizeOf(value);
  }
}
