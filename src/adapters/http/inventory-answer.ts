import { hash } from 'node:crypto';
import * as z from 'zod';
import { elementReader } from '../../lib/json.ts';
import type { HttpResponse } from './exchange.ts';
import { inventoryFailure } from './failures.ts';
import { type Records, type RecordShape, recordShapes } from './inventory-schema.ts';

/**
 * Maximum size of an answer. The largest is the list of a cluster's hosts: each host has an
 * inventory with some 100 KiB for many disks.
 */
const mostMebibytes = 128;

/** Maximum text in memory: one host, and all text outside of hosts. */
const mostHeldMebibytes = 16;

/** A host that was already read is replaced by a 0. */
const WithoutHosts = z.looseObject({ hosts: z.array(z.literal(0)).nullish() });

/** The hosts of the last answer for each record, by the hash of their text. */
export type LastHosts = Map<keyof Records, ReadonlyMap<string, unknown>>;

/**
 * Reads a record from an answer of the service. Reads hosts one by one as they arrive: a real host
 * has 25 KiB of text, of which little is kept.
 * @param url of the request, without secrets
 * @param last a host whose text has not changed since stays the same object, and is not parsed
 *   again: a thousand hosts are 29 MiB each time
 * @throws AgentError `inventory.unreadable`; the error of the body
 */
export async function readAnswer<Name extends keyof Records>(
  body: HttpResponse['body'],
  record: Name,
  { url, last }: { readonly url: string; readonly last: LastHosts },
): Promise<Records[Name]> {
  const { whole, host, isList = false }: RecordShape<Records[Name]> = recordShapes[record];
  const hosts: unknown[] = [];
  const known = last.get(record);
  const read = new Map<string, unknown>();
  const reader = elementReader({
    name: isList ? undefined : 'hosts',
    take: (text) => {
      const key = hash('sha256', text, 'base64');
      const one = known?.get(key) ?? host?.parse(JSON.parse(text));
      read.set(key, one);
      hosts.push(one);
    },
  });
  const decoder = new TextDecoder();
  let length = 0;
  let beginning = '';
  const refuse = (problem: string, cause?: unknown): Error =>
    inventoryFailure('inventory.unreadable', problem, {
      context: { url, ...(cause === undefined ? {} : { answer: beginning }) },
      cause,
    });
  const parsed = <T>(parse: () => T): T => {
    try {
      return parse();
    } catch (cause) {
      throw refuse(`the answer of ${url} cannot be parsed`, cause);
    }
  };
  for await (const chunk of body) {
    length += chunk.length;
    if (length > mostMebibytes * 1024 ** 2)
      throw refuse(`the answer of ${url} is longer than ${mostMebibytes} MiB`);
    const text = decoder.decode(chunk, { stream: true });
    beginning += text.slice(0, 200 - beginning.length);
    parsed(() => {
      reader.write(text);
    });
    if (reader.held() > mostHeldMebibytes * 1024 ** 2)
      throw refuse(`a part of the answer of ${url} is longer than ${mostHeldMebibytes} MiB`);
  }
  return parsed(() => {
    const left: unknown = JSON.parse(reader.end());
    if (host === undefined) return whole.parse(left);
    const { hosts: taken, ...more } = WithoutHosts.parse(isList ? { hosts: left } : left);
    if ((taken ?? []).length !== hosts.length) throw new Error('hosts that cannot be counted');
    last.set(record, read);
    return whole.parse({ ...more, hosts });
  });
}
