import { Buffer } from 'node:buffer';
import { encodeDataUrl } from '../../ignition/resource.ts';
import { parseConfig, renderConfig } from '../../ignition/parse.ts';
import { readPointer } from '../../ignition/pointer.ts';

/**
 * Puts a config into the pointer that leads to it, so that the first boot fetches nothing: what is laid over
 * it must be what the machine boots with, whatever is served by then. Whatever else the pointer says, a host
 * name above all, stays.
 * @throws AgentError `ignition.pointer-missing`, and as `parseConfig` and `readPointer`
 */
export function embedServed(pointerText: Uint8Array | string, served: string): string {
  const { config } = parseConfig(pointerText);
  readPointer(config);
  const { ignition } = config;
  const merge = ignition.config?.merge ?? [];
  const place = merge.findIndex(({ source = '' }) => source !== '');
  const embedded = { source: encodeDataUrl(Buffer.from(served), 'application/json') };
  return renderConfig({
    ...config,
    ignition: {
      ...ignition,
      config: {
        ...ignition.config,
        merge: merge.map((resource, index) => (index === place ? embedded : resource)),
      },
    },
  });
}
