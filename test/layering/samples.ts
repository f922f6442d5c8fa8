import type {
  MachineConfigPool,
  PoolReference,
} from '../../src/layering/api/machine-config-pool.ts';
import { type MachineConfig, readMachineConfig } from '../../src/layering/api/machine-config.ts';
import { type MachineOSConfig, readMachineOSConfig } from '../../src/layering/api/os-config.ts';
import type { OSImages } from '../../src/layering/api/build-name.ts';
import type { Fields } from '../../src/lib/fields.ts';
import { lineless } from '../../src/layering/api/source-object.ts';

/** The Containerfile of the objects for which the cluster's own builder made a name. */
export const httpd =
  'FROM configs AS final\nRUN rpm-ostree install httpd && ostree container commit\n';

/** A MachineOSConfig as in a file, with the given changes. */
export const osConfigObject = (spec: Fields = {}, name = 'master'): Fields => ({
  apiVersion: 'machineconfiguration.openshift.io/v1',
  kind: 'MachineOSConfig',
  metadata: { name },
  spec: {
    machineConfigPool: { name },
    imageBuilder: { imageBuilderType: 'Job' },
    renderedImagePushSecret: { name: 'ocl-push' },
    renderedImagePushSpec: `registry.rig.test/ocl/master:latest`,
    containerFile: [{ containerfileArch: 'NoArch', content: httpd }],
    ...spec,
  },
});

/** The same object after reading. */
export const osConfig = (spec: Fields = {}, name = 'master'): MachineOSConfig =>
  readMachineOSConfig(lineless(osConfigObject(spec, name), 'os.yaml'));

/** A MachineOSConfig as in a build request. */
export const ordered = (
  object: Fields,
): { readonly object: Fields; readonly config: MachineOSConfig } => ({
  object,
  config: readMachineOSConfig(lineless(object, 'os.yaml')),
});

const reference = (name: string): PoolReference => ({
  apiVersion: '',
  fieldPath: '',
  kind: '',
  name,
  namespace: '',
  resourceVersion: '',
  uid: '',
});

const sources = [
  '00-master',
  '01-master-container-runtime',
  '01-master-kubelet',
  '97-master-generated-kubelet',
  '98-master-generated-kubelet',
  '99-master-generated-registries',
  '99-master-ssh',
];

/** The pool of those objects. */
export const pool = (
  hash = 'e84e0d56c1c0f9911f5f105975bad979',
  more: readonly string[] = [],
): MachineConfigPool => ({
  name: 'master',
  configuration: {
    ...reference(`rendered-master-${hash}`),
    source: [...sources, ...more].map((name) => ({
      ...reference(name),
      apiVersion: 'machineconfiguration.openshift.io/v1',
      kind: 'MachineConfig',
    })),
  },
});

/** The images of those objects. */
export const images: OSImages = {
  baseOSContainerImage: `registry.rig.test/release/rhel-coreos@sha256:${'a'.repeat(64)}`,
  baseOSExtensionsContainerImage: `registry.rig.test/release/rhel-coreos-extensions@sha256:${'b'.repeat(64)}`,
  osImageURL: '',
  releaseVersion: '4.23.0',
};

/** A rendered MachineConfig as in a file, with the given changes. */
export const machineConfigObject = (spec: Fields = {}): Fields => ({
  apiVersion: 'machineconfiguration.openshift.io/v1',
  kind: 'MachineConfig',
  metadata: {
    name: `rendered-master-${'0'.repeat(32)}`,
    annotations: { 'machineconfiguration.openshift.io/release-image-version': '4.23.0' },
  },
  spec: {
    osImageURL: images.baseOSContainerImage,
    baseOSExtensionsContainerImage: images.baseOSExtensionsContainerImage,
    config: { ignition: { version: '3.5.0' } },
    ...spec,
  },
});

/** The same object after reading. */
export const machineConfig = (spec: Fields = {}): MachineConfig =>
  readMachineConfig(lineless(machineConfigObject(spec), 'mc.json'));
