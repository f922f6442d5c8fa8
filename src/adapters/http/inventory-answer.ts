import * as z from 'zod';
import { elementReader } from '../../lib/json-elements.ts';
import type { HttpResponse } from './exchange.ts';
import { inventoryFailure } from './failures.ts';
import { type Records, type RecordShape, recordShapes } from './inventory-schema.ts';

/**
 * The largest list is that of the hosts of a cluster: each brings its inventory, of many disks some
 * 100 KiB.
 */
const mostMebibytes = 128;

/** In memory as a text: one host, and all that is no host. */
const mostHeldMebibytes = 16;

/** Each host that was read is a 0. */
const WithoutHosts = z.looseObject({ hosts: z.array(z.literal(0)).nullish() });

/**
 * Reads the answer of the service to a request for a record. Hosts are read one by one as they
 * come: a real one has 25 KiB of text, of which little is kept.
 * @param url of the request, as it may be shown
 * @throws AgentError `inventory.unreadable`; whatever the body throws
 */
export async function readAnswer<Name extends keyof Records>(
  body: HttpResponse['body'],
  record: Name,
  url: string,
): Promise<Records[Name]> {
  const { whole, host, isList = false }: RecordShape<Records[Name]> = recordShapes[record];
  const hosts: unknown[] = [];
  const reader = elementReader({
    name: isList ? undefined : 'hosts',
    take: (text) => hosts.push(host?.parse(JSON.parse(text))),
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
    const { hosts: read, ...more } = WithoutHosts.parse(isList ? { hosts: left } : left);
    if ((read ?? []).length !== hosts.length) throw new Error('hosts that cannot be counted');
    return whole.parse({ ...more, hosts });
  });
}
