import { hash } from 'node:crypto';
import * as z from 'zod';
import { elementReader } from '../../lib/json-elements.ts';
import type { HttpResponse } from './exchange.ts';
import { inventoryFailure } from './failures.ts';
import { type Records, type RecordShape, recordShapes } from './inventory-schema.ts';

/** What is read, and where. */
interface Reading<Name> {
  readonly record: Name;
  /** As it may be shown. */
  readonly url: string;
  /** The hosts of the answers before; those of this one take their place. */
  readonly known: Map<keyof Records, ParsedHosts>;
}

/**
 * The largest list is that of the hosts of a cluster: each brings its inventory, of many disks some
 * 100 KiB.
 */
const mostMebibytes = 128;

/** What is in memory as a text: one host, and all that is no host. */
const mostHeldMebibytes = 16;

/**
 * Reads the answer of the service to a request for a record.
 * @throws AgentError `inventory.unreadable`; whatever the body throws
 */
export async function readAnswer<Name extends keyof Records>(
  body: HttpResponse['body'],
  { record, url, known }: Reading<Name>,
): Promise<Records[Name]> {
  const reader = recordReader(record, known.get(record));
  const decoder = new TextDecoder();
  let length = 0;
  let beginning = '';
  const requireAtMost = (most: number, { length, of }: { length: number; of: string }): void => {
    if (length <= most * 1024 ** 2) return;
    const message = `${of} ${url} is longer than ${most} MiB`;
    throw inventoryFailure('inventory.unreadable', message, { context: { url } });
  };
  const understood = <T>(read: () => T): T => {
    try {
      return read();
    } catch (cause) {
      throw inventoryFailure('inventory.unreadable', `the answer of ${url} cannot be parsed`, {
        context: { url, answer: beginning },
        cause,
      });
    }
  };
  for await (const chunk of body) {
    length += chunk.length;
    requireAtMost(mostMebibytes, { length, of: 'the answer of' });
    const text = decoder.decode(chunk, { stream: true });
    beginning += text.slice(0, 200 - beginning.length);
    understood(() => {
      reader.write(text);
    });
    requireAtMost(mostHeldMebibytes, { length: reader.held(), of: 'a part of the answer of' });
  }
  const read = understood(reader.end);
  known.set(record, reader.hosts);
  return read;
}

/** Reads an answer as it comes. Both throw Error when it is no JSON or has another shape. */
export interface RecordReader<T> {
  readonly write: (text: string) => void;
  /** Characters that are in memory. */
  readonly held: () => number;
  readonly end: () => T;
  /** The hosts that were read, by a hash of their text. */
  readonly hosts: ParsedHosts;
}

/** Hosts of an earlier answer; those whose text is the same are not read again. */
export type ParsedHosts = ReadonlyMap<string, unknown>;

/**
 * Reads the hosts of a cluster one by one: a real one has 25 KiB of text, of which little is kept,
 * and from one answer to the next it mostly is the same.
 */
export function recordReader<Name extends keyof Records>(
  name: Name,
  known: ParsedHosts = new Map(),
): RecordReader<Records[Name]> {
  const { whole, host, isList = false }: RecordShape<Records[Name]> = recordShapes[name];
  const hosts = new Map<string, unknown>();
  let count = 0;
  const { write, held, end } = elementReader({
    name: isList ? undefined : 'hosts',
    take: (text) => {
      count += 1;
      const key = hash('sha256', text, 'base64');
      hosts.set(key, known.get(key) ?? host?.parse(JSON.parse(text)));
    },
  });
  return {
    write,
    held,
    end: () => {
      const record: unknown = JSON.parse(end());
      if (host === undefined) return whole.parse(record);
      const { hosts: taken, ...more } = WithoutHosts.parse(isList ? { hosts: record } : record);
      if ((taken ?? []).length !== count) throw new Error('hosts that cannot be counted');
      return whole.parse({ ...more, hosts: [...hosts.values()] });
    },
    hosts,
  };
}

/** Each host that was taken is a 0. */
const WithoutHosts = z.looseObject({ hosts: z.array(z.literal(0)).nullish() });
