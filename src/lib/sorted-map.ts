/**
 * A map whose values can be read as a list in the order of the keys. The list is built on demand
 * and cached until the next change.
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

  /** The present values; later changes do not affect the list. */
  list(): readonly T[] {
    this.#keys ??= [...this.keys()].sort();
    return (this.#list ??= this.#keys.flatMap((key) => this.get(key) ?? []));
  }
}
