import type { Fields } from '../../../src/lib/fields.ts';
import type { PoolRequest } from '../../../src/steps/layering/facts.ts';
import { ordered } from '../../layering/samples.ts';
import { lanePaths } from './build-lane.ts';
import type { SecureRegistry } from './secure-registry.ts';

/** The name of the MachineConfig of the lane's images. */
export const renderedConfig = `rendered-master-${'1'.repeat(32)}`;

/** A MachineConfig for a base image, with a file of its pool. */
export const machineConfig = (
  osImageURL: string,
  { name = renderedConfig, files = [] as readonly object[] } = {},
): object => ({
  apiVersion: 'machineconfiguration.openshift.io/v1',
  kind: 'MachineConfig',
  metadata: { name },
  spec: {
    osImageURL,
    config: {
      ignition: { version: '3.2.0' },
      storage: {
        files: [{ path: '/etc/from-the-pool', contents: { source: 'data:,pool' } }, ...files],
      },
    },
  },
});

/** A MachineOSConfig that pushes its images to a repository. */
export const osConfig = (
  repository: string,
  content = 'FROM configs AS final\nRUN cp /etc/from-the-pool /usr/share/by-the-user\n',
): Fields => ({
  apiVersion: 'machineconfiguration.openshift.io/v1',
  kind: 'MachineOSConfig',
  metadata: { name: 'master' },
  spec: {
    machineConfigPool: { name: 'master' },
    imageBuilder: { imageBuilderType: 'Job' },
    renderedImagePushSecret: { name: 'push' },
    renderedImagePushSpec: `${repository}:latest`,
    containerFile: [{ content }],
  },
});

/** The Secret with the credentials to push images to a registry. */
export const pushSecret = (registry: Pick<SecureRegistry, 'pullSecret'>): object => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'push' },
  type: 'kubernetes.io/dockerconfigjson',
  data: { '.dockerconfigjson': Buffer.from(registry.pullSecret).toString('base64') },
});

/** The build request for one image, which is pushed to a repository. */
export const requestInto = (repository: string, content?: string): PoolRequest => ({
  pool: 'master',
  ...ordered(osConfig(repository, content)),
  pushSecret: lanePaths.pushSecret,
  repository,
});
