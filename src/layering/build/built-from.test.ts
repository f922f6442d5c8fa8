import { describe, expect, it } from 'vitest';
import { httpd, machineConfig, osConfig } from '../../../test/layering/samples.ts';
import { builtFrom } from './built-from.ts';
import { planBuild, type PlanRequest } from './plan.ts';

const sumOf = ({ config = osConfig(), ...more }: Partial<PlanRequest> = {}): string => {
  const request = { machineConfig: machineConfig(), ...more, config };
  return builtFrom(planBuild(request), request.machineConfig);
};

describe('builtFrom', () => {
  it('is a label value, and the same for the same files', () => {
    expect(sumOf()).toMatch(/^[0-9a-f]{32}$/);
    expect(sumOf()).toBe(sumOf());
  });

  it.each<[string, Partial<PlanRequest>]>([
    [
      'the text of the user',
      { config: osConfig({ containerFile: [{ content: `${httpd}# x\n` }] }) },
    ],
    ['the MachineConfig', { machineConfig: machineConfig({ kernelArguments: ['a'] }) }],
    ['the base', { machineConfig: machineConfig({ osImageURL: 'r.test/os:1' }) }],
    ['certificates', { caBundle: 'x' }],
  ])('is another for another of %s', (_, change) => {
    expect(sumOf(change)).not.toBe(sumOf());
  });

  it('does not hang on where the image goes', () => {
    const config = osConfig({ renderedImagePushSpec: 'registry.rig.test/ocl/other:latest' });
    expect(sumOf({ config })).toBe(sumOf());
  });
});
