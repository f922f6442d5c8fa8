import { imageOf } from './os-samples.ts';
import { coreOsNode, type NodeWorld } from './core-os-node.ts';
import type { FakeHost } from './fake-host.ts';

/** The command that deploys image 2. */
export const rebase = [
  'rpm-ostree',
  'rebase',
  '--experimental',
  `ostree-unverified-registry:${imageOf('2')}`,
];

/** The commands that changed the node. */
export const changing = (host: FakeHost): FakeHost['ran'] =>
  host.ran.filter(
    ([program = '', verb = '', ...words]) =>
      ['rebase', 'cleanup', 'upgrade', 'reboot', 'switch'].includes(verb) ||
      (verb === 'kargs' && words.some((word) => /^--(append|delete)/.test(word))) ||
      ['unshare', 'mkdir', 'ln'].includes(program),
  );

/** A CoreOS node that the Machine Config Operator manages. */
export function operatorsNode(world?: NodeWorld): ReturnType<typeof coreOsNode> {
  const node = coreOsNode(world);
  node.host.on(['test', '-e', '/etc/machine-config-daemon/currentconfig']).succeeds();
  return node;
}
