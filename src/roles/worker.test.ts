import { describe, expect, it } from 'vitest';
import { Config } from '../config/schema.ts';
import { describeRole } from '../engine/describe.ts';
import { worker } from './worker.ts';

const stepsWith = (repository: string, mode: 'auto' | 'off' = 'auto') => {
  const config = Config.parse({
    role: 'worker',
    service: { url: 'http://service.example' },
    layering: { repository, mode },
    image: { skipMcoReboot: true },
  });
  return describeRole(worker, config).items.flatMap((item) =>
    item.kind === 'step' && item.step.isActive ? [item.step] : [],
  );
};

const idsWith = (repository: string, mode?: 'off'): readonly string[] =>
  stepsWith(repository, mode)
    .map(({ id }) => id)
    .filter((id) => /^(layering|image|control-plane)\//.test(id));

describe('a worker', () => {
  it('takes the image of its pool once the control plane is there, and writes another only without one', () => {
    expect(idsWith('registry.example/ocl/worker').slice(-6)).toEqual([
      'image/write',
      'control-plane/wait-for-masters',
      'layering/find-worker-image',
      'layering/deploy-worker-image',
      'layering/overlay-worker-config',
      'image/overwrite-os',
    ]);
  });

  it('looks the same way where nothing is said of a repository, and for nothing without layering', () => {
    expect(idsWith('')).toEqual(idsWith('registry.example/ocl/worker'));
    expect(idsWith('', 'off').slice(-3)).toEqual([
      'image/write',
      'control-plane/wait-for-masters',
      'image/overwrite-os',
    ]);
  });
});
