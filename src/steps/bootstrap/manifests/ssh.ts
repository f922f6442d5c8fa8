/** Lets a key in at the masters, so that the bootstrap host can gather their logs. */
export const sshMachineConfig = (publicKey: string): object => ({
  apiVersion: 'machineconfiguration.openshift.io/v1',
  kind: 'MachineConfig',
  metadata: {
    name: '99-assisted-installer-master-ssh',
    labels: { 'machineconfiguration.openshift.io/role': 'master' },
  },
  spec: {
    config: {
      ignition: { version: '3.1.0' },
      passwd: { users: [{ name: 'core', sshAuthorizedKeys: [publicKey] }] },
    },
  },
});
