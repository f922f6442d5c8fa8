import { describe, expect, it } from 'vitest';
import { readOptions } from './options.ts';

describe('the options of the lab', () => {
  it.each([
    [[], { scenario: 'cluster', vm: undefined, isPage: false, isByCapi: false }],
    [['--firmware', 'bios', '--page'], { vm: undefined, isPage: true, pageFile: undefined }],
    [['--page-file', 'run.html'], { isPage: false, pageFile: 'run.html' }],
    [['--vm'], { scenario: 'one-master', vm: 'uefi', isWithoutService: false }],
    [['--vm', '--firmware', 'bios'], { vm: 'bios' }],
    [['--vm', '--scenario', 'one-master', '--os-config', 'os.yaml'], { osConfig: 'os.yaml' }],
    [['--vm', '--no-service'], { isWithoutService: true }],
    [['--capi', '--page'], { isByCapi: true, isPage: true }],
  ])('%j are read as %o', (args, options) => {
    expect(readOptions(args)).toMatchObject(options);
  });

  it.each([
    [['--no-service']],
    [['--vm', '--scenario', 'cluster']],
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
