import { describe, expect, it } from 'vitest';
import { lastPin } from './rendered.ts';

const machineConfig = (name: string, role: string, osImageURL?: string): object => ({
  kind: 'MachineConfig',
  metadata: { name, labels: { 'machineconfiguration.openshift.io/role': role } },
  spec: { ...(osImageURL === undefined ? {} : { osImageURL }) },
});
const rendered = { metadata: { name: 'rendered-master-1' }, spec: { osImageURL: 'stock' } };

describe('what MachineConfigs name for a pool', () => {
  it.each<readonly [string, readonly unknown[], object | undefined]>([
    ['nothing, without any', [], undefined],
    ['nothing, where none names an image', [machineConfig('01', 'master')], undefined],
    ['nothing, by what was rendered of them', [rendered], undefined],
    ['nothing, by one of another pool', [machineConfig('99', 'worker', 'b')], undefined],
    [
      'the image of the last one',
      [machineConfig('98', 'master', 'a'), machineConfig('99', 'master', 'b')],
      { name: '99', image: 'b' },
    ],
    [
      'the image of one behind which none names any',
      [machineConfig('98', 'master', 'a'), machineConfig('99', 'master')],
      { name: '98', image: 'a' },
    ],
  ])('is %s', (_, objects, pin) => {
    expect(lastPin(objects, 'master')).toEqual(pin);
  });
});
