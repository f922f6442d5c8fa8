import type { KubeKind, KubeObject } from '../ports/kube.ts';
import {
  bootstrapConfigs,
  bootstrapConfigTemplates,
  bootstrapConfigType,
  capiNames,
  controlPlanes,
  controlPlaneType,
  providerNames,
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

const column = (name: string, jsonPath: string, more: object = {}) => ({
  type: 'string',
  name,
  jsonPath,
  ...more,
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
        // Core chooses the version of a kind by its contract (Cluster API book, "API version
        // labels").
        'cluster.x-k8s.io/v1beta1': name,
        'cluster.x-k8s.io/v1beta2': name,
      },
    },
    spec: {
      group,
      scope: 'Namespaced',
      names: {
        kind,
        listKind: `${kind}List`,
        plural: names,
        singular: kind.toLowerCase(),
        shortNames: [shortName],
        categories: ['cluster-api'],
      },
      versions: [
        {
          name,
          served: true,
          storage: true,
          additionalPrinterColumns: columns,
          ...more,
          schema: { openAPIV3Schema: schema },
        },
      ],
    },
  };
}

/** The definition of `OpenShiftControlPlane`. */
export const controlPlaneCrd: KubeObject = definition('controlPlane', {
  kind: controlPlaneType.kind,
  plural: controlPlanes,
  shortName: 'oscp',
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
    celRule(
      "oldSelf.spec.replicas != 1 || self.spec.replicas == 1 || !has(oldSelf.status) || !has(oldSelf.status.assets) || has(oldSelf.status.conditions) && oldSelf.status.conditions.exists(one, one.type == 'BootstrapComplete' && one.status == 'True')",
      'spec.replicas: masters can be added once the single node is installed',
    ),
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
    kind: bootstrapConfigType.kind,
    plural: bootstrapConfigs,
    shortName: 'osbc',
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
    kind: `${bootstrapConfigType.kind}Template`,
    plural: bootstrapConfigTemplates,
    shortName: 'osbct',
    columns: [age],
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
