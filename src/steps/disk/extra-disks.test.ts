import { describe, expect, it } from 'vitest';
import { blockDevice, partition } from './disk-samples.ts';
import { judgeExtraDisk } from './extra-disks.ts';

const target = blockDevice('sda', {}, [partition('sda1')]);
const spare = blockDevice('sdb', {}, [partition('sdb1', {}, [blockDevice('dm-0')])]);
const stick = blockDevice('sdc', {}, [partition('sdc1', { mountpoints: ['/run/media/iso'] })]);
const roots = [target, spare, stick, blockDevice('sdd', { isReadOnly: true })];

describe('judgeExtraDisk', () => {
  it('lets a disk be formatted that only has leftovers', () => {
    expect(judgeExtraDisk(roots, { asked: '/dev/x', real: '/dev/sdb', target })).toEqual({
      kind: 'format',
      asked: '/dev/x',
      device: spare,
    });
  });

  it.each([
    ['/dev/sda', 'it is the install disk'],
    ['/dev/sda1', 'it is the install disk'],
    ['/dev/sdc', '/dev/sdc1 is mounted on /run/media/iso'],
    ['/dev/sdd', 'it is read-only'],
  ])('refuses %s: %s', (real, because) => {
    const asked = `/dev/disk/by-id${real}`;
    expect(judgeExtraDisk(roots, { asked, real, target })).toEqual({
      kind: 'refused',
      asked,
      because,
    });
  });

  it('refuses a path of the multipath device that is installed to', () => {
    const multipath = blockDevice('dm-7', { name: 'mpatha', type: 'mpath' });
    const host = [blockDevice('sda', {}, [multipath]), blockDevice('sdb', {}, [multipath])];
    const question = { asked: '/dev/sdb', real: '/dev/sdb', target: multipath };
    expect(judgeExtraDisk(host, question)).toMatchObject({ kind: 'refused' });
  });

  it('says that a disk is missing', () => {
    expect(judgeExtraDisk(roots, { asked: '/dev/q', real: '/dev/q', target })).toEqual({
      kind: 'missing',
      asked: '/dev/q',
    });
  });
});
