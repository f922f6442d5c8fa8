import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../ports/kube.ts';
import { renderPool } from './render.ts';

const operatorKey = 'machineconfiguration.openshift.io';
const role = `${operatorKey}/role`;
/** As the operator notes the release of a rendered MachineConfig, and of its ControllerConfig. */
const released = (version: string) => ({ [`${operatorKey}/release-image-version`]: version });
const osImageURL = `r.test/os@sha256:${'a'.repeat(64)}`;
const file = (path: string, text: string) => ({ path, contents: { source: `data:,${text}` } });
const files = (...all: object[]) => ({ ignition: { version: '3.2.0' }, storage: { files: all } });

const source = (name: string, spec: object, of = 'worker'): KubeObject => ({
  metadata: { name, labels: { [role]: of } },
  spec,
});
const base = source('00-worker', { osImageURL, config: files(file('/etc/a', 'base')) });

const poolOf = (selector: object | undefined, configured?: string): KubeObject => ({
  metadata: { name: 'infra', uid: 'u1' },
  spec: {
    ...(selector === undefined ? {} : { machineConfigSelector: selector }),
    configuration: { name: configured ?? '' },
  },
});
const both = { matchExpressions: [{ key: role, operator: 'In', values: ['worker', 'infra'] }] };

const rendered = (sources: readonly KubeObject[], pool = poolOf(both)) => {
  const rendering = renderPool(pool, sources);
  if ('reason' in rendering) throw new Error(rendering.reason);
  return { ...rendering, spec: rendering.config['spec'] as Record<string, unknown> };
};
const reasonOf = (sources: readonly KubeObject[], pool = poolOf(both)): string | undefined => {
  const rendering = renderPool(pool, sources);
  return 'reason' in rendering ? rendering.reason : undefined;
};

describe('renderPool', () => {
  it.each<[string, readonly object[], object]>([
    [
      'arguments in order',
      [{ kernelArguments: ['b'] }, { kernelArguments: ['a', 'b'] }],
      { kernelArguments: ['b', 'a', 'b'] },
    ],
    [
      'extensions in order',
      [{ extensions: ['usbguard'] }, { extensions: ['kerberos'] }],
      { extensions: ['usbguard', 'kerberos'] },
    ],
    [
      'the last kernel that is not the default',
      [{ kernelType: 'realtime' }, { kernelType: 'default' }],
      { kernelType: 'realtime' },
    ],
    ['the default kernel where nothing is said', [{}], { kernelType: 'default', fips: false }],
    ['FIPS of any', [{ fips: true }, { fips: false }], { fips: true }],
    ['the last image', [{ osImageURL: 'r.test/own:1' }, {}], { osImageURL: 'r.test/own:1' }],
    [
      'the last image of extensions',
      [{ baseOSExtensionsContainerImage: 'r.test/e:1' }, {}],
      { baseOSExtensionsContainerImage: 'r.test/e:1' },
    ],
  ])('takes %s', (_, specs, expected) => {
    const sources = specs.map((spec, index) => source(`5${index}-x`, spec));
    expect(rendered([...sources.reverse(), base]).spec).toMatchObject(expected);
  });

  it.each([undefined, null])('renders a config of no members where each has %s', (config) => {
    const { spec } = rendered([source('50', { osImageURL, config })]);
    expect(spec['config']).toEqual({ ignition: { version: '3.0.0' } });
  });

  it('merges Ignition by name, and what the pool adds after what is for all workers', () => {
    const own = source('01-infra', { config: files(file('/etc/a', 'infra')) }, 'infra');
    const later = source('99-worker', { config: files(file('/etc/a', 'late'), file('/b', 'b')) });
    const { spec, config, sources } = rendered([own, later, base]);
    expect(spec['config']).toEqual({
      ignition: { version: '3.2.0' },
      storage: {
        files: [
          { ...file('/etc/a', 'infra'), overwrite: true },
          { ...file('/b', 'b'), overwrite: true },
        ],
      },
    });
    expect(sources).toEqual(['00-worker', '01-infra', '99-worker']);
    expect(config.metadata).toMatchObject({
      name: expect.stringMatching(/^rendered-infra-[0-9a-f]{32}$/) as string,
      ownerReferences: [{ kind: 'MachineConfigPool', name: 'infra', uid: 'u1', controller: true }],
    });
  });

  it('converts what is of spec 2, and merges it with the rest of the pool', () => {
    const old = {
      ignition: { version: '2.2.0' },
      passwd: { users: [{ name: 'core', sshAuthorizedKeys: ['a'] }] },
      storage: { files: [{ filesystem: 'root', ...file('/etc/a', 'ssh') }] },
    };
    expect(rendered([base, source('99-worker-ssh', { config: old })]).spec['config']).toEqual({
      ignition: { version: '3.2.0' },
      passwd: { users: [{ name: 'core', sshAuthorizedKeys: ['a'] }] },
      storage: { files: [{ ...file('/etc/a', 'ssh'), overwrite: true }] },
    });
  });

  it('names the MachineConfig of spec 2 that cannot be converted', () => {
    const old = { ignition: { version: '2.2.0' }, networkd: { units: [{ name: 'a.network' }] } };
    expect(reasonOf([base, source('99-net', { config: old })])).toMatch(
      /99-net.*2\.2\.0.*networkd/,
    );
  });

  it('lets a file say that it overwrites nothing', () => {
    const spec = { config: files({ ...file('/c', 'c'), overwrite: false }) };
    expect(JSON.stringify(rendered([base, source('50', spec)]).spec)).toContain(
      '"overwrite":false',
    );
  });

  it('names by the content alone', () => {
    const name = (...all: readonly KubeObject[]): string => rendered(all).config.metadata.name;
    const more = source('50', { kernelArguments: ['a'] });
    expect(name(base, more)).toBe(
      name(more, { ...base, metadata: { ...base.metadata, uid: 'x' } }),
    );
    expect(name(base, more)).not.toBe(name(base));
  });

  it('keeps what the pool has where it says the same, and not where it does not', () => {
    const name = `rendered-infra-${'0'.repeat(32)}`;
    const { spec } = rendered([base]);
    const config = { ...(spec['config'] as object), ignition: { version: '3.5.0' } };
    const { fips: _, ...rest } = spec;
    const ownerReferences = [{ kind: 'MachineConfigPool', name: 'infra' }];
    const theirs = { metadata: { name, ownerReferences }, spec: { ...rest, config } };
    const pool = poolOf(both, name);
    expect(rendered([base, theirs], pool).config.metadata.name).toBe(name);
    const more = source('50', { kernelArguments: ['a'] });
    expect(rendered([base, theirs, more], pool).config.metadata.name).not.toBe(name);
    const broken = { ...theirs, spec: { ...rest, config: { ignition: { version: '9' } } } };
    expect(rendered([base, broken], pool).config.metadata.name).not.toBe(name);
  });

  it('keeps what the operator has written in other words, and takes its images from its ControllerConfig', () => {
    const release = {
      metadata: { name: 'machine-config-controller' },
      spec: { baseOSContainerImage: osImageURL, baseOSExtensionsContainerImage: 'r.test/e:1' },
    };
    const config = files(file('/etc/a', 'a%20b'), { path: '/etc/b' });
    const unnamed = source('00-worker', { config });
    const name = `rendered-infra-${'0'.repeat(32)}`;
    const theirs = {
      metadata: { name, ownerReferences: [{ kind: 'MachineConfigPool', name: 'infra' }] },
      spec: {
        ...{ osImageURL, baseOSExtensionsContainerImage: 'r.test/e:1', fips: false },
        ...{ kernelType: 'default', extensions: [], kernelArguments: [] },
        config: {
          ignition: { version: '3.5.0', proxy: {}, security: { tls: {} }, timeouts: {} },
          passwd: {},
          storage: {
            files: [
              { path: '/etc/b', overwrite: true, group: {}, user: {}, contents: { source: '' } },
              {
                ...{ path: '/etc/a', overwrite: true, mode: 420 },
                contents: {
                  compression: '',
                  source: 'data:text/plain;base64,YSBi',
                  verification: {},
                },
              },
            ],
          },
          systemd: {},
        },
      },
    };
    const rendering = renderPool(poolOf(both, name), [unnamed, theirs], release);
    expect(rendering).toMatchObject({ config: { metadata: { name } } });
    const without = renderPool(poolOf(both, name), [unnamed, theirs]);
    expect(without).toMatchObject({ isIncomplete: true });
    const empty = renderPool(poolOf(both, name), [unnamed], { ...release, spec: {} });
    expect(empty).toMatchObject({ isIncomplete: true });
    const named = renderPool(poolOf(both), [base], release);
    expect(named).toMatchObject({ config: { spec: { osImageURL } } });
  });

  it.each<[string, KubeObject | undefined, Record<string, string>]>([
    ['the ControllerConfig', { metadata: { name: 'c', annotations: released('4.23.1') } }, {}],
    ['what the pool had', undefined, released('4.23.1')],
  ])(
    'has the annotations without which the operator names no build: the release of %s',
    (...of) => {
      const [, release, annotations] = of;
      const name = `rendered-infra-${'0'.repeat(32)}`;
      const former = { metadata: { name, annotations }, spec: {} };
      const rendering = renderPool(poolOf(both, name), [base, former], release);
      const { config } = rendering as Extract<typeof rendering, { config: KubeObject }>;
      expect(config.metadata.name).not.toBe(name);
      expect(config.metadata.annotations).toMatchObject(released('4.23.1'));
      expect(
        config.metadata.annotations?.[`${operatorKey}/generated-by-controller-version`],
      ).toMatch(/./);
    },
  );

  it('takes no rendered MachineConfig for a source', () => {
    const { config } = rendered([base]);
    const isNot = { matchExpressions: [{ key: role, operator: 'NotIn', values: ['master'] }] };
    expect(rendered([base, config], poolOf(isNot)).sources).toEqual(['00-worker']);
  });

  const nothing = 'its machineConfigSelector finds no MachineConfig';
  it.each<[string, readonly KubeObject[], RegExp | string, KubeObject?]>([
    ['no selector', [base], nothing, poolOf(undefined)],
    ['a selector of everything', [base], nothing, poolOf({})],
    ['a selector that finds nothing', [base], nothing, poolOf({ matchLabels: { [role]: 'x' } })],
    [
      'no image',
      [source('50', { config: files() })],
      /^none of its MachineConfigs names an osImageURL, and ControllerConfig .* is not there/,
    ],
    ['an empty config', [source('50', { osImageURL, config: {} })], /^MachineConfig 50: /],
    [
      'an unknown kernel',
      [base, source('50', { kernelType: 'rt' })],
      'spec.kernelType rt is unknown',
    ],
    ['an unknown extension', [base, source('50', { extensions: ['x'] })], 'extension x is unknown'],
    [
      'kernel-devel beside another kernel',
      [base, source('50', { kernelType: 'realtime', extensions: ['kernel-devel'] })],
      /kernel-devel is not supported with kernelType realtime/,
    ],
    [
      'broken Ignition',
      [base, source('50', { config: { ignition: { version: '2.3.0' } } })],
      /^MachineConfig 50: /,
    ],
    [
      'a broken file',
      [base, source('50', { config: files({ path: 'a' }) })],
      /^MachineConfig 50: .*absolute/,
    ],
  ])('says why it cannot render: %s', (...[, sources, reason, pool]) => {
    expect(reasonOf(sources, pool)).toEqual(
      typeof reason === 'string' ? reason : expect.stringMatching(reason),
    );
  });
});
