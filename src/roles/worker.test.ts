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
    .filter((id) => /^(layering|image|cluster)\//.test(id));

describe('a worker', () => {
  it('deploys the image of its pool after the masters, and overwrites the OS last', () => {
    expect(idsWith('registry.example/ocl/worker').slice(-6)).toEqual([
      'image/write',
      'cluster/wait-for-control-plane',
      'layering/find-worker-image',
      'layering/deploy-worker-image',
      'layering/overlay-worker-config',
      'layering/overwrite-os',
    ]);
  });

  it('has the same steps without a repository, and no layering steps with layering off', () => {
    expect(idsWith('')).toEqual(idsWith('registry.example/ocl/worker'));
    expect(idsWith('', 'off').slice(-3)).toEqual([
      'image/write',
      'cluster/wait-for-control-plane',
      'layering/overwrite-os',
    ]);
  });
});
