import { describe, expect, it } from 'vitest';
import { readOptions } from './options.ts';

describe('the options of the lab', () => {
  it.each([
    [[], undefined],
    [['--firmware', 'bios'], undefined],
    [['--vm'], 'uefi'],
    [['--vm', '--firmware', 'bios'], 'bios'],
  ])('%j install a virtual machine by %s', (args, vm) => {
    expect(readOptions(args).vm).toBe(vm);
  });

  it.each([
    [[], 'cluster'],
    [['--vm'], 'cluster'],
    [['--vm', '--scenario', 'one-master'], 'one-master'],
  ])('%j run the scenario %s', (args, scenario) => {
    expect(readOptions(args).scenario).toBe(scenario);
  });

  it('take a MachineOSConfig for a virtual machine', () => {
    const args = ['--vm', '--scenario', 'one-master', '--os-config', 'os.yaml'];
    expect(readOptions(args).osConfig).toBe('os.yaml');
  });

  it('take no scenario for a machine without a service', () => {
    expect(readOptions(['--vm', '--no-service']).isWithoutService).toBe(true);
    expect(readOptions(['--vm']).isWithoutService).toBe(false);
  });

  it('take no scenario and no virtual machine for Cluster API', () => {
    expect(readOptions(['--capi', '--page']).isByCapi).toBe(true);
    expect(readOptions([]).isByCapi).toBe(false);
  });

  it.each([
    [[], false, undefined],
    [['--page'], true, undefined],
    [['--page-file', 'run.html'], false, 'run.html'],
  ])('%j serve a page: %s, kept in %s', (args, isPage, pageFile) => {
    expect(readOptions(args)).toMatchObject({ isPage, pageFile });
  });

  it.each([
    [['--no-service']],
    [['--vm', '--no-service', '--scenario', 'one-master']],
    [['--vm', '--no-service', '--report', 'r.json']],
    [['--vm', '--firmware', 'coreboot']],
    [['--capi', '--vm']],
    [['--capi', '--scenario', 'one-master']],
    [['--guest']],
    [['--scenario', 'one-master', '--os-config', 'os.yaml']],
  ])('%j are refused', (args) => {
    expect(() => readOptions(args)).toThrow(TypeError);
  });
});
