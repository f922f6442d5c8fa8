import { describe, expect, it } from 'vitest';
import { OS_REPOSITORY_PATH, repositoryConfig, repositoryIn } from './os-repository.ts';

const told = { pool: 'worker', repository: 'registry.example:5000/ocl/worker' };
const served = (...files: readonly object[]): string =>
  JSON.stringify({ ignition: { version: '3.2.0' }, storage: { files } });

describe('the repository of a pool', () => {
  it('is read from what is served as it was told', () => {
    const { spec } = repositoryConfig(told) as { spec: { config: object } };
    expect(repositoryIn(JSON.stringify(spec.config))).toBe(told.repository);
  });

  it('belongs to its pool', () => {
    expect(repositoryConfig(told)['metadata']).toEqual({
      name: '99-bootwright-os-repository-worker',
      labels: { 'machineconfiguration.openshift.io/role': 'worker' },
    });
  });

  it('is not told by other files, nor by an empty config', () => {
    expect(repositoryIn(served())).toBeUndefined();
    expect(repositoryIn('{"ignition":{"version":"3.2.0"}}')).toBeUndefined();
    const other = { path: `${OS_REPOSITORY_PATH}.bak`, contents: { source: 'data:,x' } };
    expect(repositoryIn(served(other))).toBeUndefined();
  });
});
