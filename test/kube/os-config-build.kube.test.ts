import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Kube } from '../../mocks/kube/start.ts';
import { startRig } from '../../scripts/rig.ts';
import { buildName } from '../../src/layering/api/build-name.ts';
import {
  buildOwnership,
  handedOverStatus,
  machineOSBuildObject,
  seededBuildStatus,
} from '../../src/layering/api/os-build.ts';
import { defaultMachineOSConfig, readMachineOSConfig } from '../../src/layering/api/os-config.ts';
import { withDigest } from '../../src/lib/image-name.ts';
import { lineless } from '../../src/layering/api/source-object.ts';
import { machineOSBuilds, machineOSConfigs } from '../../src/kube/kinds.ts';

let rig: Kube;
beforeAll(async () => {
  rig = await startRig();
});
afterAll(() => rig.close());

const ref = (name: string) => ({ kind: machineOSBuilds, name });

describe('the objects of a hand-over', () => {
  it('are taken as they were made', async () => {
    const made = defaultMachineOSConfig({
      pool: 'infra',
      pushSpec: 'registry.example.com/ocl/infra:latest',
      pushSecret: 'push',
    });
    const config = readMachineOSConfig(lineless(made, 'made'));
    const renderedConfig = `rendered-infra-${'0'.repeat(32)}`;
    const empty = {
      apiVersion: '',
      fieldPath: '',
      kind: '',
      namespace: '',
      resourceVersion: '',
      uid: '',
    };
    const name = buildName({
      config,
      pool: { name: 'infra', configuration: { ...empty, name: renderedConfig, source: [] } },
      images: {
        baseOSContainerImage: 'r.example.com/base@sha256:0',
        baseOSExtensionsContainerImage: '',
        osImageURL: '',
        releaseVersion: '4.23.0',
      },
    });
    const image = withDigest(config.spec.renderedImagePushSpec, `sha256:${'a'.repeat(64)}`);
    const at = new Date('2026-01-01T00:00:00.900Z');
    const build = machineOSBuildObject(config, name, renderedConfig);
    const buildStatus = seededBuildStatus(image, at, at);
    await rig.client.create(machineOSBuilds, build as never);
    await rig.client.mergeStatus(ref(name), buildStatus);
    const { metadata } = await rig.client.create(machineOSConfigs, made);
    const configStatus = handedOverStatus({ name, image, generation: 1 });
    await rig.client.mergeStatus({ kind: machineOSConfigs, name: 'infra' }, configStatus);
    const owned = buildOwnership({ name: 'infra', uid: metadata.uid ?? '' });
    await rig.client.merge(ref(name), { metadata: owned });
    const stored = await rig.client.get(ref(name));
    expect(stored?.metadata).toMatchObject(owned);
    expect(stored).toMatchObject({ ...build, status: buildStatus });
    const storedConfig = await rig.client.get({ kind: machineOSConfigs, name: 'infra' });
    expect(storedConfig).toMatchObject({ spec: config.spec, status: configStatus });
    expect(stored?.['spec']).toEqual(build.spec);
  });
});
