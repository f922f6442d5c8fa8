import {
  administrator,
  type CommandTable,
  directory,
  file,
  format,
  type OptionRow,
  proxyEnvironment,
  anyValue,
} from '../command-row.ts';

const osConfig = {
  'os-config': { summary: 'file with the MachineOSConfig', value: file, isRequired: true },
} as const satisfies Readonly<Record<string, OptionRow>>;

const buildFiles = {
  ...osConfig,
  'rendered-config': {
    summary: 'file with the rendered MachineConfig of the pool',
    value: file,
    isRequired: true,
  },
} as const satisfies Readonly<Record<string, OptionRow>>;

const images = {
  format: format('text', 'json'),
  authfile: { summary: 'registry credentials, in the form of a pull secret', value: file },
  storage: { summary: 'directory for images; default: the storage of the user', value: directory },
} as const satisfies Readonly<Record<string, OptionRow>>;

const buildLine = '--os-config mosc.yaml --rendered-config rendered-worker.yaml';

/** What `layer` can do: from files alone, on any machine; the last three in a cluster. */
export const layerCommands = {
  lint: {
    summary: 'check MachineOSConfigs and Containerfiles',
    description: [
      'Finds what a cluster would refuse, and what would fail in a build or on a node.',
    ],
    argument: {
      ...file,
      summary: 'files with MachineOSConfigs, or Containerfiles',
      isRepeatable: true,
    },
    options: { format: format('text', 'json', 'sarif') },
    exitCodes: { 2: 'a finding is an error, or the command line is wrong' },
    examples: [
      ['bootwright layer lint mosc.yaml Containerfile', 'print the findings, a line each'],
      [
        'bootwright layer lint --format sarif mosc.yaml > lint.sarif',
        'write them for a service that shows them beside the code',
      ],
    ],
  },
  render: {
    summary: 'write the build context of a pool to a directory',
    options: {
      ...buildFiles,
      format: format('text', 'json'),
      out: {
        summary: 'directory for the build context, empty or absent',
        value: directory,
        isRequired: true,
      },
    },
    examples: [
      [`bootwright layer render ${buildLine} --out context`, 'write what podman build takes'],
    ],
  },
  name: {
    summary: 'print the name of the MachineOSBuild that the cluster would create',
    options: {
      ...osConfig,
      pool: {
        summary: 'file with the MachineConfigPool of the running cluster',
        value: file,
        isRequired: true,
      },
      format: format('text', 'json'),
      images: {
        summary: 'file with the four fields of the ConfigMap machine-config-osimageurl',
        value: file,
        isRequired: true,
      },
    },
    examples: [
      [
        'bootwright layer name --os-config mosc.yaml --pool pool.yaml --images osimageurl.yaml',
        'print one name',
      ],
    ],
  },
  build: {
    summary: 'build and check the OS image of a pool on this machine',
    description: [
      'Builds with podman or buildah by the code of an installation, and prints the name of the image in the store.',
    ],
    options: {
      ...buildFiles,
      ...images,
      'push-authfile': {
        summary: 'credentials to push the image with, once it is built',
        value: file,
      },
      digestfile: { summary: 'write the digest of the pushed image to this file', value: file },
      'on-host': { summary: 'in a privileged container: build on its host' },
    },
    environment: proxyEnvironment,
    examples: [[`bootwright layer build ${buildLine}`, 'build with the storage of the user']],
  },
  push: {
    summary: 'push an image that was built here, and print its pull spec',
    description: ['It goes to where its MachineOSConfig says, after its base.'],
    options: { ...buildFiles, ...images },
    environment: proxyEnvironment,
    examples: [
      [`bootwright layer push ${buildLine} --authfile pull-secret.json`, 'push what was built'],
    ],
  },
  status: {
    summary: 'print the images of the pools of a cluster, and what runs them',
    options: {
      ...administrator,
      pool: { summary: 'this pool only', value: anyValue('NAME') },
      format: format('text', 'json'),
    },
    exitCodes: {
      1: 'an invariant of a layered pool is violated, as it is while a roll-out continues or has failed',
    },
    environment: proxyEnvironment,
    examples: [
      ['bootwright layer status --kubeconfig kubeconfig', 'show every pool'],
      [
        'bootwright layer status --kubeconfig kubeconfig --pool worker --format json',
        'one pool, for a script',
      ],
    ],
  },
  rollback: {
    summary: 'return a pool to the OS of its release',
    options: {
      ...administrator,
      pool: {
        summary: 'pool to return to the OS of its release',
        value: anyValue('NAME'),
        isRequired: true,
      },
      format: format('text', 'json'),
      yes: { summary: 'make the change; without it, only print what would happen' },
    },
    exitCodes: { 2: 'nothing was changed, as --yes was not given, or the command line is wrong' },
    environment: proxyEnvironment,
    examples: [
      [
        'bootwright layer rollback --kubeconfig kubeconfig --pool worker',
        'print what would happen',
      ],
      ['bootwright layer rollback --kubeconfig kubeconfig --pool worker --yes', 'do it'],
    ],
  },
  unpause: {
    summary: 'end the pauses of pools that a stopped installation has left',
    description: [
      'A hand-over that is stopped keeps its pools paused, so that no node loses its OS image. Running the installation again ends that too.',
      'A pool that a person has paused stays paused.',
    ],
    options: {
      ...administrator,
      pool: { summary: 'this pool only', value: anyValue('NAME') },
      yes: { summary: 'also where nodes lose their OS image by it' },
    },
    exitCodes: {
      2: 'nothing was changed, as nodes would lose their OS image and --yes was not given',
    },
    environment: proxyEnvironment,
    examples: [['bootwright layer unpause --kubeconfig kubeconfig', 'unpause what was left']],
  },
} as const satisfies CommandTable;
