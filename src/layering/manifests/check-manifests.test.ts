import { describe, expect, it } from 'vitest';
import {
  manifestFile,
  osConfigManifest,
  pushSecretManifest,
} from '../../../test/layering/manifests.ts';
import { readOsManifests } from './bootstrap-manifests.ts';
import { buildRequestsIn } from './check-manifests.ts';

const secret = manifestFile('secret.yaml', pushSecretManifest());
const orders = (...texts: readonly string[]) =>
  buildRequestsIn(
    readOsManifests([
      secret,
      ...texts.map((text, index) => manifestFile(`os-${index}.yaml`, text)),
    ]),
  );
const annotated = (key: string): string =>
  osConfigManifest('worker').replace(
    '  name: worker\nspec',
    `  name: worker\n  annotations:\n    machineconfiguration.openshift.io/${key}: x\nspec`,
  );

describe('buildRequestsIn', () => {
  it('puts the masters first, with their push Secret', () => {
    const both = `${osConfigManifest('arbiter')}---\n${osConfigManifest('master')}`;
    const { toBuild } = orders(osConfigManifest('worker'), both);
    expect(toBuild.map(({ config }) => config.name)).toEqual(['master', 'arbiter', 'worker']);
    expect(toBuild[0]?.pushSecret).toBe('push');
    expect(toBuild[0]?.baseSecret).toBeUndefined();
  });

  it("reads the Secret of the base image unless it is the operator's", () => {
    const named = (name: string): string =>
      osConfigManifest('master').replace(
        '  renderedImagePushSecret',
        `  baseImagePullSecret:\n    name: ${name}\n  renderedImagePushSecret`,
      );
    expect(orders(named('push')).toBuild[0]?.baseSecret).toBe('push');
    expect(orders(named('global-pull-secret-copy')).toBuild[0]?.baseSecret).toBeUndefined();
    expect(() => orders(named('none'))).toThrow(/os-0\.yaml:11: .* no Secret none/);
  });

  it.each(['pre-built-image', 'current-machine-os-build'])(
    'does not build a MachineOSConfig with the annotation %s',
    (key) => {
      const { toBuild, builtBefore } = orders(osConfigManifest('master'), annotated(key));
      expect(toBuild.map(({ config }) => config.name)).toEqual(['master']);
      expect(builtBefore).toEqual(['worker']);
    },
  );

  it('accepts a pool from the manifests', () => {
    const pool = 'kind: MachineConfigPool\nmetadata: {name: infra}\n';
    expect(orders(osConfigManifest('infra'), pool).toBuild).toHaveLength(1);
  });

  it.each<[string, string, string, RegExp]>([
    ['no pool', osConfigManifest('infra'), 'os-config-invalid', /os-0\.yaml:7: .*Pool infra/],
    [
      'another pool',
      osConfigManifest('master').replace('  name: master\nspec', '  name: other\nspec'),
      'os-config-invalid',
      /os-0\.yaml:4: .*must match/,
    ],
    [
      'a single-label host',
      osConfigManifest('master', 'bootstrap:5000/x:t'),
      'os-config-invalid',
      /os-0\.yaml:12: spec\.renderedImagePushSpec/,
    ],
    [
      'two namespaces',
      osConfigManifest('master', 'a.example.com/a/b/x:t'),
      'os-config-invalid',
      /os-0\.yaml:12: .*at most one namespace/,
    ],
    [
      'an unknown field in the spec',
      osConfigManifest('master').replace('containerFile', 'containerFiles'),
      'os-config-invalid',
      /os-0\.yaml:13: spec\.containerFiles: unknown field: did you mean containerFile\?$/,
    ],
    [
      'a Containerfile of one architecture',
      osConfigManifest('master').replace(
        '  - content',
        '  - containerfileArch: ARM64\n    content',
      ),
      'os-config-invalid',
      /os-0\.yaml:14: .*NoArch/,
    ],
    [
      'a missing push Secret',
      osConfigManifest('master').replace('name: push', 'name: gone'),
      'os-config-invalid',
      /os-0\.yaml:11: .*no Secret gone/,
    ],
    [
      'two MachineOSConfigs of one pool',
      `${osConfigManifest('master')}---\n${osConfigManifest('master')}`,
      'os-config-twice',
      /os-0\.yaml:4 and .*os-0\.yaml:21$/,
    ],
    [
      'the integrated registry of the cluster',
      osConfigManifest('master', 'image-registry.openshift-image-registry.svc:5000/ns/x:t'),
      'integrated-registry',
      /os-0\.yaml:12: /,
    ],
    [
      'an older API version',
      osConfigManifest('master').replace('io/v1', 'io/v1alpha1'),
      'wrong-object',
      /os-0\.yaml:1: /,
    ],
    [
      'a MachineOSConfig in a List',
      `apiVersion: v1\nkind: List\nitems:\n- kind: Pod\n- ${osConfigManifest('master').trim().replaceAll('\n', '\n  ')}\n`,
      'wrong-object',
      /os-0\.yaml:5: a MachineOSConfig is in a List/,
    ],
    [
      'a MachineOSConfigList',
      'kind: MachineOSConfigList\nitems:\n- metadata: {name: master}\n',
      'wrong-object',
      /os-0\.yaml:3: a MachineOSConfig is in a List/,
    ],
    ['invalid YAML', 'kind: MachineOSConfig\n\tx', 'malformed-file', /os-0\.yaml:\d+: /],
  ])('refuses %s', (...[, text, code, message]) => {
    expect(() => orders(text)).toThrow(
      expect.objectContaining({
        code: `layering.${code}`,
        kind: 'input',
        message: expect.stringMatching(message) as string,
      }),
    );
  });

  it.each([
    ['of another type', pushSecretManifest('push', 'Opaque')],
    [
      'of the type dockercfg',
      pushSecretManifest('push', 'kubernetes.io/dockercfg').replace(
        '.dockerconfigjson',
        '.dockercfg',
      ),
    ],
    ['without its key', pushSecretManifest().replace('  .dockerconfigjson', '  other')],
    ['in another namespace', pushSecretManifest().replace('openshift-machine', 'other')],
  ])('refuses a Secret %s', (...[, text]) => {
    const files = [
      manifestFile('s.yaml', text),
      manifestFile('os.yaml', osConfigManifest('master')),
    ];
    expect(() => buildRequestsIn(readOsManifests(files))).toThrow(
      expect.objectContaining({ code: 'layering.os-config-invalid' }),
    );
  });
});
