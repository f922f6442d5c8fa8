import { failuresOf, type FailureTable } from '../../model/failure.ts';

/** Failures of the node agent; each is shown as the reason on its node. */
export const nodeAgentFailures = {
  'node-agent.config-missing': {
    kind: 'remote',
    title: 'The MachineConfig of the node does not exist',
    hint: 'check the annotation desiredConfig of the node: the pool names its MachineConfig',
  },
  'node-agent.not-of-pool': {
    kind: 'remote',
    title: 'The desired state of the node differs from its pool',
    hint: 'metadata.managedFields of the node says who wrote desiredConfig and desiredImage; only the controller of pools may',
  },
  'node-agent.unconfined': {
    kind: 'unsupported',
    title: 'No admission policy restricts the agent to its own node',
    hint: 'apply deploy/layering as a whole; it needs Kubernetes 1.30 (OpenShift 4.17)',
  },
  'node-agent.came-back': {
    kind: 'host',
    title: 'The node came back with another image than the desired one',
    hint: 'see the console and "journalctl --list-boots"; the agent tries again once another image is desired',
  },
  'node-agent.not-kept': {
    kind: 'host',
    title: 'The node does not keep what its MachineConfig says',
    hint: 'find what changes these files or kernel arguments at boot; the agent retries when the desired state changes',
  },
  'node-agent.not-rebooted': {
    kind: 'host',
    title: 'The host was asked to reboot and still runs',
    hint: 'find the job that blocks the reboot: "systemctl list-jobs", "systemd-inhibit --list"; the agent asks again',
  },
  'node-agent.uncordoned': {
    kind: 'cluster',
    title: 'The node was uncordoned between its drain and its reboot',
    hint: 'run "oc adm cordon NODE": the node is drained again and the change continues',
  },
  'node-agent.unreconcilable': {
    kind: 'unsupported',
    title: 'The MachineConfig changes what the agent cannot change',
    hint: 'disks, new links, users, kernel arguments in Ignition and FIPS: revert the change, or install the node again; extensions and kernel: build an image with them',
  },
} as const satisfies FailureTable;

/** Builds an error of the node agent. */
export const nodeAgentFailure = failuresOf(nodeAgentFailures);
