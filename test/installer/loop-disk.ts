import { execFileSync } from 'node:child_process';
import { closeSync, ftruncateSync, openSync, readSync } from 'node:fs';

/** A block device on a file of the test. Its disposal detaches the device; the file stays. */
export interface LoopDisk extends Disposable {
  readonly device: string;
  readonly path: string;
}

/**
 * Attaches a new, sparse file as a loop device with partitions.
 *
 * @throws Error if this machine has no free loop device, as most containers have none.
 */
export function createLoopDisk(path: string, sizeMiB: number): LoopDisk {
  const descriptor = openSync(path, 'w');
  ftruncateSync(descriptor, sizeMiB * 1024 * 1024);
  closeSync(descriptor);
  const device = attach(path);
  return {
    device,
    path,
    [Symbol.dispose]() {
      detach(device);
    },
  };
}

/** Bytes of a disk from an offset. */
export function readDisk(path: string, offset: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  const descriptor = openSync(path, 'r');
  try {
    readSync(descriptor, bytes, 0, length, offset);
  } finally {
    closeSync(descriptor);
  }
  return bytes;
}

function attach(path: string): string {
  try {
    return run('losetup', '--find', '--show', '--partscan', path).trim();
  } catch (error) {
    throw new Error('loop devices: this machine gives us none; run as root outside a container', {
      cause: error,
    });
  }
}

function detach(device: string): void {
  // Partitions that partx added hold the device.
  try {
    run('partx', '--delete', device);
  } catch {
    // It had no partitions.
  }
  run('losetup', '--detach', device);
}

function run(program: string, ...args: string[]): string {
  return execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}
