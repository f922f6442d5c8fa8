import { describe, expect, it } from 'vitest';

import { type GuestShape, qemuArguments } from './qemu-argv.ts';

const bios: GuestShape = { firmware: 'bios', disks: [] };
const logs = { serialLogs: ['/t/console.txt', '/t/job.txt'] };

/** The values that follow an option. */
function valuesOf(option: string, argv: readonly string[]): string[] {
  return argv.filter((_value, index) => argv[index - 1] === option);
}

describe('qemuArguments', () => {
  it('emulates a processor without the instruction that kills the guest', () => {
    const argv = qemuArguments(bios, logs);
    expect(valuesOf('-cpu', argv)[0]?.split(',')).toContain('-cx16');
    expect(valuesOf('-accel', argv)).toEqual(['tcg,thread=multi']);
  });

  it('takes another accelerator with the processor of the machine', () => {
    const argv = qemuArguments(bios, logs, 'kvm');
    expect([valuesOf('-accel', argv), valuesOf('-cpu', argv)]).toEqual([['kvm'], ['host']]);
  });

  it.each([
    ['read-only', 'readonly=on'],
    ['kept', 'discard=unmap'],
    ['throwaway', 'snapshot=on'],
  ] as const)('opens a disk that is %s', (writes, option) => {
    const disk = { path: '/t/d.raw', serial: 'target', writes, sectorBytes: 4096 } as const;
    const argv = qemuArguments({ ...bios, disks: [disk] }, logs);
    expect(valuesOf('-drive', argv)[0]?.split(',')).toContain(option);
    const device = valuesOf('-device', argv).find((value) => value.startsWith('virtio-blk'));
    expect(device?.split(',')).toEqual(
      expect.arrayContaining(['serial=target', 'logical_block_size=4096', 'bootindex=1']),
    );
  });

  it('forwards ports both ways on loopback alone', () => {
    const argv = qemuArguments(
      {
        ...bios,
        guestForwards: [{ guestAddress: '10.0.2.100', guestPort: 443, hostPort: 8443 }],
        hostForwards: [{ hostPort: 2222, guestPort: 22 }],
      },
      logs,
    );
    expect(valuesOf('-netdev', argv)[0]?.split(',')).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^guestfwd=tcp:10\.0\.2\.100:443-cmd:\/.*\/forward\.sh 8443$/),
        'hostfwd=tcp:127.0.0.1:2222-:22',
      ]),
    );
  });

  it('starts from the network, in a subnet of its own, by the ROM of the interface', () => {
    const networkBoot = { folder: '/t/tftp', file: 'boot.ipxe' };
    const argv = qemuArguments({ ...bios, networkBoot, subnet: '192.0.2' }, logs);
    expect(valuesOf('-netdev', argv)[0]?.split(',')).toEqual([
      ...['user', 'id=net', 'ipv6=off', 'net=192.0.2.0/24', 'host=192.0.2.2', 'dns=192.0.2.3'],
      ...['dhcpstart=192.0.2.15', 'tftp=/t/tftp', 'bootfile=boot.ipxe'],
    ]);
    expect(argv).toContain('virtio-net-pci,netdev=net,bootindex=0');
    expect(qemuArguments(bios, logs)).toContain('virtio-net-pci,netdev=net,romfile=');
  });

  it('puts a disk that has a WWN behind a SCSI controller', () => {
    const disk = { path: '/t/d.raw', serial: 'target', writes: 'kept', wwn: '0x5000' } as const;
    const devices = valuesOf('-device', qemuArguments({ ...bios, disks: [disk] }, logs));
    const controller = devices.indexOf('virtio-scsi-pci,id=scsi');
    expect(controller).toBeGreaterThanOrEqual(0);
    expect(devices[controller + 1]).toMatch(/^scsi-hd,bus=scsi\.0,serial=target,wwn=0x5000,/);
  });

  it('gives UEFI its code read-only and its variables to write', () => {
    const firmware = { code: '/f/code.fd', variables: '/t/vars.fd' };
    const drives = valuesOf(
      '-drive',
      qemuArguments({ ...bios, firmware: 'uefi' }, { ...logs, firmware }),
    );
    expect(drives).toEqual([
      'if=pflash,format=raw,readonly=on,file=/f/code.fd',
      'if=pflash,format=raw,file=/t/vars.fd',
    ]);
  });
});
