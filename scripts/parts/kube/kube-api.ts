import { renameSync } from 'node:fs';
import { join } from 'node:path';

import type { CachedPart } from '../part.ts';
import { buildGoPrograms, toolchainRoot } from '../toolchain.ts';

const kubernetes = '1.34.4';
/** What the go.mod of that Kubernetes asks for. */
const etcd = '3.6.4';
const source = join(import.meta.dirname, 'programs');

/**
 * A real control plane without its scheduler, at `bin/kube-apiserver`, `bin/kube-controller-manager` and
 * `bin/etcd`.
 */
export const kubeApi: CachedPart = {
  kind: 'cached',
  name: 'kube-api',
  purpose: `kube-apiserver and kube-controller-manager ${kubernetes} with etcd ${etcd}`,
  pin: `${kubernetes}, etcd ${etcd}`,
  cost: '6 to 13 minutes, 222 MB',
  tools: [toolchainRoot],
  inputs: [],
  files: [import.meta.filename, ...['go.mod', 'go.sum'].map((name) => join(source, name))],
  build: async (site) => {
    await buildGoPrograms(site, {
      source,
      packages: [
        'k8s.io/kubernetes/cmd/kube-apiserver',
        'k8s.io/kubernetes/cmd/kube-controller-manager',
        'go.etcd.io/etcd/server/v3',
      ],
      linkerFlags: linkerFlags(kubernetes),
    });
    // Go names a program after the folder above the major version.
    renameSync(join(site.folder, 'bin', 'server'), join(site.folder, 'bin', 'etcd'));
  },
};

/** Without symbols, and with the version that clients are told; a plain build calls itself v0.0.0. */
function linkerFlags(version: string): string {
  const [major, minor] = version.split('.');
  const values = {
    'k8s.io/component-base/version.gitVersion': `v${version}`,
    'k8s.io/component-base/version.gitMajor': major,
    'k8s.io/component-base/version.gitMinor': minor,
    'k8s.io/client-go/pkg/version.gitVersion': `v${version}`,
  };
  const set = Object.entries(values).map(([name, value]) => `-X ${name}=${String(value)}`);
  return ['-s', '-w', ...set].join(' ');
}
