import { describe, expect, it } from 'vitest';
import {
  layeredCluster,
  type LayeredPool,
  masterBuild,
  masterImage,
} from '../../../test/layering/layered-pool.ts';
import { planRollback } from '../../layering/hand-over/rollback.ts';
import { poolStatus } from '../../layering/hand-over/pool-status.ts';
import { parseCommand } from '../parse-command.ts';
import { renderRollback, renderPoolStatuses, renderPoolStatusesJson } from './in-cluster.ts';

const status = (change: LayeredPool = {}, pool = 'master') =>
  poolStatus(pool, layeredCluster(change));

describe('the text of layer status', () => {
  it('tells all of a pool at rest', () => {
    expect(renderPoolStatuses([status()]).split('\n')).toEqual([
      'pool master',
      '  MachineOSConfig   pushes to registry.example.com/ocl/master:latest',
      `  MachineOSBuild    ${masterBuild}: Succeeded`,
      `  image             ${masterImage}`,
      `  MachineConfig     rendered-master-${'0'.repeat(32)}`,
      '  nodes             2 of 2 run the image',
      '    m1              Done',
      '    m2              Done',
      '',
    ]);
  });

  it('names what does not hold, and what a node runs instead', () => {
    const text = renderPoolStatuses([
      status({
        nodes: ['m1'],
        node: { currentImage: undefined, state: 'Working' },
        pool: { paused: true },
      }),
    ]);
    expect(text).toContain('pool master (paused)');
    expect(text).toContain(
      `    m1              Working; runs the release, desired: ${masterImage}\n`,
    );
    expect(text).toContain('  violation         I1: node m1 currentImage is not there');
  });

  it('tells of a node that stays on another image, and of one that says nothing', () => {
    const text = renderPoolStatuses([
      status({ node: { currentImage: 'x', desiredImage: 'x', state: undefined } }),
    ]);
    expect(text).toContain('no state; runs x\n');
  });

  it('has one line for a pool that is not layered', () => {
    expect(renderPoolStatuses([status({}, 'worker')])).toBe(
      'pool worker\n  layered           no\n',
    );
  });

  it('shows nodes that are left with an image when the MachineOSConfig is gone', () => {
    const left = poolStatus('master', { ...layeredCluster(), osConfigs: [] });
    const text = renderPoolStatuses([left]);
    expect(text).toContain('MachineOSConfig   none');
    expect(text).toContain('0 of 2 run the image');
  });

  it('has the same for programs', () => {
    const { pools } = JSON.parse(renderPoolStatusesJson([status()])) as { pools: object[] };
    expect(pools).toMatchObject([{ pool: 'master', image: masterImage, violations: [] }]);
  });
});

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
  const layer = async (...words: readonly string[]): Promise<number> => {
    const run = await parseCommand({ command: 'layer', args: words, environment: {} });
    return run();
  };

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
