import { type DiskHints, diskHintSchemas } from '../lib/disk-hints.ts';

declare const value: unique symbol;

/**
 * A part of a structural schema (apiextensions.k8s.io/v1, `JSONSchemaProps`), and the type of what
 * it describes.
 */
export interface Schema<T = unknown> {
  readonly [keyword: string]: unknown;
  readonly [value]?: T;
}

/** What a schema describes. */
export type Described<S> = S extends Schema<infer T> ? T : never;

type Properties = Readonly<Record<string, Schema>>;
/** A name that ends with an exclamation mark is of a property that is required. */
type ObjectOf<P> = {
  readonly [N in keyof P as N extends `${infer Name}!` ? Name : never]: Described<P[N]>;
} & { readonly [N in keyof P as N extends `${string}!` ? never : N]?: Described<P[N]> };

const text = (description: string, more: object = {}): Schema<string> => ({
  type: 'string',
  description,
  minLength: 1,
  maxLength: 1024,
  ...more,
});
const number = (description: string, more: object = {}): Schema<number> => ({
  type: 'integer',
  format: 'int32',
  description,
  minimum: 0,
  ...more,
});
const flag = (description: string): Schema<boolean> => ({ type: 'boolean', description });
const oneOf = <T extends string>(description: string, ...values: readonly T[]): Schema<T> => ({
  type: 'string',
  description,
  enum: values,
});
const texts = (description: string): Schema<readonly string[]> => ({
  type: 'array',
  description,
  maxItems: 128,
  items: { type: 'string', minLength: 1, maxLength: 8192 },
});
const map = (description: string): Schema<Readonly<Record<string, string>>> => ({
  type: 'object',
  description,
  maxProperties: 128,
  additionalProperties: { type: 'string', maxLength: 262_144 },
});
const time = (description: string): Schema<string> => ({
  type: 'string',
  format: 'date-time',
  description,
});
/** Text for people. */
const message = (description: string): Schema<string> => ({
  type: 'string',
  description,
  maxLength: 32_768,
});

/** An object with these properties. */
export function objectSchema<const P extends Properties>(
  description: string,
  properties: P,
  more: object = {},
): Schema<ObjectOf<P>> {
  const named = Object.entries(properties).map(([name, schema]) => [name.replace('!', ''), schema]);
  const required = Object.keys(properties).flatMap((name) =>
    name.endsWith('!') ? name.slice(0, -1) : [],
  );
  return {
    type: 'object',
    description,
    properties: Object.fromEntries(named) as Properties,
    ...(required.length === 0 ? {} : { required }),
    ...more,
  };
}
const list = <T>(description: string, items: Schema<T>, more = {}): Schema<readonly T[]> => ({
  type: 'array',
  description,
  maxItems: 64,
  items,
  ...more,
});
const by = (...keys: readonly string[]) => ({
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': keys,
});
/** A rule in CEL, which Kubernetes 1.25 and newer go by. */
export const celRule = (text: string, why: string) => ({
  'x-kubernetes-validations': [{ rule: text, message: why }],
});
const immutable = celRule('self == oldSelf', 'cannot be changed');

const subdomain = {
  maxLength: 253,
  pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$',
};
const named = (description: string, more: object = {}) =>
  objectSchema(
    description,
    { 'name!': text('Its name, in the namespace of this object.', subdomain) },
    more,
  );
const duration = (description: string) =>
  text(description, { maxLength: 32, pattern: '^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$' });

/** Labels and annotations that Machines, configs and infrastructure machines get. */
export const metadataSchema = objectSchema('Metadata that objects made from this get.', {
  labels: map('Labels.'),
  annotations: map('Annotations.'),
});

/**
 * Of a proxy: signs in its user and password are escaped, as @ by %40, # by %23, ? by %3F and / by
 * %2F.
 */
const proxyUrl = { pattern: '^https?://([^\\s/@#?]*@)?[^\\s/@#?]+/?$' };

/**
 * The label `kubernetes.io/hostname` of a node takes no more; what is resolved on the host is not
 * known.
 */
const nodeName = {
  maxLength: 253,
  pattern: '^[A-Za-z0-9$]([-A-Za-z0-9_.$]*[A-Za-z0-9_])?$',
  ...celRule(
    "self.contains('$METADATA_') || size(self) <= 63 && !self.matches('^(?i)localhost[46]?([.]|$)')",
    'must have 63 characters at most, and not be localhost',
  ),
};

const hostFields = {
  'agent!': objectSchema('The agent that runs on the host.', {
    'image!': text('Its image.'),
    args: texts("Arguments in addition to the provider's."),
  }),
  installDevice: text('A path below /dev that names one disk.', {
    // As udev names links (`WHITESPACE` and others are escaped), without . and .. in it.
    pattern: String.raw`^/dev(/([A-Za-z0-9#+:=@_-]|\\x[0-9a-f]{2})([A-Za-z0-9#+:=@_.-]|\\x[0-9a-f]{2})*)+$`,
  }),
  rootDeviceHints: objectSchema(
    'In place of installDevice: what one disk of the host is known by.',
    diskHintSchemas as Properties,
    { minProperties: 1 },
  ) as Schema<DiskHints>,
  writeMode: oneOf(
    'Disk, the default, writes an image; ExistingRoot installs into the system that runs.',
    ...(['Disk', 'ExistingRoot'] as const),
  ),
  osImage: text('Its container image for ExistingRoot; the image of the release unless given.'),
  kernelArguments: texts('Kernel arguments of the installed system.'),
  ignitionConfigOverride: text(
    'Ignition 3.x as JSON, merged over the Ignition of the live system.',
    {
      maxLength: 262_144,
    },
  ),
  pullSecretRef: named('A Secret of type kubernetes.io/dockerconfigjson.'),
  sshAuthorizedKeys: texts('Keys of the user core of the live system.'),
  proxy: objectSchema('The proxy of the live system.', {
    httpProxy: text('For http.', proxyUrl),
    httpsProxy: text('For https.', proxyUrl),
    noProxy: text('What is reached without it, separated by commas.', { maxLength: 65_536 }),
  }),
  additionalTrustBundle: text('Certificates that the live system trusts, as PEM.', {
    maxLength: 262_144,
  }),
  registries: text('A file below /etc/containers/registries.conf.d: mirrors.', {
    maxLength: 65_536,
  }),
  networkSecretRef: named('A Secret of NetworkManager keyfiles, one in each key.'),
  inventory: objectSchema(
    'Who answers the agent.',
    {
      mode: oneOf(
        'Served, the default: the bootstrap provider. External: another inventory service.',
        ...(['Served', 'External'] as const),
      ),
      url: text('Of the other service.', { pattern: '^https?://.+' }),
      tokenSecretRef: named('A Secret with the key token for the other service.'),
      clusterId: text('By which the other service knows the cluster.'),
      infraEnvId: text('By which the other service knows the environment.'),
    },
    celRule(
      "!has(self.mode) || self.mode != 'External' || has(self.url) && has(self.tokenSecretRef) && has(self.clusterId)",
      'url, tokenSecretRef and clusterId are required when mode is External: the other service knows the cluster by an id of its own',
    ),
  ),
  nodeRegistration: objectSchema('What the kubelet registers.', {
    name: text('The name of the node; $METADATA_NAME is resolved on the host.', nodeName),
    providerID: text('The provider ID; $METADATA_UUID is resolved on the host.', {
      pattern: String.raw`^\S+$`,
    }),
    labels: map('Labels of the node; their values may be $METADATA_UUID or $METADATA_NAME.'),
  }),
};

/**
 * How a host is installed; the same in a control plane (`configSpec`) and in a config of its own.
 */
export const configSchema = (description: string) =>
  objectSchema(
    description,
    hostFields,
    celRule(
      "has(self.installDevice) != has(self.rootDeviceHints) || (has(self.writeMode) && self.writeMode == 'ExistingRoot')",
      'one of installDevice and rootDeviceHints is required unless writeMode is ExistingRoot',
    ),
  );

const observedGeneration: Schema<number> = {
  type: 'integer',
  format: 'int64',
  description: 'Of the spec.',
};

/**
 * As `metav1.Condition`, without limits that the API server would have to enforce on what we write.
 */
export const conditionSchema = objectSchema('One condition.', {
  'type!': text('Its type.'),
  'status!': oneOf('Whether it holds.', 'True', 'False', 'Unknown'),
  'reason!': text('Why, in one CamelCase word.'),
  message: message('Why, for people.'),
  'lastTransitionTime!': time('When its status changed.'),
  observedGeneration,
});
const conditions = list('What is known of it.', conditionSchema, by('type'));

/** How far a host is, by its own reports. */
export const progressSchema = objectSchema('What the host reported.', {
  'stage!': text('The stage of its installation.'),
  percent: number('Of this stage.', { maximum: 100 }),
  message: message('What it says.'),
  'stageStartedAt!': time('When the stage began.'),
  'updatedAt!': time('When it reported last.'),
  'attempt!': number('Which attempt this is, from 1.'),
});

/** What is written of a host. */
export const configStatusSchema = objectSchema('How far the host is.', {
  initialization: objectSchema('Cluster API contract.', {
    dataSecretCreated: flag('Whether the Secret with its Ignition is there.'),
  }),
  ready: flag('The same for contract v1beta1.'),
  dataSecretName: text('The Secret with its Ignition.'),
  role: oneOf('What the host becomes.', 'bootstrap', 'master', 'worker'),
  hostID: text('By which the inventory knows the host.'),
  progress: progressSchema,
  logSecretName: text('The Secret with the end of its log after a failure.'),
  observedGeneration,
  conditions,
});

/** A reference as the v1beta2 contract has it: within the own namespace. */
export const referenceSchema = objectSchema(
  'The template of the machines that become masters.',
  {
    'apiGroup!': text('Its group.', subdomain),
    'kind!': text('Its kind.', { maxLength: 63 }),
    'name!': text('Its name, in the namespace of this object.', subdomain),
  },
  immutable,
);

const machineTemplate = objectSchema('What Machines are made from.', {
  metadata: metadataSchema,
  'spec!': objectSchema('The spec of Machines.', {
    'infrastructureRef!': referenceSchema,
    deletion: objectSchema('Timeouts of a deletion.', {
      nodeDrainTimeoutSeconds: number('For the drain; 0 for none.'),
      nodeVolumeDetachTimeoutSeconds: number('For volumes; 0 for none.'),
      nodeDeletionTimeoutSeconds: number('For the Node; 0 for none.'),
    }),
    readinessGates: list(
      'Conditions that a Machine needs beside to be ready.',
      objectSchema('One condition.', {
        'conditionType!': text('Its type.', { maxLength: 316 }),
        polarity: oneOf('Which status is good.', 'Positive', 'Negative'),
      }),
      by('conditionType'),
    ),
    taints: list(
      'Taints that core gives the Nodes.',
      objectSchema('One taint.', {
        'key!': text('Its key.', { maxLength: 317 }),
        value: text('Its value.', { maxLength: 63 }),
        'effect!': oneOf('Its effect.', 'NoSchedule', 'PreferNoSchedule', 'NoExecute'),
        'propagation!': oneOf('When it is given.', 'Always', 'OnInitialization'),
      }),
      by('key', 'effect'),
    ),
  }),
});

const replicas: Schema<number> = {
  type: 'integer',
  format: 'int32',
  default: 3,
  description: 'How many masters: 1, 3, 4 or 5.',
  enum: [1, 3, 4, 5],
  ...celRule('self >= oldSelf', 'masters cannot be removed'),
};
const mode: Schema<'Pivot'> = {
  ...oneOf('Pivot, the default: the bootstrap host becomes a master.', 'Pivot'),
  ...immutable,
};

/** A version of OpenShift: without a `v`, and with its third number. */
export const releasePattern = '^[0-9]+\\.[0-9]+\\.[0-9]+([-+].+)?$';

/** What a control plane is to be. */
export const controlPlaneSpecSchema = objectSchema(
  'The control plane of an OpenShift cluster.',
  {
    replicas,
    'distributionVersion!': text('The version of OpenShift.', {
      maxLength: 128,
      pattern: releasePattern,
    }),
    'releaseImage!': text('The pull spec of the release image, with its digest.', {
      pattern: String.raw`^[^\s@]+(@sha256:[^\s@]+)?$`,
    }),
    'machineTemplate!': machineTemplate,
    'installStateSecretRef!': named(
      "A Secret with install-config.yaml, or the installer's .openshift_install_state.json, or both.",
      immutable,
    ),
    manifestsSelector: objectSchema('Which Secrets hold manifests.', {
      matchLabels: map('Labels that they have.'),
      matchExpressions: list(
        'What holds of their labels.',
        objectSchema('One requirement.', {
          'key!': text('A label.', { maxLength: 317 }),
          'operator!': oneOf('How it is compared.', 'In', 'NotIn', 'Exists', 'DoesNotExist'),
          values: texts('What it is compared with.'),
        }),
      ),
    }),
    bootstrap: objectSchema('How the cluster is started.', {
      mode,
      timeouts: objectSchema('How long is waited.', {
        firstReport: duration('For the first report of the bootstrap host, as 20m.'),
        bootstrapComplete: duration('For the end of the bootstrap, as 60m.'),
      }),
    }),
    remediation: objectSchema('How often a master is replaced.', {
      maxRetry: number(
        'How many replacements in a row that fail are replaced too, 3 unless given.',
      ),
      retryPeriodSeconds: number('How far apart; at once unless given.'),
    }),
    'configSpec!': configSchema('How each master is installed.'),
  },
  {
    'x-kubernetes-validations': [
      {
        rule: "has(self.replicas) && self.replicas == 1 || !has(self.configSpec.nodeRegistration) || !has(self.configSpec.nodeRegistration.name) || self.configSpec.nodeRegistration.name.contains('$METADATA_')",
        message:
          'configSpec.nodeRegistration.name would be the name of each master: leave it out, or write $METADATA_NAME or $METADATA_UUID in it',
      },
      {
        rule: "!has(self.configSpec.inventory) || !has(self.configSpec.inventory.mode) || self.configSpec.inventory.mode == 'Served'",
        message: 'configSpec.inventory.mode must be Served: another inventory serves workers',
      },
    ],
  },
);

const machineCount = (description: string) => number(`${description} (Cluster API contract).`);

/** What is written of a control plane. */
export const controlPlaneStatusSchema = objectSchema('How far the control plane is.', {
  initialization: objectSchema('Cluster API contract.', {
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
  assets: objectSchema("The installer's files.", {
    'secretName!': text('The Secret that holds them.'),
    'hash!': text('Of what they were made from.'),
    'generatedAt!': time('When they were made.'),
    'expiresAt!': time("When the bootstrap's certificates end."),
  }),
  bootstrapMachine: text('The Machine that starts the cluster.'),
  observedGeneration,
  conditions,
});
