import { randomUUID } from 'node:crypto';

/** What tells one start of a host from the next, as its kernel makes it up. */
export interface BootIds {
  /** That of the start in which a host is. */
  readonly of: (host: string) => string;
  /** The host has started anew. */
  readonly renew: (host: string, id: string) => void;
}

/** Boot ids of hosts; one that tells none has its first made up. */
export function bootIds(): BootIds {
  const ids = new Map<string, string>();
  return {
    of: (host) => {
      const id = ids.get(host) ?? randomUUID();
      ids.set(host, id);
      return id;
    },
    renew: (host, id) => void ids.set(host, id),
  };
}
