import { type PolicyRule, restrictedPod, rule } from '../layering/manifests/service-account.ts';
import type { KubeKind, KubeObject } from '../ports/kube.ts';
import {
  bootstrapConfigs,
  bootstrapConfigTemplates,
  bootstrapConfigType,
  capiMachines,
  capiNames,
  controlPlanes,
  controlPlaneType,
  machineHealthChecks,
  ownNames,
  providerNames,
  webhookPaths,
} from './api.ts';
import {
  celRule,
  configSchema,
  configStatusSchema,
  controlPlaneSpecSchema,
  controlPlaneStatusSchema,
  metadataSchema,
  objectSchema,
  type Schema,
} from './fields.ts';
import { namespaceOf } from './manager.ts';

const column = (name: string, jsonPath: string, more: object = {}) => ({
  ...{ type: 'string', name, jsonPath, ...more },
});
const count = (name: string, jsonPath: string) => column(name, jsonPath, { type: 'integer' });
const conditionIn = (type: string, member: string): string =>
  `.status.conditions[?(@.type=="${type}")].${member}`;
const cluster = column(
  'Cluster',
  `.metadata.labels['${capiNames.clusterName.replaceAll('.', '\\.')}']`,
);
const wide = { priority: 10 };
const paused = column('Paused', conditionIn('Paused', 'status'), wide);
const age = column('Age', '.metadata.creationTimestamp', { type: 'date' });

interface Definition {
  readonly kind: string;
  readonly plural: KubeKind;
  readonly shortName: string;
  readonly columns: readonly object[];
  readonly schema: Schema;
  readonly subresources?: object;
}

function definition(
  of: keyof typeof providerNames,
  { kind, plural, shortName, columns, schema, ...more }: Definition,
): KubeObject {
  const { group, version: name, plural: names } = plural;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: `${names}.${group}`,
      labels: {
        'cluster.x-k8s.io/provider': providerNames[of],
        // Core chooses the version of a kind by its contract (Cluster API book, "API version labels").
        'cluster.x-k8s.io/v1beta1': name,
        'cluster.x-k8s.io/v1beta2': name,
      },
    },
    spec: {
      ...{ group, scope: 'Namespaced' },
      names: {
        ...{ kind, listKind: `${kind}List`, plural: names, singular: kind.toLowerCase() },
        ...{ shortNames: [shortName], categories: ['cluster-api'] },
      },
      versions: [
        {
          ...{ name, served: true, storage: true, additionalPrinterColumns: columns, ...more },
          schema: { openAPIV3Schema: schema },
        },
      ],
    },
  };
}

/** The definition of `OpenShiftControlPlane`. */
export const controlPlaneCrd: KubeObject = definition('controlPlane', {
  ...{ kind: controlPlaneType.kind, plural: controlPlanes, shortName: 'oscp' },
  columns: [
    cluster,
    column('Available', conditionIn('Available', 'status')),
    count('Desired', '.spec.replicas'),
    count('Current', '.status.replicas'),
    count('Ready', '.status.readyReplicas'),
    count('Up-to-date', '.status.upToDateReplicas'),
    column('Initialized', '.status.initialized', { type: 'boolean' }),
    column('Reason', conditionIn('Available', 'reason')),
    age,
    column('Version', '.spec.distributionVersion'),
    column('Bootstrap', '.status.bootstrapMachine', wide),
    paused,
  ],
  schema: objectSchema(
    'The control plane of an OpenShift cluster on hosts of any infrastructure provider.',
    { 'spec!': controlPlaneSpecSchema, status: controlPlaneStatusSchema },
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

/** The definitions of `OpenShiftBootstrapConfig` and its template. */
export const bootstrapCrds: readonly KubeObject[] = [
  definition('bootstrap', {
    ...{ kind: bootstrapConfigType.kind, plural: bootstrapConfigs, shortName: 'osbc' },
    columns: [
      cluster,
      column('Role', '.status.role'),
      column('Ready', conditionIn('Ready', 'status')),
      column('Stage', '.status.progress.stage'),
      count('Percent', '.status.progress.percent'),
      age,
      column('Attempt', '.status.progress.attempt', { type: 'integer', ...wide }),
      column('Data Secret', '.status.dataSecretName', wide),
      paused,
    ],
    schema: objectSchema(
      'How one host is installed, and how far it is.',
      { 'spec!': configSchema('How the host is installed.'), status: configStatusSchema },
      // What its host boots from was made of it.
      celRule(
        '!has(oldSelf.status) || !has(oldSelf.status.dataSecretName) || self.spec == oldSelf.spec',
        'spec cannot be changed once the data Secret is there',
      ),
    ),
    subresources: { status: {} },
  }),
  definition('bootstrap', {
    ...{ kind: `${bootstrapConfigType.kind}Template`, plural: bootstrapConfigTemplates },
    ...{ shortName: 'osbct', columns: [age] },
    schema: objectSchema('What the configs of a MachineDeployment are made from.', {
      'spec!': objectSchema('The template.', {
        'template!': objectSchema('What a config is made from.', {
          metadata: metadataSchema,
          'spec!': configSchema('How a host is installed.'),
        }),
      }),
    }),
  }),
];

/** Port of the container for each server. */
const ports = { webhook: 9443, inventory: 8443, health: 9440, metrics: 9110 } as const;
const certificateFolder = '/etc/bootwright/certificates';
const image = '${BOOTWRIGHT_IMAGE:=registry.example/bootwright:latest}';

const rbacGroup = 'rbac.authorization.k8s.io';
const read = ['get', 'list', 'watch'] as const;
const secretVerbs = [...read, 'create', 'patch', 'delete'];

/** What both providers may do in all namespaces. */
const sharedRules: readonly PolicyRule[] = [
  rule(capiMachines.group, ['clusters', 'machines'], [read]),
  rule('', ['secrets'], [secretVerbs]),
  // Who gives a Secret or a Machine an owner whose deletion it blocks must be allowed to finalize that
  // (Kubernetes, OwnerReferencesPermissionEnforcement).
  rule(bootstrapConfigs.group, [`${bootstrapConfigs.plural}/finalizers`], [['update']]),
  rule(bootstrapConfigs.group, [`${bootstrapConfigs.plural}/status`], [['patch']]),
];

/** What each provider may do in all namespaces. */
const clusterRules = {
  bootstrap: [
    ...sharedRules,
    rule(bootstrapConfigs.group, [bootstrapConfigs.plural], [read]),
    rule(controlPlanes.group, [controlPlanes.plural], [read]),
  ],
  controlPlane: [
    ...sharedRules,
    rule(controlPlanes.group, [controlPlanes.plural], [[...read, 'patch']]),
    rule(controlPlanes.group, [`${controlPlanes.plural}/status`], [['patch']]),
    rule(controlPlanes.group, [`${controlPlanes.plural}/finalizers`], [['update']]),
    rule(bootstrapConfigs.group, [bootstrapConfigs.plural], [[...read, 'create', 'patch']]),
    rule(capiMachines.group, ['machines'], [['create', 'patch', 'delete']]),
    rule(capiMachines.group, ['machines/status'], [['patch']]),
    rule(capiMachines.group, [machineHealthChecks.plural], [['list', 'watch']]),
    // Which version of a kind its provider has for the contract is said by its definition.
    rule('apiextensions.k8s.io', ['customresourcedefinitions'], [['get']]),
    // Templates and machines of any infrastructure provider.
    rule('infrastructure.cluster.x-k8s.io', ['*'], [['get', 'create', 'patch']]),
    // The installer of the release runs in one, and its end is told from its pod.
    rule('batch', ['jobs'], [[...read, 'create', 'delete']]),
    // Their pods run by an account that may make a Secret, and nothing else.
    rule('', ['serviceaccounts'], [['create', 'delete']]),
    rule(rbacGroup, ['roles', 'rolebindings'], [['create', 'delete']]),
    rule('', ['pods'], [['list']]),
    rule('', ['pods/log'], [['get']]),
  ],
} as const;

/** Of several pods one works: the one with the lease. */
const ownRules = [
  rule('coordination.k8s.io', ['leases'], [['get', 'list', 'watch', 'create', 'update', 'patch']]),
];

interface Provider {
  readonly of: keyof typeof providerNames;
  readonly namespace: string;
  readonly crds: readonly KubeObject[];
  readonly webhooks: readonly object[];
  /** Of the certificate, beside those of the Service of the webhooks. */
  readonly names: readonly string[];
  /** Addresses beside them: a client compares an address with no name. */
  readonly addresses?: readonly string[];
  readonly args: readonly string[];
  readonly ports: readonly (keyof typeof ports)[];
}

const app = (provider: Provider): string => providerNames[provider.of];
const labelsOf = (provider: Provider) => ({ 'cluster.x-k8s.io/provider': app(provider) });
const webhookService = 'webhook';
const certificateSecret = 'serving-certificate';
const account = 'manager';

/** An object in the namespace of its provider, or of the cluster where it has no place in one. */
function made(
  provider: Provider,
  [apiVersion, kind, name]: readonly [string, string, string],
  content: object,
): KubeObject {
  const clustered = /^(Namespace|Cluster|ValidatingWebhook)/.test(kind);
  const namespace = clustered ? {} : { namespace: provider.namespace };
  const { metadata, ...rest } = content as Partial<KubeObject>;
  return {
    apiVersion,
    kind,
    metadata: { ...metadata, name, ...namespace, labels: labelsOf(provider) },
    ...rest,
  };
}

function access(provider: Provider): readonly KubeObject[] {
  const subjects = [{ kind: 'ServiceAccount', name: account, namespace: provider.namespace }];
  const role = (kind: string, name: string) => ({ apiGroup: rbacGroup, kind, name });
  const rbac = `${rbacGroup}/v1`;
  const name = `${app(provider)}-manager`;
  return [
    made(provider, ['v1', 'ServiceAccount', account], {}),
    made(provider, [rbac, 'ClusterRole', name], { rules: clusterRules[provider.of] }),
    made(provider, [rbac, 'ClusterRoleBinding', name], {
      roleRef: role('ClusterRole', name),
      subjects,
    }),
    made(provider, [rbac, 'Role', account], { rules: ownRules }),
    made(provider, [rbac, 'RoleBinding', account], { roleRef: role('Role', account), subjects }),
  ];
}

/** An authority of ten years signs what is served: hosts that trust it live through a new certificate. */
function certificates(provider: Provider): readonly KubeObject[] {
  const certManager = 'cert-manager.io/v1';
  const issuerRef = (name: string) => ({ kind: 'Issuer', name });
  const place = provider.namespace;
  return [
    made(provider, [certManager, 'Issuer', 'self-signed'], { spec: { selfSigned: {} } }),
    made(provider, [certManager, 'Certificate', 'authority'], {
      spec: {
        ...{ isCA: true, commonName: app(provider), secretName: 'authority', duration: '87600h' },
        privateKey: { algorithm: 'ECDSA', size: 256 },
        issuerRef: issuerRef('self-signed'),
      },
    }),
    made(provider, [certManager, 'Issuer', 'authority'], {
      spec: { ca: { secretName: 'authority' } },
    }),
    made(provider, [certManager, 'Certificate', certificateSecret], {
      spec: {
        secretName: certificateSecret,
        dnsNames: [
          ...['', '.cluster.local'].map((end) => `${webhookService}.${place}.svc${end}`),
          ...provider.names,
        ],
        ...(provider.addresses && { ipAddresses: provider.addresses }),
        privateKey: { algorithm: 'ECDSA', size: 256 },
        issuerRef: issuerRef('authority'),
      },
    }),
  ];
}

function webhooks(provider: Provider): readonly KubeObject[] {
  const { namespace } = provider;
  return [
    made(provider, ['v1', 'Service', webhookService], {
      spec: {
        selector: labelsOf(provider),
        ports: [{ name: 'webhook', port: 443, targetPort: 'webhook' }],
      },
    }),
    made(
      provider,
      ['admissionregistration.k8s.io/v1', 'ValidatingWebhookConfiguration', app(provider)],
      {
        metadata: {
          annotations: { 'cert-manager.io/inject-ca-from': `${namespace}/${certificateSecret}` },
        },
        webhooks: provider.webhooks,
      },
    ),
  ];
}

interface Asked {
  readonly path: string;
  readonly group: string;
  readonly version: string;
  readonly resources: readonly string[];
  /** The label that an object has to be asked about. */
  readonly label?: string;
  /** It is only warned: objects of other providers are taken without an answer. */
  readonly isAdvice?: boolean;
}

/** A question that the API server asks before it takes an object, and does not without an answer, unless that is advice. */
const webhook = (namespace: string, name: string, asked: Asked): object => ({
  name: `${name}.bootwright.io`,
  admissionReviewVersions: ['v1'],
  sideEffects: 'None',
  failurePolicy: asked.isAdvice === true ? 'Ignore' : 'Fail',
  matchPolicy: 'Equivalent',
  timeoutSeconds: 5,
  clientConfig: { service: { name: webhookService, namespace, path: asked.path } },
  rules: [
    {
      apiGroups: [asked.group],
      apiVersions: [asked.version],
      operations: ['CREATE', 'UPDATE'],
      resources: asked.resources,
      scope: 'Namespaced',
    },
  ],
  ...(asked.label === undefined
    ? {}
    : { objectSelector: { matchExpressions: [{ key: asked.label, operator: 'Exists' }] } }),
});

/** Runs for ever beside its cluster, and keeps nothing: all that it knows is in the API server. */
function deployment(provider: Provider): KubeObject {
  const labels = labelsOf(provider);
  return made(provider, ['apps/v1', 'Deployment', 'manager'], {
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: podSpec(provider) },
    },
  });
}

const podSpec = ({ args, ports: names }: Provider): object => ({
  serviceAccountName: account,
  terminationGracePeriodSeconds: 10,
  tolerations: ['master', 'control-plane'].map((role) => ({
    key: `node-role.kubernetes.io/${role}`,
    operator: 'Exists',
    effect: 'NoSchedule',
  })),
  securityContext: restrictedPod.pod,
  containers: [
    {
      name: 'manager',
      image,
      args: ['capi', 'manager', ...args],
      env: [{ name: 'BOOTWRIGHT_IMAGE', value: image }],
      ports: names.map((name) => ({ name, containerPort: ports[name] })),
      readinessProbe: { httpGet: { path: '/readyz', port: 'health' } },
      livenessProbe: { httpGet: { path: '/healthz', port: 'health' } },
      volumeMounts: [{ name: 'certificate', mountPath: certificateFolder, readOnly: true }],
      terminationMessagePolicy: 'FallbackToLogsOnError',
      securityContext: restrictedPod.container,
      resources: {
        requests: { cpu: '50m', memory: '128Mi' },
        limits: { memory: '512Mi' },
      },
    },
  ],
  volumes: [{ name: 'certificate', secret: { secretName: certificateSecret } }],
});

/** Flags that both providers get. */
const sharedArgs = [
  `--webhook-address=:${ports.webhook}`,
  `--health-address=:${ports.health}`,
  `--metrics=:${ports.metrics}`,
  `--certificate-folder=${certificateFolder}`,
];

const bootstrapNamespace = namespaceOf('bootstrap');
const inventoryService = 'inventory';
const inventoryHost = `\${BOOTWRIGHT_INVENTORY_HOST:=${inventoryService}.${bootstrapNamespace}.svc}`;

const bootstrap: Provider = {
  of: 'bootstrap',
  namespace: bootstrapNamespace,
  crds: bootstrapCrds,
  webhooks: [
    webhook(bootstrapNamespace, 'bootstrapconfig', {
      ...{ path: webhookPaths.bootstrapConfig, ...bootstrapConfigs },
      resources: [bootstrapConfigs.plural, 'openshiftbootstrapconfigtemplates'],
    }),
  ],
  names: [inventoryHost],
  addresses: ['${BOOTWRIGHT_INVENTORY_IP:=127.0.0.1}'],
  args: [
    '--controllers=bootstrap',
    ...sharedArgs,
    `--inventory-address=:${ports.inventory}`,
    `--inventory-url=https://${inventoryHost}`,
  ],
  ports: ['webhook', 'health', 'metrics', 'inventory'],
};

const controlPlaneNamespace = namespaceOf('control-plane');
const controlPlane: Provider = {
  of: 'controlPlane',
  namespace: controlPlaneNamespace,
  crds: [controlPlaneCrd],
  webhooks: [
    webhook(controlPlaneNamespace, 'controlplane', {
      ...{ path: webhookPaths.controlPlane, ...controlPlanes },
      resources: [controlPlanes.plural],
    }),
    webhook(controlPlaneNamespace, 'machinehealthcheck', {
      ...{ path: webhookPaths.healthCheck, ...machineHealthChecks, isAdvice: true },
      resources: [machineHealthChecks.plural],
    }),
    ...(['manifests', 'installState'] as const).map((name) =>
      webhook(controlPlaneNamespace, name.toLowerCase(), {
        ...{ path: webhookPaths[name], group: '', version: 'v1', resources: ['secrets'] },
        label: name === 'manifests' ? ownNames.installManifests : ownNames.installState,
      }),
    ),
  ],
  names: [],
  args: ['--controllers=control-plane', ...sharedArgs],
  ports: ['webhook', 'health', 'metrics'],
};

/** The address that hosts reach: of a load balancer, unless the management cluster has another way in. */
const inventory = made(bootstrap, ['v1', 'Service', inventoryService], {
  spec: {
    type: '${BOOTWRIGHT_INVENTORY_SERVICE_TYPE:=LoadBalancer}',
    selector: labelsOf(bootstrap),
    ports: [{ name: 'inventory', port: 443, targetPort: 'inventory' }],
  },
});

const components = (
  provider: Provider,
  more: readonly KubeObject[] = [],
): readonly KubeObject[] => [
  made(provider, ['v1', 'Namespace', provider.namespace], {}),
  ...provider.crds,
  ...access(provider),
  ...certificates(provider),
  ...webhooks(provider),
  ...more,
  deployment(provider),
];

/**
 * The objects of each provider, as clusterctl installs them, in the order in which they are applied. What is written as `${NAME:=default}`
 * is replaced by clusterctl, or by whoever applies them.
 */
export const providerComponents: Readonly<
  Record<keyof typeof providerNames, readonly KubeObject[]>
> = {
  bootstrap: components(bootstrap, [inventory]),
  controlPlane: components(controlPlane),
};
