/** The facts known so far in one run; lanes wait here for what another lane gives. */
export interface FactStore {
  readonly give: (name: string, value: unknown) => void;
  /** The value, as soon as it is given; rejects with the signal's reason when it aborts first. */
  readonly need: (name: string, signal: AbortSignal) => Promise<unknown>;
}

/** An empty store. */
export function factStore(): FactStore {
  const known = new Map<string, unknown>();
  const waiting = new Map<string, ((value: unknown) => void)[]>();
  return {
    give: (name, value) => {
      known.set(name, value);
      for (const resolve of waiting.get(name) ?? []) resolve(value);
      waiting.delete(name);
    },
    need: async (name, signal) => {
      if (known.has(name)) return known.get(name);
      signal.throwIfAborted();
      const { promise, resolve, reject } = Promise.withResolvers<unknown>();
      waiting.set(name, [...(waiting.get(name) ?? []), resolve]);
      const abort = (): void => {
        reject(signal.reason as Error);
      };
      signal.addEventListener('abort', abort, { once: true });
      try {
        return await promise;
      } finally {
        signal.removeEventListener('abort', abort);
      }
    },
  };
}
