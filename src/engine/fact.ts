import type { ZodType } from 'zod';

/**
 * A named JSON value that one step gives and later steps need, for example the target disk, or the
 * path of this host's Ignition. It is written to the journal, so it never holds a secret; at most
 * it holds the path of a file with a secret.
 */
export interface Fact<T> {
  readonly name: string;
  readonly schema: ZodType<T>;
}

/**
 * Declares a fact. The name is dotted (`disk.target`); the schema parses the value from a journal.
 */
export function fact<T>(name: string, schema: ZodType<T>): Fact<T> {
  return { name, schema };
}

/** Any fact, where its type does not matter. */
// oxlint-disable-next-line typescript/no-explicit-any -- a list of facts of many types
export type AnyFact = Fact<any>;

/**
 * A fact that a step uses if it is there. The step also runs if the step that gives the fact is
 * skipped.
 */
export interface OptionalFact<T> extends Fact<T> {
  readonly isOptional: true;
}

/** A need that is undefined if the step that gives the fact is skipped or is not in the role. */
export const ifGiven = <T>(of: Fact<T>): OptionalFact<T> => ({ ...of, isOptional: true });

/** Whether a step can run without a fact. */
export const isOptional = (of: AnyFact): boolean => 'isOptional' in of;

/** The value of a fact. */
export type FactValue<F> =
  F extends OptionalFact<infer T> ? T | undefined : F extends Fact<infer T> ? T : never;

/** The facts that a step needs, by the names that its code uses. */
export type NeedsOf = Readonly<Record<string, AnyFact>>;

/** The values of the facts that a step needs. */
export type NeedValues<Needs extends NeedsOf> = {
  readonly [Name in keyof Needs]: FactValue<Needs[Name]>;
};

/**
 * A placeholder for a fact in a plan, which is printed before a step runs. Each field reads
 * `<disk.target.path>`, so the same argv builder serves the plan and the run.
 */
export function placeholder<T>(of: Fact<T>): T {
  return placeholderNamed(of.name) as T;
}

function placeholderNamed(name: string): unknown {
  return new Proxy(Object(`<${name}>`) as object, {
    get(target, property) {
      if (property === Symbol.toPrimitive || property === 'toString' || property === 'valueOf') {
        return () => `<${name}>`;
      }
      if (typeof property === 'symbol') return Reflect.get(target, property) as unknown;
      return `<${name}.${property}>`;
    },
  });
}

/** The known facts of one run. A lane waits here for a fact from another lane. */
export interface FactStore {
  readonly give: (name: string, value: unknown) => void;
  /** The value, or undefined if no step has given it yet. */
  readonly given: (name: string) => unknown;
  /**
   * Resolves with the value as soon as it is given; rejects with the signal's reason if the signal
   * aborts first.
   */
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
    given: (name) => known.get(name),
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
