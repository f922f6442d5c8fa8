import { ignitionSourceFailure } from '../failures.ts';
import type { IgnitionSource } from './source.ts';

/**
 * A machine-config-server answers with spec 2.2 unless the header names a version
 * (machine-config-operator, `pkg/server`). 3.2.0 is what every RHCOS since OpenShift 4.7 reads.
 */
export const ignitionAccept = 'application/vnd.coreos.ignition+json;version=3.2.0, */*;q=0.1';

/** An http(s) URL. */
export const fromUrl: IgnitionSource = async ({ host, web }, { ignition }, { signal }) => {
  const { url, caFile } = ignition;
  if (caFile === '') return web.open(url, { signal, accept: ignitionAccept });
  const ca = await host.readText(caFile, signal);
  if (ca === undefined) {
    throw ignitionSourceFailure('ignition.file-not-found', `${caFile} is not on the host`, {
      context: { path: caFile },
    });
  }
  return web.open(url, { signal, accept: ignitionAccept, ca });
};
