/**
 * Values by key, whose list in the order of the keys is made when it is read, and kept until the
 * next change.
 */
export class SortedMap<T> extends Map<string, T> {
  #keys: readonly string[] | undefined;
  #list: readonly T[] | undefined;

  override set(key: string, value: T): this {
    if (!this.has(key)) this.#keys = undefined;
    this.#list = undefined;
    return super.set(key, value);
  }

  override delete(key: string): boolean {
    if (!super.delete(key)) return false;
    this.#keys = undefined;
    this.#list = undefined;
    return true;
  }

  /** The values now; later changes do not reach the list. */
  list(): readonly T[] {
    this.#keys ??= [...this.keys()].sort();
    return (this.#list ??= this.#keys.flatMap((key) => this.get(key) ?? []));
  }
}
