import { beforeAll, describe, expect, it } from 'vitest';
import { cornerOf } from './corners.ts';
import { install, type Straight } from './processes.ts';

/** Commands that must come in this order; those of another list may stand between them. */
type Sequence = readonly string[];

// What the Go agent runs in the role bootstrap, by its source (openshift/assisted-installer at
// commit 880389d4): `src/installer/installer.go`, startBootstrap and below.
const start: Sequence = [
  'mkdir -p /opt/install-dir',
  'mkdir -p /root/.ssh',
  'mkdir -p /root/.docker',
  'mv /opt/extracted_from_ignition.json /root/.docker/config.json',
  'podman run --net host --pid=host --volume /:/rootfs:rw --volume /usr/bin/rpm-ostree:/usr/bin/rpm-ostree --privileged --entrypoint /usr/bin/machine-config-daemon registry.example/mco:1 start --node-name localhost --root-mount /rootfs --once-from /opt/install-dir/bootstrap.ign --skip-reboot',
  'ssh-keygen -q -f /root/.ssh/id_rsa -N ',
  'systemctl daemon-reload',
  'systemctl restart NetworkManager.service',
  'stat /usr/bin/oc',
  'mkdir -p /opt/openshift/manifests',
  'systemctl start bootkube.service',
  'systemctl start approve-csr.service',
  'systemctl start progress.service',
];
const disk: Sequence = [
  'vgs --noheadings -o vg_name,pv_name',
  'coreos-installer install --insecure -i /opt/install-dir/master-H.ign /dev/sda',
  'test -d /sys/firmware/efi',
  'stat /run/media/iso/registry',
];
const end: Sequence = [
  'systemctl status bootkube.service',
  'systemctl status progress.service',
  'systemctl list-units --no-legend ironic-agent.service',
];
const single = start.filter((argv) => !/^ssh-keygen|NetworkManager/.test(argv));

/** The first command of a sequence that does not come after those before it. */
function outOfOrder(ran: readonly string[], sequence: Sequence): string | undefined {
  let from = 0;
  return sequence.find((wanted) => {
    const at = ran.indexOf(wanted, from);
    from = at + 1;
    return at === -1;
  });
}

const ranBy = ({ machine }: Straight): readonly string[] =>
  machine.ran.map(({ argv }) => argv.join(' '));

describe('a bootstrap host', () => {
  let straight: Straight;
  beforeAll(async () => {
    straight = await install({ config: cornerOf('bootstrap', {}), plan: {} });
  });

  it.each([
    ['starts the control plane', start],
    ['writes its disk', disk],
    ['waits and leaves', end],
  ])('%s with the commands of the agent that is replaced, in their order', (_, sequence) => {
    expect(outOfOrder(ranBy(straight), sequence)).toBeUndefined();
  });

  it('asks the inventory service for what the old agent asks for', () => {
    const { calls } = straight.inventory;
    for (const call of [
      'clusterFile bootstrap.ign',
      'hostIgnition master',
      'enabledHosts',
      'clusterLogsState requested',
      'logsState requested',
    ]) {
      expect(calls).toContain(call);
    }
  });

  it('tells the stages of the other hosts as theirs', () => {
    expect(
      straight.inventory.reports.map(({ host, stage }) => `${host.hostId} ${stage}`).toSorted(),
    ).toEqual(['1 Joined', '2 Joined']);
  });

  it('sends its logs as those of a bootstrap', () => {
    const sender = ranBy(straight).find((argv) => argv.includes(' logs_sender '));
    expect(sender).toMatch(/ -bootstrap=true$/);
  });
});

describe('a single node', () => {
  it('starts its control plane, and makes no key and no new network', async () => {
    const straight = await install({ config: cornerOf('single node', {}), plan: {} });
    const ran = ranBy(straight);
    expect(outOfOrder(ran, single)).toBeUndefined();
    expect(ran.filter((argv) => /ssh-keygen|NetworkManager/.test(argv))).toEqual([]);
    expect(ran).toContain(
      'coreos-installer install --insecure -i /opt/openshift/master.ign /dev/sda',
    );
    expect(straight.machine.installed?.ignition).toContain('by-bootkube');
  });
});
