import { nearestName } from '../lib/nearest.ts';
import { layeringFailure } from './failures.ts';

/**
 * Packages behind each extension of a MachineConfig (Machine Config Operator, `SupportedExtensions`, 2026-08).
 * Releases before 4.22 had no openvswitch package with ipsec, and not all of the extensions.
 */
const extensionPackages: ReadonlyMap<string, readonly string[]> = new Map([
  ['ipsec', ['NetworkManager-libreswan', 'libreswan', 'openvswitch3.5-ipsec']],
  ['kerberos', ['krb5-workstation', 'libkadm5']],
  ['kernel-devel', ['kernel-devel', 'kernel-headers']],
  ['sandboxed-containers', ['kata-containers']],
  ['sysstat', ['sysstat']],
  ['two-node-ha', ['pacemaker', 'pcs', 'fence-agents-all']],
  ['usbguard', ['usbguard']],
]);

/** The kernels that a MachineConfig can ask for. */
export const kernels = ['default', 'realtime', '64k-pages'] as const;

/** A kernel by its name. */
export type KernelType = (typeof kernels)[number];

/** Packages of each kernel. */
export const kernelPackages: Readonly<Record<KernelType, readonly string[]>> = {
  default: [
    'kernel',
    'kernel-core',
    'kernel-modules',
    'kernel-modules-core',
    'kernel-modules-extra',
  ],
  realtime: ['kernel-rt-core', 'kernel-rt-modules', 'kernel-rt-modules-extra', 'kernel-rt-kvm'],
  '64k-pages': [
    'kernel-64k-core',
    'kernel-64k-modules',
    'kernel-64k-modules-core',
    'kernel-64k-modules-extra',
  ],
};

/**
 * The packages of extensions, each once, sorted.
 * @throws AgentError `layering.extension-unknown`
 */
export function packagesOfExtensions(extensions: readonly string[]): readonly string[] {
  const packages = extensions.flatMap((extension) => {
    const found = extensionPackages.get(extension);
    if (found !== undefined) return found;
    const near = nearestName(extension, extensionPackages.keys());
    throw layeringFailure('layering.extension-unknown', `extension ${extension} is not known`, {
      hint:
        near === undefined
          ? `spec.extensions knows ${[...extensionPackages.keys()].join(', ')}`
          : `did you mean ${near}`,
    });
  });
  return [...new Set(packages)].sort();
}
