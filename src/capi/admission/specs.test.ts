import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../ports/kube.ts';
import { bootstrapConfigFindings, controlPlaneFindings, healthCheckWarning } from './specs.ts';

type Change = Readonly<Record<string, unknown>>;

const image = `registry.example.com/release@sha256:${'a'.repeat(64)}`;
const reference = { apiGroup: 'infrastructure.example.com', kind: 'HostTemplate', name: 'masters' };
const configSpec = { agent: { image }, installDevice: '/dev/vda' };

const controlPlane = (change: Change = {}): KubeObject => ({
  metadata: { name: 'demo', namespace: 'demo' },
  spec: {
    ...{ replicas: 3, distributionVersion: '4.19.7', releaseImage: image, configSpec },
    machineTemplate: { spec: { infrastructureRef: reference } },
    installStateSecretRef: { name: 'demo-install-state' },
    ...change,
  },
});

const withReference = (change: Change): Change => ({
  machineTemplate: { spec: { infrastructureRef: { ...reference, ...change } } },
});

const named = (name: string): Change => ({
  configSpec: { ...configSpec, nodeRegistration: { name } },
});

const fieldsOf = (texts: readonly string[]): readonly string[] =>
  texts.map((text) => text.split(':')[0] ?? '');

describe('R30 to R37, R51: OpenShiftControlPlane', () => {
  it.each<readonly [what: string, change: Change, ...fields: string[]]>([
    ['that is right', {}],
    ['of a single node', { replicas: 1 }],
    ['without a number, which is 3', { replicas: undefined }],
    ['of two', { replicas: 2 }, 'spec.replicas'],
    [
      'whose masters report to another inventory',
      { configSpec: { ...configSpec, inventory: { mode: 'External', url: 'https://a.test' } } },
      'spec.configSpec.inventory.mode',
    ],
    ['of none', { replicas: 0 }, 'spec.replicas'],
    ['of an image that is none', { releaseImage: 'a b' }, 'spec.releaseImage'],
    [
      'of an incomplete reference',
      withReference({ name: '', apiGroup: undefined }),
      'spec.machineTemplate.spec.infrastructureRef.apiGroup',
      'spec.machineTemplate.spec.infrastructureRef.name',
    ],
    [
      'whose metadata say whose a Machine is',
      {
        machineTemplate: {
          spec: { infrastructureRef: reference },
          metadata: {
            labels: { rack: 'r1', 'cluster.x-k8s.io/control-plane-name': 'other' },
            annotations: { 'bootwright.io/role': 'bootstrap' },
          },
        },
      },
      'spec.machineTemplate.metadata.labels[cluster.x-k8s.io/control-plane-name]',
      'spec.machineTemplate.metadata.annotations[bootwright.io/role]',
    ],
    [
      'whose Machines would get labels that are none',
      {
        machineTemplate: {
          spec: { infrastructureRef: reference },
          metadata: { labels: { rack: 'r1', 'a b': '', role: '?' } },
        },
      },
      'spec.machineTemplate.metadata.labels',
    ],
    [
      'whose Machines would get gates and taints that are none',
      {
        machineTemplate: {
          spec: {
            infrastructureRef: reference,
            readinessGates: [{ conditionType: 'a.test/Ready' }, { conditionType: 'not a type!' }],
            taints: [
              { key: 'a.test/b', effect: 'NoSchedule', propagation: 'Always' },
              { key: 'a', value: '?', effect: 'NoSchedule', propagation: 'Always' },
            ],
          },
        },
      },
      'spec.machineTemplate.spec.readinessGates',
      'spec.machineTemplate.spec.taints',
    ],
    ...(
      [
        { matchLabels: { 'a b': 'c' } },
        { matchLabels: { a: 'b,c!=d' } },
        { matchExpressions: [{ key: 'a', operator: 'In' }] },
        { matchExpressions: [{ key: 'a', operator: 'Exists', values: ['b'] }] },
        { matchExpressions: [{ key: 'a', operator: 'NotIn', values: ['b', 'c)'] }] },
      ] as const
    ).map(
      (manifestsSelector) =>
        [
          `of the selector ${JSON.stringify(manifestsSelector)}`,
          { manifestsSelector },
          'spec.manifestsSelector',
        ] as const,
    ),
    [
      'of a selector of all kinds',
      {
        manifestsSelector: {
          matchLabels: { 'example.com/a': '', b: 'c' },
          matchExpressions: [
            { key: 'a', operator: 'DoesNotExist' },
            { key: 'b', operator: 'NotIn', values: ['x', ''] },
          ],
        },
      },
    ],
    ['without a state', { installStateSecretRef: {} }, 'spec.installStateSecretRef.name'],
    [
      'of a disk elsewhere',
      { configSpec: { installDevice: '/etc/a' } },
      'spec.configSpec.installDevice',
    ],
    [
      'of a disk by a way around',
      { configSpec: { installDevice: '/dev/../etc/a' } },
      'spec.configSpec.installDevice',
    ],
    ['of no disk', { configSpec: {} }, 'spec.configSpec.installDevice'],
    ['of no hint', { configSpec: { rootDeviceHints: {} } }, 'spec.configSpec.installDevice'],
    ['of a disk by hints', { configSpec: { rootDeviceHints: { wwn: '0x5' } } }],
    [
      'of a disk twice',
      { configSpec: { installDevice: '/dev/vda', rootDeviceHints: { wwn: '0x5' } } },
      'spec.configSpec.rootDeviceHints',
    ],
    ['of no disk, into the system that runs', { configSpec: { writeMode: 'ExistingRoot' } }],
    ['of one name for all', named('node-0'), 'spec.configSpec.nodeRegistration.name'],
    [
      'of a name that nobody resolves',
      named('$HOSTNAME'),
      ...['spec.configSpec.nodeRegistration.name', 'spec.configSpec.nodeRegistration.name'],
    ],
    [
      'of an inventory that is no URL',
      { configSpec: { ...configSpec, inventory: { url: 'https://a.test:99999' } } },
      'spec.configSpec.inventory.url',
    ],
    ...['v4.19.7', '4.19'].map(
      (distributionVersion) =>
        [
          `of the version ${distributionVersion}`,
          { distributionVersion },
          'spec.distributionVersion',
        ] as const,
    ),
    [
      'of a proxy with a password that is not escaped',
      { configSpec: { ...configSpec, proxy: { httpProxy: 'http://u:p@ss#w@proxy.test:3128' } } },
      'spec.configSpec.proxy.httpProxy',
    ],
    [
      'whose kubelets would not start',
      {
        configSpec: {
          ...configSpec,
          nodeRegistration: {
            name: 'm $METADATA_UUID',
            providerID: 'a\nb',
            labels: { a: 'b c', 'b c': '', 'x/y/z': '', d: 'e,f=g' },
          },
        },
      },
      ...['name', 'providerID', 'labels'].map(
        (member) => `spec.configSpec.nodeRegistration.${member}`,
      ),
    ],
    [
      'whose kubelets register what is right',
      {
        configSpec: {
          ...configSpec,
          nodeRegistration: {
            name: 'M-$METADATA_NAME.example.com',
            providerID: 'lab://$METADATA_UUID',
            labels: { a: '', 'metal3.io/uuid': '$METADATA_UUID', 'b.c': 'D_e' },
          },
        },
      },
    ],
    ['of a name by the metadata', named('m-$METADATA_NAME')],
    ['of a name by the uid', named('$METADATA_UUID')],
    ['of a name for its single node', { ...named('node-0'), replicas: 1 }],
    [
      'with an override that is no Ignition',
      { configSpec: { ...configSpec, ignitionConfigOverride: '{"ignition":{"version":"9"}}' } },
      'spec.configSpec.ignitionConfigOverride',
    ],
    [
      'with an override',
      { configSpec: { ...configSpec, ignitionConfigOverride: '{"ignition":{"version":"3.2.0"}}' } },
    ],
  ])('%s', (...[, change, ...fields]) => {
    const { errors, warnings } = controlPlaneFindings(controlPlane(change as Change), undefined);
    expect([fieldsOf(errors), warnings]).toEqual([fields, []]);
  });

  it('is warned of a release by its tag', () => {
    const { errors, warnings } = controlPlaneFindings(
      controlPlane({ releaseImage: 'registry.example.com/release:4.19.7' }),
      undefined,
    );
    expect([errors, fieldsOf(warnings)]).toEqual([[], ['spec.releaseImage']]);
  });

  it.each<readonly [what: string, change: Change, ...fields: string[]]>([
    ['more masters', { replicas: 5 }],
    ['fewer masters', { replicas: 1 }, 'spec.replicas'],
    [
      'another template',
      withReference({ name: 'other' }),
      'spec.machineTemplate.spec.infrastructureRef',
    ],
    ['another order of members', withReference({ apiGroup: reference.apiGroup })],
    ['the mode that is the default', { bootstrap: { mode: 'Pivot' } }],
    ['another mode', { bootstrap: { mode: 'Dedicated' } }, 'spec.bootstrap.mode'],
    [
      'other labels of Machines',
      {
        machineTemplate: {
          metadata: { labels: { a: 'b' } },
          spec: { infrastructureRef: reference, deletion: { nodeDrainTimeoutSeconds: 3 } },
        },
      },
    ],
    ['another state', { installStateSecretRef: { name: 'other' } }, 'spec.installStateSecretRef'],
    [
      'a new release',
      {
        releaseImage: image.replaceAll('a'.repeat(64), 'b'.repeat(64)),
        distributionVersion: '4.19.8',
      },
    ],
  ])('changes: %s', (...[, change, ...fields]) => {
    expect(
      fieldsOf(controlPlaneFindings(controlPlane(change as Change), controlPlane()).errors),
    ).toEqual(fields);
  });
});

it.each([
  ['another for all', named('node-1'), named('node-0'), 1],
  ['masters beside the one that has it', named('node-0'), { ...named('node-0'), replicas: 1 }, 1],
  // It was stored when nobody checked it, and our own writes to it must not fail.
  ['nothing', named('node-0'), named('node-0'), 0],
  ['to one for each', named('$METADATA_NAME'), named('node-0'), 0],
] as const)('a name for all masters is refused where it changes: %s', (...[, is, was, count]) => {
  const { errors } = controlPlaneFindings(controlPlane(is), controlPlane(was));
  expect(errors).toHaveLength(count);
});

it.each([
  ['before its files are there', {}, 0],
  ['while it is installed', { assets: {}, conditions: [] }, 1],
  [
    'once it is',
    { assets: {}, conditions: [{ type: 'BootstrapComplete', status: 'True', reason: 'Complete' }] },
    0,
  ],
] as const)('a single node gets further masters %s: %o', (_, status, count) => {
  const before = { ...controlPlane({ replicas: 1 }), status };
  expect(controlPlaneFindings(controlPlane(), before).errors).toHaveLength(count);
});

describe('OpenShiftBootstrapConfig', () => {
  const config = (spec: Change, status?: Change): KubeObject => ({
    ...{ kind: 'OpenShiftBootstrapConfig', metadata: { name: 'a' }, spec },
    ...(status === undefined ? {} : { status }),
  });
  const changed = { ...configSpec, installDevice: '/dev/vdb' };

  it.each([
    ['before its data Secret is there', {}, []],
    ['after it is there', { dataSecretName: 'a' }, ['spec']],
  ])('changes %s', (_, status, fields) => {
    const { errors } = bootstrapConfigFindings(config(changed), config(configSpec, status));
    expect(fieldsOf(errors)).toEqual(fields);
  });

  it('is checked in a template too, which may always change', () => {
    const template = (spec: Change): KubeObject => ({
      ...{ kind: 'OpenShiftBootstrapConfigTemplate', metadata: { name: 'a' } },
      ...{ spec: { template: { spec } }, status: { dataSecretName: 'a' } },
    });
    expect(bootstrapConfigFindings(template(changed), template(configSpec)).errors).toEqual([]);
    const { errors } = bootstrapConfigFindings(template({}), undefined);
    expect(fieldsOf(errors)).toEqual(['spec.template.spec.installDevice']);
  });
});

describe('MachineHealthCheck', () => {
  it.each([
    [undefined, true],
    [600, true],
    [3599, true],
    [3600, false],
    [0, false],
  ])('with a start-up time of %s s: %s', (nodeStartupTimeoutSeconds, isWarned) => {
    const checks = nodeStartupTimeoutSeconds === undefined ? {} : { nodeStartupTimeoutSeconds };
    const warning = healthCheckWarning({ metadata: { name: 'a' }, spec: { checks } });
    expect(warning !== undefined).toBe(isWarned);
  });
});
