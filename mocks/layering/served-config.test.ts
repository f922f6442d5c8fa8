import { describe, expect, it } from 'vitest';
import {
  embedServed,
  overlayImage,
  readServedConfig,
} from '../../src/layering/manifests/served-config.ts';
import { labPullSecret } from '../registries/network.ts';
import { type LayeredPlan, releaseOs } from './plan.ts';
import { kernelArguments, renderedConfig } from './objects.ts';
import { readFirstBootConfig, readPointerOnDisk, servedIgnition } from './served-config.ts';

const plan: LayeredPlan = {
  openshiftVersion: '4.21.3',
  registry: 'registry.example.test',
  hasOwnPushUser: false,
};
const machineConfig = renderedConfig(plan, 'worker');
const rendered = machineConfig.metadata.name;
const image = `registry.example.test/ocl/worker@sha256:${'b'.repeat(64)}`;
const pointer = JSON.stringify({
  ignition: {
    version: '3.2.0',
    config: { merge: [{ source: 'http://127.0.0.1:1/config/worker' }] },
  },
});

describe('what a machine-config-server serves', () => {
  it('is the system of the release for a pool that has no image', () => {
    const text = servedIgnition({ machineConfig, image: undefined });
    expect(readServedConfig(text)).toEqual({ rendered, osImage: releaseOs });
    expect(readFirstBootConfig(text)).toMatchObject({
      rendered,
      osImage: releaseOs,
      kernelArguments,
      pullSecret: labPullSecret,
      currentImage: undefined,
    });
  });

  it('names the image of a pool in three places', () => {
    expect(readServedConfig(servedIgnition({ machineConfig, image }))).toEqual({
      rendered,
      osImage: image,
      currentImage: image,
      desiredImage: image,
    });
  });

  it('is read on a disk as the agent has changed it', () => {
    const served = overlayImage(servedIgnition({ machineConfig, image: undefined }), image);
    const found = readPointerOnDisk(embedServed(pointer, served));
    expect(found.kind).toBe('embedded');
    expect(found.kind === 'embedded' && readFirstBootConfig(found.config)).toMatchObject({
      rendered,
      osImage: image,
      currentImage: image,
      desiredImage: image,
    });
  });

  it('is found where an untouched disk points', () => {
    expect(readPointerOnDisk(pointer)).toEqual({ kind: 'served', pool: 'worker' });
  });
});
