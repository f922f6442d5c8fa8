import { Buffer } from 'node:buffer';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import {
  images,
  machineConfig,
  machineConfigObject,
  osConfig,
} from '../../../test/layering/samples.ts';
import { buildContext, registriesWithBase } from './build-plan.ts';

const rendered = (spec = {}): string =>
  buildContext(osConfig(), machineConfig(spec)).get('Containerfile') ?? '';

describe('buildContext', () => {
  it('writes the stages of the cluster with the Containerfile of the user last', () => {
    const stages = rendered()
      .split('\n')
      .filter((line) => line.startsWith('FROM '));
    expect(stages).toEqual([
      `FROM ${images.baseOSContainerImage} AS extract`,
      `FROM ${images.baseOSContainerImage} AS configs`,
      'FROM configs AS final',
    ]);
    expect(rendered()).toMatch(/install httpd && ostree container commit\n$/);
  });

  it('labels the image with the MachineConfig, the pool and the base image', () => {
    const name = `rendered-master-${'0'.repeat(32)}`;
    expect(rendered()).toContain(
      `LABEL machineconfig=${name}\nLABEL machineconfigpool=master\nLABEL baseOSContainerImage=${images.baseOSContainerImage}\n`,
    );
  });

  it('installs the packages of extensions from the extensions image', () => {
    const text = rendered({ extensions: ['usbguard', 'kerberos'] });
    expect(text).toContain(`from=${images.baseOSExtensionsContainerImage},source=/`);
    expect(text).toContain('rpm-ostree install krb5-workstation libkadm5 usbguard && \\\n');
    expect(text).not.toContain('dnf shell');
    expect(rendered()).not.toContain('--mount');
  });

  it('swaps the kernel in one transaction', () => {
    const text = rendered({ kernelType: 'realtime' });
    expect(text).toContain('rpm --quiet -q kernel-rt-core');
    expect(text).toMatch(/'install kernel-rt-core .*kernel-rt-kvm' run \| dnf shell/);
  });

  it('appends a Containerfile without FROM to the stage of the MachineConfig', () => {
    const content = 'RUN dnf install -y tcpdump && ostree container commit\n';
    const config = osConfig({ containerFile: [{ content }] });
    const text = buildContext(config, machineConfig()).get('Containerfile')!;
    expect(text.endsWith(`\n${content}`)).toBe(true);
    const stages = text.split('\n').filter((line) => line.startsWith('FROM '));
    expect(stages.at(-1)).toMatch(/ AS configs$/);
  });

  it('packs the unchanged MachineConfig reproducibly', () => {
    const files = buildContext(osConfig(), machineConfig());
    const packed = files.get('machineconfig/machineconfig.json.gz')!;
    const text = gunzipSync(Buffer.from(packed, 'base64')).toString('utf8');
    expect(JSON.parse(text)).toEqual(machineConfigObject());
    expect(buildContext(osConfig(), machineConfig())).toEqual(files);
  });

  it.each([
    ['layering.pools-differ', () => buildContext(osConfig({}, 'worker'), machineConfig())],
    [
      'layering.no-extensions-image',
      () => rendered({ extensions: ['usbguard'], baseOSExtensionsContainerImage: '' }),
    ],
    ['layering.extension-unknown', () => rendered({ extensions: ['usbgard'] })],
    ['layering.kernel-unknown', () => rendered({ kernelType: 'rt' })],
  ])('fails with %s', (code, call) => {
    expect(call).toThrow(expect.objectContaining({ code }) as Error);
  });
});

const base = `quay.io/release/os@sha256:${'a'.repeat(64)}`;
const staged = `192.0.2.2:22626/layering/os@sha256:${'a'.repeat(64)}`;
const entry = `[[registry]]\nprefix = "${base}"\nlocation = "${base}"\n[[registry.mirror]]\nlocation = "${staged}"\n`;

it.each([
  ['no settings', '', entry],
  ['settings', 'short-name-mode = ""\n', `short-name-mode = ""\n\n${entry}`],
  ['settings of version 1', "[registries.search]\nregistries = ['a']\n", entry],
])('registriesWithBase mirrors only the base image, with %s', (_, settings, expected) => {
  expect(registriesWithBase(settings, base, staged)).toBe(expected);
});
