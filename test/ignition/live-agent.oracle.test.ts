import { expect, it } from 'vitest';
import { machineIgnition } from '../../src/capi/bootstrap/ignition.ts';
import { parseValidConfig } from '../../src/ignition/parse.ts';
import { readFileContent } from '../../src/ignition/resource.ts';
import { startMergeOracle } from './oracles.ts';

it('Ignition accepts the generated config of a live system', async () => {
  const registries = '[[registry]]\nlocation = "quay.io"\n';
  const text = machineIgnition({
    role: 'worker',
    clusterId: 'c-1',
    infraEnvId: 'c-1',
    hostId: 'h-1',
    inventoryUrl: 'https://inventory.test',
    inventoryCa: 'PEM',
    token: 'token',
    pullSecret: '{"auths":{}}',
    keyfiles: new Map([['eth0.nmconnection', '[connection]\nid=eth0\ntype=ethernet\n']]),
    spec: {
      agent: { image: 'r.test/agent' },
      installDevice: '/dev/vda',
      registries,
      additionalTrustBundle: 'PEM',
      // Ignition refuses a duplicate.
      sshAuthorizedKeys: ['ssh-ed25519 A', 'ssh-ed25519 A'],
      proxy: { httpsProxy: 'http://user:pass%20word@proxy.example.com:3128' },
    },
  });
  const oracle = startMergeOracle();
  expect(await oracle.ask(text)).not.toHaveProperty('error');
  await oracle.stop();
  const config = parseValidConfig(text);
  const content = (path: string): string => Buffer.from(readFileContent(config, path)).toString();
  expect(content('/etc/containers/registries.conf.d/99-bootwright.conf')).toBe(registries);
  const keyfile = '/etc/NetworkManager/system-connections/eth0.nmconnection';
  expect(content(keyfile)).toContain('id=eth0');
  expect(config.systemd?.units?.[0]?.contents).toContain('--copy-network');
});
