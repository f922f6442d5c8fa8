import { describe, expect, it } from 'vitest';
import {
  type LayeredPool,
  masterBuild,
  masterImage,
  masterRendered,
} from '../../../test/layering/layered-pool.ts';
import { rollOutCluster } from '../../../test/layering/roll-out.ts';
import { poolProgress } from '../../layering/roll-out/progress.ts';
import { renderPools, renderPoolsJson } from './status.ts';

const progress = (change: LayeredPool = {}, pool = 'master') =>
  poolProgress(pool, rollOutCluster(change));

const text = (change: LayeredPool = {}, pool = 'master', width = 160): string =>
  renderPools([progress(change, pool)], width);

describe('renderPools', () => {
  it('shows all properties of an updated pool', () => {
    expect(text().split('\n')).toEqual([
      'pool master',
      '  state             UPDATED',
      '  run by            the Machine Config Operator: Deployment machine-config-controller is there',
      '  MachineOSConfig   pushes to registry.example.com/ocl/master:latest',
      `  MachineOSBuild    ${masterBuild}: Succeeded`,
      `  image             ${masterImage}`,
      `  why this one      MachineOSBuild ${masterBuild} of ${masterRendered}, built in the cluster`,
      `  MachineConfig     ${masterRendered}`,
      '  nodes             2 of 2 run the image',
      '    m1              Done',
      '    m2              Done',
      '',
    ]);
  });

  it('shows violations, what each node waits for, and what to do', () => {
    const shown = text({
      node: { currentImage: 'x', desiredImage: 'x' },
      pool: { configuration: { name: masterRendered }, paused: true },
    });
    expect(shown).toContain('pool master (paused)');
    expect(shown).toContain('    m1              Done; waits: the pool is paused; runs x\n');
    expect(shown).toContain('  violation         I1: node m1 currentImage is x, expected');
    expect(shown).toContain(
      '  to do             unpause the pool: oc patch machineconfigpool/master',
    );
  });

  it('reports a violation of an updating pool only when it is degraded', () => {
    const conditions = { Updated: 'False', Updating: 'True' };
    const node = { currentImage: 'x' };
    const shown = text({ node, conditions });
    expect(shown).toContain('  state             UPDATING\n');
    expect(shown).toContain('  not yet           I1: node m1 currentImage is x, expected');
    expect(shown).not.toContain('violation');
    const degraded = text({ node, conditions: { ...conditions, Degraded: 'True' } });
    expect(degraded).toContain('  state             UPDATING, DEGRADED\n');
    expect(degraded).toContain('  violation         I1: node m1 currentImage is x');
  });

  it.each([80, 160])('wraps at %i columns except for longer names', (width) => {
    const shown = text(
      {
        node: { state: 'Degraded', reason: 'the image cannot be pulled because '.repeat(9).trim() },
        nodes: ['a-node-with-a-long-name.example.com'],
      },
      'master',
      width,
    );
    const long = shown.split('\n').filter((line) => line.length > width);
    // A longer line has only a name after its label.
    expect(long.filter((line) => line.slice(20).includes(' '))).toEqual([]);
    expect(shown).toContain(
      '    a-node-with-a-long-name.example.com\n                    Degraded; the image',
    );
  });

  it('reports a pool that is not layered', () => {
    expect(text({}, 'worker')).toBe('pool worker\n  layered           no\n');
  });

  it('shows nodes that still have an image without a MachineOSConfig', () => {
    const left = poolProgress('master', { ...rollOutCluster(), osConfigs: [] });
    const shown = renderPools([left], 160);
    expect(shown).toContain('MachineOSConfig   none');
    expect(shown).toContain('0 of 2 run the image');
  });

  it('renders the pools as JSON', () => {
    const { pools } = JSON.parse(renderPoolsJson([progress()])) as { pools: object[] };
    expect(pools).toMatchObject([
      {
        pool: 'master',
        image: masterImage,
        violations: [],
        actions: [],
        runner: { by: 'machine-config-operator' },
        origin: { build: masterBuild },
        nodes: [{ name: 'm1', waitsFor: '' }, { name: 'm2' }],
      },
    ]);
  });
});
