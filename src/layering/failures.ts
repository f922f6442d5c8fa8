import { failuresOf, type FailureTable } from '../model/failure.ts';

/** Everything that can be wrong with the objects that a layered image is made from. */
export const layeringFailures = {
  'layering.malformed-file': {
    kind: 'input',
    title: 'A file is neither YAML nor JSON',
    hint: 'correct the file at the line given',
  },
  'layering.wrong-object': {
    kind: 'input',
    title: 'A file does not hold the object that is asked for',
    hint: 'give a file with the object as the cluster would take it or gives it',
  },
  'layering.os-config-invalid': {
    kind: 'input',
    title: 'A MachineOSConfig breaks a rule of the cluster',
    hint: 'run "bootwright layer lint" on the file and correct what it names',
  },
  'layering.os-config-twice': {
    kind: 'input',
    title: 'Two MachineOSConfigs are for one pool',
    hint: 'keep one MachineOSConfig for each MachineConfigPool among the manifests',
  },
  'layering.integrated-registry': {
    kind: 'input',
    title: 'An image is to be pushed to the registry of the cluster that does not exist yet',
    hint: 'name a registry in spec.renderedImagePushSpec that nodes reach at their first boot',
  },
  'layering.machine-config-invalid': {
    kind: 'input',
    title: 'A rendered MachineConfig cannot be built into an image',
    hint: 'give the rendered MachineConfig of the pool, as the cluster has it',
  },
  'layering.extension-unknown': {
    kind: 'unsupported',
    title: 'A MachineConfig asks for an extension that is not known',
    hint: 'correct spec.extensions of the MachineConfig',
  },
  'layering.kernel-unknown': {
    kind: 'unsupported',
    title: 'A MachineConfig asks for a kernel that is not known',
    hint: 'spec.kernelType must be default, realtime or 64k-pages',
  },
  'layering.no-extensions-image': {
    kind: 'input',
    title: 'Packages are asked for, and no image with them is named',
    hint: 'spec.baseOSExtensionsContainerImage of the rendered MachineConfig names it',
  },
  'layering.pools-differ': {
    kind: 'input',
    title: 'Objects that belong together are of different pools',
    hint: 'give the MachineOSConfig, the MachineConfigPool and the MachineConfig of one pool',
  },
  'layering.no-name': {
    kind: 'unsupported',
    title: 'The Machine Config Operator could not name the build',
    hint: 'take the character out of the Containerfile, or write it as an escape of the shell',
  },
  'layering.pool-missing': {
    kind: 'input',
    title: 'The cluster has no such MachineConfigPool',
    hint: 'see the pools of the cluster: oc get machineconfigpools',
  },
  'layering.served-config-invalid': {
    kind: 'cluster',
    title: 'The machine-config-server serves a config that no node can start with',
    hint: 'look at what it serves: /config/POOL on port 22623 of api-int, with the Accept header of Ignition 3',
  },
  'layering.folder-taken': {
    kind: 'input',
    title: 'The folder for a build context is none, or holds something',
    hint: 'give a folder with --out that is empty or not there yet',
  },
  'layering.not-written': {
    kind: 'host',
    title: 'The build context cannot be written',
    hint: 'give a folder with --out on a file system that can be written to',
  },
} as const satisfies FailureTable;

/** Builds an error of this area. */
export const layeringFailure = failuresOf(layeringFailures);
