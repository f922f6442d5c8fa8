import {
  appendFile,
  mkdir,
  mkdtemp,
  rename,
  rm,
  symlink,
  unlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { systemClock } from '../../src/adapters/clock.ts';
import { nsenterHost } from '../../src/adapters/host/nsenter-host.ts';
import { followHosts } from '../../src/steps/cluster/follow-hosts.ts';
import { fakeInventory, inventoryHost } from '../support/fake-inventory.ts';
import { runStep } from '../support/run-step.ts';

const pod = 'openshift-machine-config-operator_mcs_1/machine-config-server';
const link = (container: string): string => `mcs_ns_machine-config-server-${container}.log`;

let root: string;
let links: string;
let logs: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'bootwright-follow-'));
  links = join(root, 'var/log/containers');
  logs = join(root, 'var/log/pods', pod);
});

afterEach(() => rm(root, { recursive: true, force: true }));

const line = (host: number): string =>
  `2026-11-21T10:00:00Z stderr F I1 api.go:109] Pool master requested by address:"10.0.0.${host}:4018" User-Agent:"Ignition/2.14.0"\n`;

function start(hosts: number) {
  const inventory = fakeInventory({
    hosts: Array.from({ length: hosts }, (_, index) =>
      inventoryHost({ id: `h${index}`, name: `h${index}`, addresses: [`10.0.0.${index}`] }),
    ),
  });
  const end = runStep(followHosts, {
    // Where images may be built, programs of the host are asked whether the config server is
    // blocked.
    config: {
      role: 'bootstrap',
      service: { url: 'http://svc.example' },
      layering: { mode: 'off' },
    },
    facts: { controlPlane: { units: [] } },
    // No command may run: without a path there is no nsenter.
    host: nsenterHost({ root, environment: { PATH: '/nonexistent' } }),
    clock: systemClock,
    inventory,
  });
  const reported = (count: number): Promise<void> =>
    expect.poll(() => inventory.reports.length, { interval: 1 }).toBe(count);
  return { inventory, end, reported };
}

it('reports hosts by real file events: through links, a rotation and another instance', async () => {
  const { inventory, end, reported } = start(5);
  await expect.poll(() => inventory.calls).toContain('enabledHosts');
  await mkdir(logs, { recursive: true });
  await mkdir(links, { recursive: true });
  await writeFile(join(logs, '0.log'), line(0));
  await symlink(`/var/log/pods/${pod}/0.log`, join(links, link('a')));
  await reported(1);

  await appendFile(join(logs, '0.log'), line(1));
  await reported(2);

  await rename(join(logs, '0.log'), join(logs, '0.log.20261121'));
  await writeFile(join(logs, '0.log'), line(2));
  await reported(3);

  await writeFile(join(logs, '1.log'), '');
  await symlink(`/var/log/pods/${pod}/1.log`, join(links, link('b')));
  await unlink(join(links, link('a')));
  await appendFile(join(logs, '1.log'), line(3));
  await reported(4);

  await appendFile(join(logs, '1.log'), line(4).slice(0, 40));
  await appendFile(join(logs, '1.log'), line(4).slice(40));
  await end;
  expect(inventory.reports.map(({ host, stage }) => `${host.hostId} ${stage}`)).toEqual(
    [0, 1, 2, 3, 4].map((host) => `h${host} Configuring`),
  );
});
