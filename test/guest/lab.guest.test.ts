import { expect, it } from 'vitest';

import { runLab } from '../lab/run-lab.ts';

/** Manifest and config are asked for besides the new layers, which are smaller here. */
const manifestsBytes = 20_000;

it('the lab builds the image of a MachineOSConfig while a machine is installed, which boots once, straight into it', async () => {
  const osConfig = ['--os-config', 'mocks/lab/vm/os-config.yaml'];
  const { exitCode, output, report } = await runLab([
    ...['--vm', '--scenario', 'one-master'],
    ...osConfig,
  ]);
  expect(report.differences, output).toEqual([]);
  expect(exitCode).toBe(0);
  expect(output).toContain('as expected');
  const { hosts, layering } = report;
  const [built] = layering?.images ?? [];
  expect(built).toMatchObject({ pool: 'master' });
  expect(hosts).toMatchObject([{ outcome: 'done', boots: 1, system: built?.image, writes: 1 }]);
  const { newBytes = 0, pulledBytes = 0 } = built ?? {};
  expect(pulledBytes).toBeGreaterThan(newBytes);
  expect(pulledBytes).toBeLessThan(newBytes + manifestsBytes);
});
