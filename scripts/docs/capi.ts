import { stringify } from 'yaml';
import { version } from '../../src/model/version.ts';

/** What clusterctl reads of a release beside the files that are written by hand. */
export const capiFiles = (): Readonly<Record<string, string>> => ({
  'deploy/capi/metadata.yaml': `# This file is written by \`npm run docs\`.\n${stringify(metadata())}`,
});

/** Which contract a release has (clusterctl, provider contract). */
function metadata(): object {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return {
    apiVersion: 'clusterctl.cluster.x-k8s.io/v1alpha3',
    kind: 'Metadata',
    releaseSeries: [{ major, minor, contract: 'v1beta2' }],
  };
}
