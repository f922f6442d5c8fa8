// One suite for every Installation: the fake, and the adapter with a service behind it.
import { describe, expect, it } from 'vitest';
import type {
  Installation,
  InstallationView,
  InstallingCluster,
} from '../../src/ports/installation.ts';

/** An Installation with the service behind it. */
export interface InstallationWorld {
  readonly installation: Installation;
  /** The cluster changes past the port; whoever follows is to see it. */
  readonly changeStatus: (status: 'finalizing' | 'installed') => void;
}

/** The cluster that the service has, of which a host was taken out. */
export const installingCluster: InstallingCluster = {
  id: 'b2f4d8f0-0000-4000-8000-000000000001',
  kind: 'Cluster',
  platformType: 'none',
  name: 'lab',
  baseDomain: 'example.com',
  status: 'finalizing',
  hosts: [
    {
      id: 'b2f4d8f0-0000-4000-8000-000000000011',
      infraEnvId: 'b2f4d8f0-0000-4000-8000-000000000002',
      name: 'm0',
      role: 'master',
      status: 'installed',
      stage: 'Done',
      addresses: ['10.0.0.5'],
      labels: {},
      pool: '',
    },
    {
      id: 'b2f4d8f0-0000-4000-8000-000000000012',
      infraEnvId: 'b2f4d8f0-0000-4000-8000-000000000002',
      name: 'w0',
      role: 'worker',
      status: 'installing-in-progress',
      addresses: ['10.0.0.6'],
      labels: { 'node.example.com/rack': 'r1' },
      pool: 'infra',
    },
  ],
};

/** A report that the service takes. */
const report = {
  name: 'lso',
  version: '4.20.1',
  status: 'failed',
  statusInfo: 'no disks',
} as const;

const live = new AbortController().signal;

/** Runs the suite; each test has a world of its own. */
export function installationSuite(name: string, world: () => InstallationWorld): void {
  describe(name, () => {
    /** Follows until a view is right, and gives that one. */
    const viewWith = async (
      { installation }: Pick<InstallationWorld, 'installation'>,
      isRight: (view: InstallationView) => boolean,
    ): Promise<InstallationView> => {
      const stop = new AbortController();
      let found: InstallationView = {};
      await installation.follow((view) => {
        if (!isRight(view)) return;
        found = view;
        stop.abort();
      }, stop.signal);
      return found;
    };

    it('shows the cluster with its hosts, without those that were taken out', async () => {
      const view = await viewWith(world(), ({ cluster }) => cluster !== undefined);
      expect(view).toEqual({ cluster: installingCluster });
    });

    it('shows a change to all who follow, and to who comes later at once', async () => {
      const { installation, changeStatus } = world();
      const isInstalled = ({ cluster }: InstallationView) => cluster?.status === 'installed';
      const [one, other] = [0, 1].map(() => viewWith({ installation }, isInstalled));
      await viewWith({ installation }, ({ cluster }) => cluster !== undefined);
      changeStatus('installed');
      installation.refresh();
      expect((await one)?.cluster?.status).toBe('installed');
      expect((await other)?.cluster?.status).toBe('installed');
      expect((await viewWith({ installation }, () => true)).cluster?.status).toBe('installed');
    });

    it('is not followed by who has gone', async () => {
      let seen = 0;
      const count = (): void => {
        seen += 1;
      };
      await world().installation.follow(count, AbortSignal.abort(new Error('enough')));
      expect(seen).toBe(0);
    });

    it('takes all that is said of the end', async () => {
      const { installation } = world();
      const pem = '-----BEGIN CERTIFICATE-----\nTEFC\n-----END CERTIFICATE-----\n';
      await installation.reportFinalizing('Waiting for cluster operators', live);
      await installation.uploadIngressCa(pem, live);
      await installation.addEvent(
        {
          name: 'reboots_for_node',
          category: 'user',
          severity: 'info',
          message: 'Node m0 has been rebooted 2 times before completing installation',
          hostId: installingCluster.hosts[0]?.id ?? '',
          infraEnvId: installingCluster.hosts[0]?.infraEnvId ?? '',
        },
        live,
      );
      const result = { isSuccess: false, error: 'no console', data: { a: [1] } };
      await expect(installation.complete(result, live)).resolves.toBeUndefined();
    });

    it('lists operators, and what was reported of one', async () => {
      const { installation } = world();
      const lso = {
        ...{ name: 'lso', type: 'olm', namespace: 'openshift-local-storage' },
        ...{ subscription: 'local-storage-operator', version: '', status: '', statusInfo: '' },
      };
      expect(await installation.operators(live)).toEqual([lso]);
      await installation.reportOperator(report, live);
      expect(await installation.operators(live)).toEqual([{ ...lso, ...report }]);
    });

    it('stops with the reason of the signal', async () => {
      const reason = new Error('enough');
      const aborted = AbortSignal.abort(reason);
      const { installation } = world();
      await expect(installation.operators(aborted)).rejects.toBe(reason);
      await expect(installation.reportFinalizing('Done', aborted)).rejects.toBe(reason);
    });
  });
}
