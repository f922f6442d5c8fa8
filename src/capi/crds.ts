import { diskHintSchemas } from '../lib/disk-hints.ts';
import type { KubeKind, KubeObject } from '../ports/kube.ts';
import {
  type BootstrapConfigSpec,
  type BootstrapConfigStatus,
  bootstrapConfigs,
  bootstrapConfigTemplates,
  capiNames,
  controlPlanes,
  type ControlPlaneSpec,
  type ControlPlaneStatus,
  type HostProgress,
  providerNames,
} from './api.ts';

/** A part of a structural schema (apiextensions.k8s.io/v1, `JSONSchemaProps`). */
type Schema = Readonly<Record<string, unknown>>;

const text = (description: string, more: Schema = {}): Schema => ({
  type: 'string',
  description,
  minLength: 1,
  maxLength: 1024,
  ...more,
});
const number = (description: string, more: Schema = {}): Schema => ({
  type: 'integer',
  format: 'int32',
  description,
  minimum: 0,
  ...more,
});
const flag = (description: string): Schema => ({ type: 'boolean', description });
const choice = (description: string, values: readonly (string | number)[]): Schema => ({
  description,
  enum: values,
});
const oneOf = (description: string, ...values: readonly string[]): Schema => ({
  type: 'string',
  ...choice(description, values),
});
const texts = (description: string, more: Schema = {}): Schema => ({
  type: 'array',
  description,
  maxItems: 128,
  items: { type: 'string', minLength: 1, maxLength: 8192 },
  ...more,
});
const map = (description: string): Schema => ({
  type: 'object',
  description,
  maxProperties: 128,
  additionalProperties: { type: 'string', maxLength: 262_144 },
});
const object = (
  description: string,
  properties: Schema,
  required: readonly string[] = [],
): Schema => ({
  type: 'object',
  description,
  properties,
  ...(required.length === 0 ? {} : { required }),
});
const listBy = (keys: readonly string[], description: string, items: Schema): Schema => ({
  type: 'array',
  description,
  maxItems: 64,
  items,
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': keys,
});
/** The properties of a type of `api.ts`: each of them, and no other. */
type PropertiesOf<T> = Readonly<Record<keyof T, Schema>>;
/** Rules in CEL, which Kubernetes 1.25 and newer go by; older ones drop them, so the webhook has them too. */
const rules = (...pairs: readonly (readonly [rule: string, message: string])[]): Schema => ({
  'x-kubernetes-validations': pairs.map(([rule, message]) => ({ rule, message })),
});
const immutable = rules(['self == oldSelf', 'cannot be changed']);

const subdomain = {
  maxLength: 253,
  pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$',
};
const named = (description: string): Schema =>
  object(description, { name: text('Its name, in the namespace of this object.', subdomain) }, [
    'name',
  ]);
const duration = (description: string): Schema =>
  text(description, { maxLength: 32, pattern: '^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$' });
const metadata = object('Metadata that objects made from this get.', {
  labels: map('Labels.'),
  annotations: map('Annotations.'),
});

const agent = object(
  'The agent that runs on the host.',
  {
    image: text('Its image.'),
    args: texts('Arguments that it gets beside those of the provider.'),
  },
  ['image'],
);

const inventory: Schema = {
  ...object('Who answers the agent.', {
    mode: oneOf(
      'Served, the default: the bootstrap provider. External: another inventory service.',
      ...['Served', 'External'],
    ),
    url: text('Of the other service.', { pattern: '^https?://.+' }),
    tokenSecretRef: named('A Secret with the key token for the other service.'),
    clusterId: text('By which the other service knows the cluster.'),
    infraEnvId: text('By which the other service knows the environment.'),
  }),
  ...rules([
    "!has(self.mode) || self.mode != 'External' || has(self.url) && has(self.tokenSecretRef) && has(self.clusterId)",
    'url, tokenSecretRef and clusterId are required when mode is External: the other service knows the cluster by an id of its own',
  ]),
};

/** What the live system is given. */
const liveSystem = {
  ignitionConfigOverride: text('Ignition 3.x as JSON, merged over that of the live system.', {
    maxLength: 262_144,
  }),
  pullSecretRef: named('A Secret of type kubernetes.io/dockerconfigjson.'),
  sshAuthorizedKeys: texts('Keys of the user core of the live system.'),
  proxy: object('The proxy of the live system.', {
    httpProxy: text('For http.'),
    httpsProxy: text('For https.'),
    noProxy: text('What is reached without it, separated by commas.', { maxLength: 65_536 }),
  }),
  additionalTrustBundle: text('Certificates that the live system trusts, as PEM.', {
    maxLength: 262_144,
  }),
  registries: text('A file below /etc/containers/registries.conf.d: mirrors.', {
    maxLength: 65_536,
  }),
  networkSecretRef: named('A Secret of NetworkManager keyfiles, one in each key.'),
};

const configProperties: PropertiesOf<BootstrapConfigSpec> = {
  agent,
  installDevice: text('A path below /dev that names one disk.', { pattern: '^/dev/.+' }),
  rootDeviceHints: {
    ...object('In place of installDevice: what one disk of the host is known by.', diskHintSchemas),
    minProperties: 1,
  },
  writeMode: oneOf(
    'Disk, the default, writes an image; ExistingRoot installs into the system that runs.',
    ...['Disk', 'ExistingRoot'],
  ),
  osImage: text('Its container image for ExistingRoot; that of the release unless given.'),
  kernelArguments: texts('Kernel arguments of the installed system.'),
  ...liveSystem,
  inventory,
  nodeRegistration: object('What the kubelet registers.', {
    name: text('The name of the node; $METADATA_NAME is resolved on the host.'),
    providerID: text('The provider ID; $METADATA_UUID is resolved on the host.'),
    labels: map('Labels of the node; their values may be $METADATA_UUID or $METADATA_NAME.'),
  }),
};

const configSpec = (description: string): Schema => ({
  ...object(description, configProperties, ['agent']),
  ...rules([
    "has(self.installDevice) != has(self.rootDeviceHints) || (has(self.writeMode) && self.writeMode == 'ExistingRoot')",
    'one of installDevice and rootDeviceHints is required unless writeMode is ExistingRoot',
  ]),
});

const time = (description: string): Schema => ({
  type: 'string',
  format: 'date-time',
  description,
});

/** As `metav1.Condition`, without limits that the API server would have to enforce on what we write. */
const conditions = listBy(
  ['type'],
  'What is known of it.',
  object(
    'One condition.',
    {
      type: text('Its type.'),
      status: oneOf('Whether it holds.', 'True', 'False', 'Unknown'),
      reason: text('Why, in one CamelCase word.'),
      message: { type: 'string', description: 'Why, for people.', maxLength: 32_768 },
      lastTransitionTime: time('When its status changed.'),
      observedGeneration: { type: 'integer', format: 'int64', description: 'Of the spec.' },
    },
    ['type', 'status', 'reason', 'lastTransitionTime'],
  ),
);
const observedGeneration = { type: 'integer', format: 'int64', description: 'Of the spec.' };

const progress: PropertiesOf<HostProgress> = {
  stage: text('The stage of its installation.'),
  percent: number('Of this stage.', { maximum: 100 }),
  message: { type: 'string', description: 'What it says.', maxLength: 32_768 },
  stageStartedAt: time('When the stage began.'),
  updatedAt: time('When it reported last.'),
  attempt: number('Which attempt this is, from 1.'),
};
const configStatus: PropertiesOf<BootstrapConfigStatus> = {
  initialization: object('Cluster API contract.', {
    dataSecretCreated: flag('Whether the Secret with its Ignition is there.'),
  }),
  ready: flag('The same for contract v1beta1.'),
  dataSecretName: text('The Secret with its Ignition.'),
  role: oneOf('What the host becomes.', 'bootstrap', 'master', 'worker'),
  hostID: text('By which the inventory knows the host.'),
  progress: object('What the host reported.', progress, [
    ...['stage', 'stageStartedAt', 'updatedAt', 'attempt'],
  ]),
  logSecretName: text('The Secret with the end of its log after a failure.'),
  observedGeneration,
  conditions,
};

const infrastructureRef: Schema = {
  ...object(
    'The template of the machines that become masters.',
    {
      apiGroup: text('Its group.', subdomain),
      kind: text('Its kind.', { maxLength: 63 }),
      name: text('Its name, in the namespace of this object.', subdomain),
    },
    ['apiGroup', 'kind', 'name'],
  ),
  ...immutable,
};

const machineTemplate = object(
  'What Machines are made from.',
  {
    metadata,
    spec: object(
      'The spec of Machines.',
      {
        infrastructureRef,
        deletion: object('Timeouts of a deletion.', {
          nodeDrainTimeoutSeconds: number('For the drain; 0 for none.'),
          nodeVolumeDetachTimeoutSeconds: number('For volumes; 0 for none.'),
          nodeDeletionTimeoutSeconds: number('For the Node; 0 for none.'),
        }),
        readinessGates: listBy(
          ['conditionType'],
          'Conditions that a Machine needs beside to be ready.',
          object(
            'One condition.',
            {
              conditionType: text('Its type.', { maxLength: 316 }),
              polarity: oneOf('Which status is good.', 'Positive', 'Negative'),
            },
            ['conditionType'],
          ),
        ),
        taints: listBy(
          ['key', 'effect'],
          'Taints that core gives the Nodes.',
          object(
            'One taint.',
            {
              key: text('Its key.', { maxLength: 317 }),
              value: text('Its value.', { maxLength: 63 }),
              effect: oneOf('Its effect.', 'NoSchedule', 'PreferNoSchedule', 'NoExecute'),
              propagation: oneOf('When it is given.', 'Always', 'OnInitialization'),
            },
            ['key', 'effect', 'propagation'],
          ),
        ),
      },
      ['infrastructureRef'],
    ),
  },
  ['spec'],
);

const controlPlaneSpec: PropertiesOf<ControlPlaneSpec> = {
  replicas: {
    ...{ type: 'integer', format: 'int32', default: 3 },
    ...choice('How many masters: 1, 3, 4 or 5.', [1, 3, 4, 5]),
    ...rules(['self >= oldSelf', 'masters cannot be removed']),
  },
  distributionVersion: text('The version of OpenShift.', {
    maxLength: 128,
    pattern: '^[0-9]+\\.[0-9]+\\.[0-9]+([-+].+)?$',
  }),
  releaseImage: text('The pull spec of the release image, with its digest.'),
  machineTemplate,
  installStateSecretRef: {
    ...named(
      "A Secret with install-config.yaml, or the installer's .openshift_install_state.json, or both.",
    ),
    ...immutable,
  },
  manifestsSelector: object('Which Secrets hold manifests.', {
    matchLabels: map('Labels that they have.'),
    matchExpressions: {
      type: 'array',
      description: 'What holds of their labels.',
      maxItems: 64,
      items: object(
        'One requirement.',
        {
          key: text('A label.', { maxLength: 317 }),
          operator: oneOf('How it is compared.', 'In', 'NotIn', 'Exists', 'DoesNotExist'),
          values: texts('What it is compared with.'),
        },
        ['key', 'operator'],
      ),
    },
  }),
  bootstrap: object('How the cluster is started.', {
    mode: {
      ...oneOf('Pivot, the default: the bootstrap host becomes a master.', 'Pivot'),
      ...immutable,
    },
    timeouts: object('How long is waited.', {
      firstReport: duration('For the first report of the bootstrap host, as 20m.'),
      bootstrapComplete: duration('For the end of the bootstrap, as 60m.'),
    }),
  }),
  remediation: object('How often a master is replaced.', {
    maxRetry: number('How many replacements in a row that fail are replaced too, 3 unless given.'),
    retryPeriodSeconds: number('How far apart; at once unless given.'),
  }),
  configSpec: configSpec('How each master is installed.'),
};

const machineCount = (description: string): Schema =>
  number(`${description} (Cluster API contract).`);
const controlPlaneStatus: PropertiesOf<ControlPlaneStatus> = {
  initialization: object('Cluster API contract.', {
    controlPlaneInitialized: flag('Whether its API answered once.'),
  }),
  initialized: flag('The same for contract v1beta1.'),
  ready: flag('Whether its API answers, for contract v1beta1.'),
  replicas: machineCount('Machines that are there'),
  readyReplicas: machineCount('Machines that are Ready'),
  availableReplicas: machineCount('Machines that are Available'),
  upToDateReplicas: machineCount('Machines that are UpToDate'),
  updatedReplicas: number('The same for contract v1beta1.'),
  unavailableReplicas: number('Machines that are not available, for contract v1beta1.'),
  selector: text('A label selector of its Machines.', { maxLength: 4096 }),
  distributionVersion: text('The version that the cluster has.'),
  assets: object(
    "The installer's files.",
    {
      secretName: text('The Secret that holds them.'),
      hash: text('Of what they were made from.'),
      generatedAt: time('When they were made.'),
      expiresAt: time("When the bootstrap's certificates end."),
    },
    ['secretName', 'hash', 'generatedAt', 'expiresAt'],
  ),
  bootstrapMachine: text('The Machine that starts the cluster.'),
  observedGeneration,
  conditions,
};

interface Column {
  readonly name: string;
  readonly jsonPath: string;
  readonly type?: string;
  readonly priority?: number;
}
const statusOf = (type: string): string => `.status.conditions[?(@.type=="${type}")].status`;
const reasonOf = (type: string): string => `.status.conditions[?(@.type=="${type}")].reason`;
const cluster: Column = {
  name: 'Cluster',
  jsonPath: `.metadata.labels['${capiNames.clusterName.replaceAll('.', '\\.')}']`,
};
const paused: Column = { name: 'Paused', jsonPath: statusOf('Paused'), priority: 10 };
const age: Column = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' };
const count = (name: string, jsonPath: string): Column => ({ name, jsonPath, type: 'integer' });

interface Definition {
  readonly kind: string;
  readonly plural: KubeKind;
  readonly provider: string;
  readonly shortName: string;
  readonly columns: readonly Column[];
  readonly schema: Schema;
  readonly subresources?: object;
}

function definition({ kind, plural, provider, shortName, ...version }: Definition): KubeObject {
  const { group, version: served, plural: name } = plural;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: `${name}.${group}`,
      labels: {
        'cluster.x-k8s.io/provider': provider,
        // Core chooses the version of a kind by its contract (Cluster API book, "API version labels").
        'cluster.x-k8s.io/v1beta1': served,
        'cluster.x-k8s.io/v1beta2': served,
      },
    },
    spec: {
      group,
      scope: 'Namespaced',
      names: {
        ...{ kind, listKind: `${kind}List`, plural: name, singular: kind.toLowerCase() },
        ...{ shortNames: [shortName], categories: ['cluster-api'] },
      },
      versions: [
        {
          ...{ name: served, served: true, storage: true },
          additionalPrinterColumns: version.columns.map((column) => ({
            type: 'string',
            ...column,
          })),
          ...(version.subresources === undefined ? {} : { subresources: version.subresources }),
          schema: { openAPIV3Schema: version.schema },
        },
      ],
    },
  };
}

/** The definition of `OpenShiftControlPlane`. */
export const controlPlaneCrd: KubeObject = definition({
  kind: 'OpenShiftControlPlane',
  plural: controlPlanes,
  provider: providerNames.controlPlane,
  shortName: 'oscp',
  columns: [
    cluster,
    { name: 'Available', jsonPath: statusOf('Available') },
    count('Desired', '.spec.replicas'),
    count('Current', '.status.replicas'),
    count('Ready', '.status.readyReplicas'),
    count('Up-to-date', '.status.upToDateReplicas'),
    { name: 'Initialized', type: 'boolean', jsonPath: '.status.initialized' },
    { name: 'Reason', jsonPath: reasonOf('Available') },
    age,
    { name: 'Version', jsonPath: '.spec.distributionVersion' },
    { name: 'Bootstrap', jsonPath: '.status.bootstrapMachine', priority: 10 },
    paused,
  ],
  schema: object(
    'The control plane of an OpenShift cluster on hosts of any infrastructure provider.',
    {
      spec: object('The control plane of an OpenShift cluster.', controlPlaneSpec, [
        ...['distributionVersion', 'releaseImage', 'machineTemplate', 'installStateSecretRef'],
        'configSpec',
      ]),
      status: object('How far the control plane is.', controlPlaneStatus),
    },
    ['spec'],
  ),
  subresources: {
    status: {},
    scale: {
      specReplicasPath: '.spec.replicas',
      statusReplicasPath: '.status.replicas',
      labelSelectorPath: '.status.selector',
    },
  },
});

const bootstrap = { provider: providerNames.bootstrap };

/** The definitions of `OpenShiftBootstrapConfig` and its template. */
export const bootstrapCrds: readonly KubeObject[] = [
  definition({
    ...bootstrap,
    kind: 'OpenShiftBootstrapConfig',
    plural: bootstrapConfigs,
    shortName: 'osbc',
    columns: [
      cluster,
      { name: 'Role', jsonPath: '.status.role' },
      { name: 'Ready', jsonPath: statusOf('Ready') },
      { name: 'Stage', jsonPath: '.status.progress.stage' },
      count('Percent', '.status.progress.percent'),
      age,
      { name: 'Attempt', type: 'integer', jsonPath: '.status.progress.attempt', priority: 10 },
      { name: 'Data Secret', jsonPath: '.status.dataSecretName', priority: 10 },
      paused,
    ],
    schema: {
      ...object(
        'How one host is installed, and how far it is.',
        {
          spec: configSpec('How the host is installed.'),
          status: object('How far the host is.', configStatus),
        },
        ['spec'],
      ),
      // What its host boots from was made of it.
      ...rules([
        '!has(oldSelf.status) || !has(oldSelf.status.dataSecretName) || self.spec == oldSelf.spec',
        'spec cannot be changed once the data Secret is there',
      ]),
    },
    subresources: { status: {} },
  }),
  definition({
    ...bootstrap,
    kind: 'OpenShiftBootstrapConfigTemplate',
    plural: bootstrapConfigTemplates,
    shortName: 'osbct',
    columns: [age],
    schema: object(
      'What the configs of a MachineDeployment are made from.',
      {
        spec: object(
          'The template.',
          {
            template: object(
              'What a config is made from.',
              { metadata, spec: configSpec('How a host is installed.') },
              ['spec'],
            ),
          },
          ['template'],
        ),
      },
      ['spec'],
    ),
  }),
];
