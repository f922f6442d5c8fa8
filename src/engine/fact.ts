import type { ZodType } from 'zod';

/**
 * A named JSON value that one step gives and later steps need: the target disk, the path of this
 * host's Ignition. It is written to the journal, so it never holds a secret; a fact holds the
 * path of a secret file at most.
 */
export interface Fact<T> {
  readonly name: string;
  readonly schema: ZodType<T>;
}

/** Declares a fact. The name is dotted (`disk.target`); the schema reads it back from a journal. */
export function fact<T>(name: string, schema: ZodType<T>): Fact<T> {
  return { name, schema };
}

/** Any fact, where its type does not matter. */
// oxlint-disable-next-line typescript/no-explicit-any -- a list of facts of many types
export type AnyFact = Fact<any>;

/** A need of a step that also runs where the step that gives the fact is skipped. */
export interface OptionalFact<T> extends Fact<T> {
  readonly isOptional: true;
}

/**
 * The fact where a step before gives it; undefined where that step is skipped, or in another role.
 */
export const ifGiven = <T>(of: Fact<T>): OptionalFact<T> => ({ ...of, isOptional: true });

/** Whether a step does without a fact that nothing gives. */
export const isOptional = (of: AnyFact): boolean => 'isOptional' in of;

/** The value of a fact. */
export type FactValue<F> =
  F extends OptionalFact<infer T> ? T | undefined : F extends Fact<infer T> ? T : never;

/** The facts a step needs, under the names by which its code calls them. */
export type NeedsOf = Readonly<Record<string, AnyFact>>;

/** The values of the facts a step needs. */
export type NeedValues<Needs extends NeedsOf> = {
  readonly [Name in keyof Needs]: FactValue<Needs[Name]>;
};

/**
 * A stand-in for a fact in a plan that is printed before anything ran: each field reads
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

/** The facts known so far in one run; lanes wait here for what another lane gives. */
export interface FactStore {
  readonly give: (name: string, value: unknown) => void;
  /** The value as far as it is given by now. */
  readonly given: (name: string) => unknown;
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
