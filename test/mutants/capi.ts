import type { MutantsByFile } from './mutant.ts';

/** Mutants of the providers of Cluster API: what is checked again right before a write. */
export const capiMutants: MutantsByFile = {
  'src/capi/control-plane/view.ts': [
    {
      means: 'several masters are made from the files of a single node',
      from: 'annotations[ownNames.singleNode] === undefined || spec.replicas === 1',
      to: "annotations[ownNames.singleNode] !== ' '",
    },
    {
      means: 'the kubeconfig of an earlier control plane of the name is taken for that of this one',
      from: 'found && (isFree || isControlledBy(found, uid)) ? found : undefined',
      to: 'found',
    },
    {
      means: 'an action of a control plane that is gone is done for another one of its name',
      from: 'if (controlPlane?.metadata.uid !== uid || controlPlane === undefined) return undefined;',
      to: 'if (controlPlane === undefined) return undefined;',
    },
    {
      means: 'files of an earlier control plane of the name are used',
      from: 'ownerReferences.some((owner) => owner.uid === uid)',
      to: 'ownerReferences.some((owner) => owner.uid !== undefined)',
    },
    {
      means: 'the files of a cluster that was moved are made again',
      from: "wasReady: isPublished || isConditionTrue(conditions, 'BootstrapReady')",
      to: "wasReady: isConditionTrue(conditions, 'BootstrapReady')",
    },
  ],
  'src/capi/control-plane/installer-jobs.ts': [
    {
      means: 'a cluster is made from an install-config that was corrected meanwhile',
      from: 'await removeFormer(kube, job, signal);',
      to: '',
    },
  ],
  'src/capi/control-plane/guest-hosts.ts': [
    {
      means: 'a host is installed once another one with its address has a node',
      from: 'if (host === undefined || another !== undefined) continue;',
      to: 'if (host === undefined) continue;',
    },
    {
      means: 'the node of a host is given to another one too',
      from: 'free.delete(node);',
      to: 'free.has(node);',
    },
  ],
  'src/capi/inventory/routes.ts': [
    {
      means: 'a host gets the files of a former control plane of the name',
      from: 'if (assets === undefined || !isControlledBy(assets, uid))',
      to: 'if (assets === undefined)',
    },
    {
      means: 'a host gets its Ignition although masters contradict each other',
      from: "if (status === 'False') throw new RefusedCall(409, message, later);",
      to: "if (status === 'True') throw new RefusedCall(409, message, later);",
    },
    {
      means: 'a master writes its disk although another one has its name',
      from: 'if (!isWorker) await requireValidHosts(scope);',
      to: 'if (isWorker) await requireValidHosts(scope);',
    },
    {
      means: 'the bootstrap host begins although masters contradict each other',
      from: 'if (key === assetKeys.bootstrapIgnition) await requireValidHosts(scope);',
      to: 'if (key === assetKeys.masterIgnition) await requireValidHosts(scope);',
    },
    {
      means: 'a Secret of somebody else gets the log of a host',
      from: 'if (before !== undefined && !isControlledBy(before, config.metadata.uid))',
      to: "if (before !== undefined && before.metadata.name === '')",
    },
    {
      means: 'a host uploads the log of another',
      from: "if (type === 'host') requireOwn(caller, { host: of });",
      to: "if (type === '') requireOwn(caller, { host: of });",
    },
  ],
  'src/capi/host-checks.ts': [
    {
      means: 'a Machine that is going holds back the one that follows it on its host',
      from: 'metadata.deletionTimestamp === undefined',
      to: "metadata.name !== ''",
    },
    {
      means: 'masters wait for an infrastructure that reports nothing',
      from: "unknown('NotReported', why)",
      to: "{ type, status: 'False', reason: 'NotReported', message: why }",
    },
    {
      means: 'masters wait for the name of the system that inspected them',
      from: '.filter((one) => !isLocal(one))',
      to: '.filter(Boolean)',
    },
    {
      means: 'masters wait for names that are resolved on them',
      from: "name === '' || name.includes('$') ? undefined : name",
      to: "name === '' ? undefined : name",
    },
  ],
  'src/capi/objects.ts': [
    {
      means: 'a Cluster that is paused is changed',
      from: "partOf(cluster, 'spec', 'paused') === true ||",
      to: "partOf(cluster, 'spec', 'paused') === undefined ||",
    },
  ],
  'src/capi/control-plane/make-assets.ts': [
    {
      means: 'files are kept although their control plane was paused, ended or replaced meanwhile',
      from: 'if (view?.cluster === undefined || !isDue(scope, view)) return {};',
      to: 'if (view?.cluster === undefined) return {};',
    },
    {
      means: 'files are kept although what they were made of has changed',
      from: 'if (again.hash !== given.hash) return { after: 0 };',
      to: "if (again.hash === '') return { after: 0 };",
    },
  ],
  'src/capi/control-plane/decide.ts': [
    {
      means: 'the finalizer goes while Machines are there',
      from: 'if (machines.length === 0)',
      to: 'if (machines.length >= 0)',
    },
    {
      means: 'a single node is made while its number of masters can still be changed',
      from: 'replicas > 1 || status?.assets !== undefined',
      to: 'replicas > 0',
    },
    {
      means: 'masters are made before the bootstrap host is ready',
      from: 'if (hosts.length >= replicas || !(isFirst || isBootstrapReady)) return [];',
      to: 'if (hosts.length >= replicas) return [];',
    },
    {
      means:
        'masters trust the config servers of masters while that of the bootstrap host serves them',
      from: 'isBootstrapComplete && isNewAuthority(view, guest)',
      to: 'isNewAuthority(view, guest)',
    },
  ],
  'src/capi/bootstrap/controller.ts': [
    {
      means: 'a host whose token was removed is refused for ever',
      from: '(!isDone && !hasToken)',
      to: 'isDone',
    },
    {
      means: 'a token that nobody was given is made for a host that was moved',
      from: "if (given === undefined && existing !== undefined && isProvisioned(view.machine)) return '';",
      to: '',
    },
    {
      means: 'what a host has read is changed after its cluster was moved',
      from: "hasInfrastructure(machine) || textAt(machine, 'spec', 'providerID') !== ''",
      to: 'hasInfrastructure(machine)',
    },
  ],
  'src/capi/control-plane/remediate.ts': [
    {
      means: 'a master is replaced before the bootstrap is complete',
      from: 'if (!facts.isBootstrapComplete)',
      to: 'if (facts.isBootstrapLost)',
    },
    {
      means: 'a master is replaced while another Machine is being deleted',
      from: 'if (facts.hosts.some(({ isDeleting }) => isDeleting))',
      to: 'if (facts.hosts.every(({ isDeleting }) => isDeleting))',
    },
    {
      means: 'a master is replaced although etcd loses its quorum',
      from: 'return others.length < quorum',
      to: 'return others.length < 0',
    },
    {
      means: 'a master that may not be deleted any more is deleted all the same',
      from: 'return refused.has(subject) && refused.get(subject) === undefined',
      to: 'return refused.size >= 0',
    },
    {
      means: 'replacements that fail are replaced for ever',
      from: 'if (retryOf(host, now) > maxRetry)',
      to: 'if (retryOf(host, now) < 0)',
    },
    {
      means: 'two Machines follow one that was replaced, or none is done with',
      from: 'machines.some((one) => remediationFor(one)?.uid === record?.uid);',
      to: 'machines.some((one) => remediationFor(one)?.uid === record?.machine);',
    },
  ],
  'src/capi/control-plane/perform.ts': [
    {
      means: 'a Machine of another control plane is taken for its own',
      from: 'if (isOwn && deletionTimestamp === undefined) return;',
      to: 'if (isOwn || deletionTimestamp === undefined) return;',
    },
  ],
};
