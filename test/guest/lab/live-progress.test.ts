import { describe, expect, it } from 'vitest';
import { progressIn } from './live-progress.ts';

const console = `[    0.000000] Linux version 6.12.117+deb13-cloud-amd64 (debian-kernel)
INFO     : Ignition 2.14.0
INFO     : Stage: fetch
INFO     : Stage: files
[   30.1] systemd[1]: Starting bootwright.service - Install this host...
[   40.2] bootwright[235]: {"level":"info","msg":"step started","title":"Write the image"}
[   41.2] bootwright[235]: {"level":"info","msg":"stage reported","info":"11%"}
[   41.3] bootwright[235]: {"level":"info","msg":"step sta
[   42.4] logger[301]: info step started title="Write the image"
[   50.5] bootwright[235]: failed: disk.missing: there is no disk
[   50.5] bootwright[235]: next: give another
[   60.6] bootwright[235]: {"msg":"step started","title":"is cut`;

describe('the progress of a live system', () => {
  it('is told once, from the kernel to the last lines of an agent that fails', () => {
    expect(progressIn(console)).toEqual([
      'the live system starts',
      'Ignition writes the unit and its configuration',
      'podman starts the agent',
      'Write the image',
      'failed: disk.missing: there is no disk',
      'next: give another',
    ]);
  });
});
