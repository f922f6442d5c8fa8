import { Buffer } from 'node:buffer';
import { decodeResource, readFileContent } from '../../ignition/resource.ts';
import { parseConfig } from '../../ignition/parse.ts';

/** Where a node has the pull secret of the cluster. */
export const NODE_PULL_SECRET_PATH = '/var/lib/kubelet/config.json';

/** Where a node has certificates that it trusts everywhere. */
const ANCHORS = '/etc/pki/ca-trust/source/anchors/';

/** With what a node pulls images. All of it is secret or tells of the site. */
export interface PullAccess {
  readonly pullSecret: string;
  /** PEM files that are trusted beside those of the system. */
  readonly certificates: readonly string[];
}

/**
 * Reads from a served config with what the machine will pull: a live system knows neither the pull secret of
 * the cluster nor the certificates that its administrators added.
 * @param repository HOST[:PORT]/…, whose own certificates count too
 * @throws AgentError `ignition.file-missing` without a pull secret, and as `parseConfig`
 */
export function readPullAccess(served: Uint8Array | string, repository: string): PullAccess {
  const { config } = parseConfig(served);
  const ofRegistry = `/etc/docker/certs.d/${repository.split('/')[0] ?? ''}/`;
  const certificates = (config.storage?.files ?? []).filter(
    ({ path }) =>
      (path.startsWith(ANCHORS) && /\.(crt|pem|cer)$/.test(path)) ||
      (path.startsWith(ofRegistry) && path.endsWith('.crt')),
  );
  return {
    pullSecret: textOf(readFileContent(config, NODE_PULL_SECRET_PATH)),
    certificates: certificates
      .map(({ contents = {} }) => textOf(decodeResource(contents)))
      .filter((text) => text.includes('-----BEGIN CERTIFICATE-----')),
  };
}

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8');
