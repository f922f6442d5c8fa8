import { describe, expect, it } from 'vitest';
import { layeredCluster, masterBuild } from '../../../test/layering/layered-pool.ts';
import { planRollback } from '../../layering/hand-over/rollback.ts';
import { bootwright } from '../program/commands.ts';
import { renderRollback } from './in-cluster.ts';

describe('the text of layer rollback', () => {
  it('says what goes and which nodes change', () => {
    const plan = planRollback(
      'master',
      layeredCluster({ build: { metadata: { name: masterBuild } } }),
    );
    const text = renderRollback(plan);
    expect(text).toContain('MachineOSConfig master is deleted');
    expect(text).toContain(`MachineOSBuild ${masterBuild} has no owner`);
    expect(text).toContain('one after the other, each with a drain and reboots:\n  m1, m2\n');
  });

  it('says that no node changes where none has the image', () => {
    expect(renderRollback(planRollback('master', layeredCluster({ nodes: [] })))).toContain(
      'no node changes',
    );
  });

  it('says that there is nothing to roll back', () => {
    expect(renderRollback(planRollback('worker', layeredCluster()))).toMatch(
      /nothing to roll back/,
    );
  });
});

describe('the command line of both', () => {
  const layer = (...words: readonly string[]): Promise<number> =>
    bootwright().run(['layer', ...words]);

  it.each([
    [['status'], 'cli.bad-flag'],
    [['status', '--kubeconfig', 'x', '--format', 'xml'], 'cli.bad-flag'],
    [['rollback', '--kubeconfig', 'x'], 'cli.bad-flag'],
    [['status', '--kubeconfig', '/none/such'], 'config.file-not-read'],
    [
      ['rollback', '--kubeconfig', '/none/such', '--pool', 'master', '--yes'],
      'config.file-not-read',
    ],
  ])('refuses %j', async (words, code) => {
    await expect(layer(...words)).rejects.toMatchObject({ code });
  });
});
