import * as z from 'zod';
import { configFailure } from './failures.ts';

/** The hosts of a dry cluster, as load tests of the service write them (assisted-installer, dry run). */
const DryHosts = z.array(
  z.object({ hostname: z.string(), ip: z.string(), rebootMarkerPath: z.string() }).partial(),
);
type DryHosts = z.infer<typeof DryHosts>;

/**
 * Reads the file of `dry.clusterHosts`.
 * @throws AgentError `config.malformed-file`
 */
export function parseDryHosts(text: string, path: string): DryHosts {
  try {
    return DryHosts.parse(JSON.parse(text));
  } catch (cause) {
    const why = cause instanceof SyntaxError ? 'not JSON' : 'not a list of hosts';
    throw configFailure('config.malformed-file', `dry.clusterHosts: ${path} is ${why}`, {
      hint: 'write a JSON array of {"hostname", "ip", "rebootMarkerPath"}',
      context: { file: path },
    });
  }
}
