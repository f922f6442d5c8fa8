import { describe, expect, it } from 'vitest';
import {
  images,
  machineConfig,
  machineConfigObject,
  osConfigObject,
} from '../../../test/layering/samples.ts';
import { lineless } from './source-object.ts';
import { readMachineConfigPool } from './machine-config-pool.ts';
import { readMachineConfig } from './machine-config.ts';
import { defaultMachineOSConfig, readMachineOSConfig, userContainerfile } from './os-config.ts';
import { imagesOfMachineConfig, readOSImages } from './build-name.ts';
import type { Fields } from '../../lib/fields.ts';

describe('readMachineOSConfig', () => {
  const read = (object: Fields) => readMachineOSConfig(lineless(object, 'f'));

  it('adds defaults and drops null members', () => {
    const config = read(
      osConfigObject({ containerFile: [{ content: 'x' }], baseImagePullSecret: null }),
    );
    expect(config.spec.containerFile).toEqual([{ containerfileArch: 'NoArch', content: 'x' }]);
    expect(config.spec).not.toHaveProperty('baseImagePullSecret');
    expect(userContainerfile(config)).toBe('x');
  });

  it.each([
    [{ kind: 'Other' }, 'layering.wrong-object', /a MachineOSConfig .* is expected/],
    [{ apiVersion: 'v1' }, 'layering.wrong-object', /machineconfiguration\.openshift\.io\/v1/],
    [{ spec: null }, 'layering.os-config-invalid', /spec: it is missing/],
    [
      { spec: { a: 1 } },
      'layering.os-config-invalid',
      /machineConfigPool: it is.*; .*spec\.a: unkn/,
    ],
    [
      { metadata: { name: 'other' } },
      'layering.os-config-invalid',
      /metadata\.name: it must match spec\.machineConfigPool\.name/,
    ],
    [
      { metadata: { name: 'master', labels: { a: true } } },
      'layering.os-config-invalid',
      /metadata\.labels\.a: must be a text/,
    ],
  ])('refuses %j', (change, code, message) => {
    const call = () => read({ ...osConfigObject(), ...change });
    expect(call).toThrow(expect.objectContaining({ code }) as Error);
    expect(call).toThrow(message);
  });

  it('reads the default MachineOSConfig of a pool', () => {
    const made = defaultMachineOSConfig('infra', 'r.example.com/ocl/infra:latest', 'push');
    const config = read(made);
    expect(config).toMatchObject({
      name: 'infra',
      spec: { renderedImagePushSecret: { name: 'push' } },
    });
    expect(userContainerfile(config)).toMatch(/^FROM configs AS final\n/);
  });
});

describe('readMachineConfig', () => {
  it.each([
    [{ metadata: { name: '99-master-ssh' } }, 'layering.machine-config-invalid', /is not rendered/],
    [{ spec: { config: {} } }, 'layering.machine-config-invalid', /osImageURL .* names no image/],
    [{ spec: { osImageURL: 'x' } }, 'layering.machine-config-invalid', /is no Ignition config/],
    [{ kind: 'MachineConfigPool' }, 'layering.wrong-object', /a MachineConfig with a name/],
  ])('refuses %j', (change, code, message) => {
    const call = () => readMachineConfig(lineless({ ...machineConfigObject(), ...change }, 'f'));
    expect(call).toThrow(expect.objectContaining({ code }) as Error);
    expect(call).toThrow(message);
  });
});

describe('readMachineConfigPool', () => {
  const object = (sources: readonly string[]): Fields => ({
    kind: 'MachineConfigPool',
    metadata: { name: 'master' },
    spec: {
      configuration: { name: 'rendered-master-1', source: sources.map((name) => ({ name })) },
    },
  });

  it.each([
    [{ kind: 'MachineConfig' }, /a MachineConfigPool with a name is expected/],
    [{ spec: {} }, /pool master has no rendered MachineConfig yet/],
  ])('refuses %j', (change, message) => {
    expect(() => readMachineConfigPool(lineless({ ...object([]), ...change }, 'f'))).toThrow(
      message,
    );
  });
});

describe('readOSImages', () => {
  const fields = { baseOSContainerImage: 'b', releaseVersion: '4.20.1' };

  it('reads the ConfigMap', () => {
    expect(readOSImages({ kind: 'ConfigMap', data: fields })).toEqual({
      baseOSContainerImage: 'b',
      baseOSExtensionsContainerImage: '',
      osImageURL: '',
      releaseVersion: '4.20.1',
    });
  });

  it('refuses a ConfigMap without a release', () => {
    const data = { baseOSContainerImage: 'b' };
    expect(() => readOSImages({ data })).toThrow(/releaseVersion: /);
  });

  it('imagesOfMachineConfig reads the images from a rendered MachineConfig', () => {
    expect(imagesOfMachineConfig(machineConfig())).toEqual(images);
  });

  it('imagesOfMachineConfig refuses a MachineConfig without a release', () => {
    const config = { ...machineConfig(), releaseVersion: '' };
    expect(() => imagesOfMachineConfig(config)).toThrow(/no annotation .*release-image-version/);
  });
});
