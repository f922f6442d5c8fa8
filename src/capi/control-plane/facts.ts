import { ladders, type Stage, stages } from '../../model/stage.ts';
import { hours, type Millis, minutes, seconds } from '../../model/duration.ts';
import { type BootstrapConfig, type Machine, type OwnedMetadata, ownNames } from '../api.ts';
import { isConditionTrue } from '../conditions.ts';
import type { ControlPlaneView } from './view.ts';
import { isClusterPaused, isControlledBy } from '../objects.ts';

/** A host of the control plane. */
export interface HostFact {
  readonly machine: Machine;
  readonly config: BootstrapConfig | undefined;
  readonly isBootstrap: boolean;
  readonly isDeleting: boolean;
  /** Empty before its first report. */
  readonly stage: Stage | '';
}

/** What follows from a view alone. */
export interface ControlPlaneFacts {
  readonly isDeleting: boolean;
  readonly isPaused: boolean;
  readonly isInfrastructureReady: boolean;
  /** Whether the Secret with the installer's files is its own. */
  readonly hasAssets: boolean;
  /** They were made so long ago that no bootstrap can be begun with them. */
  readonly isExpired: boolean;
  readonly hosts: readonly HostFact[];
  readonly bootstrap: HostFact | undefined;
  /** The bootstrap host has a control plane that others can join. */
  readonly isBootstrapReady: boolean;
  readonly isBootstrapComplete: boolean;
  /** The bootstrap host is gone after others may have begun with it: nothing can continue. */
  readonly isBootstrapLost: boolean;
  readonly isInitialized: boolean;
  readonly replicas: number;
}

/** The installer's certificates of a bootstrap (openshift/installer, `pkg/asset/tls`, ValidityOneDay). */
export const assetsLifetime: Millis = hours(24);

/** What is still needed of that to come to the end of a bootstrap. */
export const assetsReserve: Millis = hours(2);

const isAtLeast = (stage: Stage | '', wanted: Stage, ladder: readonly Stage[]): boolean =>
  stage !== '' && stage !== 'Failed' && ladder.indexOf(stage) >= ladder.indexOf(wanted);

/** What follows from a view. */
export function controlPlaneFacts(view: ControlPlaneView, now: number): ControlPlaneFacts {
  const { controlPlane, assets } = view;
  const { metadata, spec, status } = controlPlane;
  const replicas = spec.replicas ?? 3;
  const hosts = view.machines.map((machine) => hostOf(machine, view.configs));
  const bootstrap = hosts.find(({ isBootstrap }) => isBootstrap);
  const reached = bootstrapOf(view, bootstrap, replicas === 1);
  const hasAssets = areOwnAssets(view);
  const generatedAt = Date.parse(assets?.metadata.annotations?.[ownNames.generatedAt] ?? '');
  const isOld = now > generatedAt + assetsLifetime - assetsReserve;
  return {
    ...{ hosts, bootstrap, replicas, hasAssets, ...reached },
    isDeleting: metadata.deletionTimestamp !== undefined,
    isPaused: isClusterPaused(view.cluster, controlPlane),
    isInfrastructureReady: isInfrastructureReady(view),
    isExpired: hasAssets && !reached.isBootstrapReady && isOld,
    isInitialized: status?.initialization?.controlPlaneInitialized ?? status?.initialized ?? false,
  };
}

function isInfrastructureReady({ cluster }: ControlPlaneView): boolean {
  const { initialization } = cluster?.status ?? {};
  const { controlPlaneEndpoint } = cluster?.spec ?? {};
  const hasEndpoint = (controlPlaneEndpoint?.host ?? '') !== '';
  return initialization?.infrastructureProvisioned === true && hasEndpoint;
}

/** How far the bootstrap is, by what is recorded of it or by its host. */
function bootstrapOf(
  view: ControlPlaneView,
  bootstrap: HostFact | undefined,
  isSingleNode: boolean,
): Pick<ControlPlaneFacts, 'isBootstrapReady' | 'isBootstrapComplete' | 'isBootstrapLost'> {
  const ladder = ladders[isSingleNode ? 'single-node' : 'bootstrap'];
  const first = isSingleNode ? 'Waiting for bootkube' : 'Waiting for control plane';
  const hasReached = (stage: Stage): boolean => isAtLeast(bootstrap?.stage ?? '', stage, ladder);
  const isNode = bootstrap?.machine.status?.nodeRef !== undefined;
  const { wasReady, wasComplete } = recorded(view);
  const isBootstrapComplete = wasComplete || hasReached('Rebooting') || isNode;
  const isBootstrapReady = isBootstrapComplete || wasReady || hasReached(first);
  const isBootstrapLost = isBootstrapReady && !isBootstrapComplete && bootstrap === undefined;
  return { isBootstrapReady, isBootstrapComplete, isBootstrapLost };
}

/**
 * A status is not moved with its cluster (clusterctl), a Secret is: the kubeconfig is published once the API has answered, and first
 * renewed once the bootstrap is complete.
 */
function recorded({ controlPlane, kubeconfig }: ControlPlaneView) {
  const { conditions } = controlPlane.status ?? {};
  const isPublished =
    kubeconfig !== undefined && isControlledBy(kubeconfig, controlPlane.metadata.uid);
  const isRenewed =
    isPublished && kubeconfig.metadata.annotations?.[ownNames.renewAt] !== undefined;
  return {
    wasReady: isPublished || isConditionTrue(conditions, 'BootstrapReady'),
    wasComplete: isRenewed || isConditionTrue(conditions, 'BootstrapComplete'),
  };
}

/** Whether the Secret with the installer's files is of this control plane, and not of one before it. */
function areOwnAssets({ controlPlane, assets }: ControlPlaneView): boolean {
  const { annotations = {}, ownerReferences = [] }: Partial<OwnedMetadata> = assets?.metadata ?? {};
  const { uid } = controlPlane.metadata;
  return (
    annotations[ownNames.inputsHash] !== undefined &&
    ownerReferences.some((owner) => owner.uid === uid)
  );
}

function hostOf(machine: Machine, configs: ControlPlaneView['configs']): HostFact {
  const config = configs.get(machine.spec.bootstrap.configRef?.name ?? machine.metadata.name);
  const stage = config?.status?.progress?.stage ?? '';
  return {
    ...{ machine, config },
    isBootstrap: machine.metadata.annotations?.[ownNames.role] === 'bootstrap',
    isDeleting: machine.metadata.deletionTimestamp !== undefined,
    stage: stages.find((one) => one === stage) ?? '',
  };
}

/** A duration as Go writes it, `1h30m` for example; undefined where it is none. */
export function readDuration(text: string): Millis | undefined {
  if (!/^(\d{1,9}[hms])+$/.test(text)) return undefined;
  const units = { h: hours, m: minutes, s: seconds };
  return [...text.matchAll(/(\d{1,9})([hms])/g)]
    .map(([, count, unit]) => units[unit as keyof typeof units](Number(count)))
    .reduce((sum, one) => sum + one, 0);
}
