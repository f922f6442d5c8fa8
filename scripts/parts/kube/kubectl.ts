import { join } from 'node:path';
import type { CachedPart } from '../part.ts';
import { buildGoPrograms, toolchainRoot } from '../toolchain.ts';

/** That of the API server in `kube-api.ts`. */
const version = '1.34.4';
const source = join(import.meta.dirname, 'kubectl');

/** The client that guides call, at `bin/kubectl`. */
export const kubectl: CachedPart = {
  kind: 'cached',
  name: 'kubectl',
  purpose: `kubectl ${version}, which the guides to Cluster API call`,
  pin: version,
  cost: '2 minutes, 60 MB',
  tools: [toolchainRoot],
  inputs: [],
  files: [import.meta.filename, ...['go.mod', 'go.sum'].map((name) => join(source, name))],
  build: (site) =>
    buildGoPrograms(site, {
      source,
      packages: ['k8s.io/kubernetes/cmd/kubectl'],
      linkerFlags: `-s -w -X k8s.io/component-base/version.gitVersion=v${version}`,
    }),
};
