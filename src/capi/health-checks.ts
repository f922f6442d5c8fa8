import { countAt, listAt, partOf, textAt } from '../kube/object.ts';
import type { KubeObject } from '../ports/kube.ts';
import { type CheckResult, passedCheck, failedCheck } from './conditions.ts';

/**
 * Minimum time in seconds. A server may take half an hour to boot, and its installation most of an
 * hour.
 */
const shortest = 3600;

/** Core's default for `nodeStartupTimeoutSeconds` (Cluster API v1beta2). */
const defaultStartup = 600;

/**
 * Condition `HealthChecksValid` of a control plane: False if a MachineHealthCheck of its Cluster
 * would replace hosts that only reboot, are still being installed, or lose their switch for a
 * while. It blocks nothing.
 */
export function healthChecksFinding(
  checks: readonly KubeObject[],
  cluster: string | undefined,
): CheckResult {
  const found = checks
    .filter((check) => textAt(check, 'spec', 'clusterName') === cluster)
    .flatMap((check) => {
      const short = shortTimes(check);
      return short.length === 0
        ? []
        : `MachineHealthCheck ${check.metadata.name}: ${short.join(', ')}`;
    });
  if (found.length === 0) return passedCheck('Valid');
  return failedCheck(
    'TooShort',
    `${found.join('; ')}: a host that reboots or is installed, or each host of a switch that is down, would be installed again; write ${shortest} s or more, 0 for the start, and spec.remediation.triggerIf.unhealthyLessThanOrEqualTo`,
  );
}

/** The times of a health check that are too short. */
function shortTimes(check: KubeObject): readonly string[] {
  const startup =
    partOf(check, 'spec', 'checks', 'nodeStartupTimeoutSeconds') === undefined
      ? defaultStartup
      : countAt(check, 'spec', 'checks', 'nodeStartupTimeoutSeconds');
  const conditions = ['unhealthyNodeConditions', 'unhealthyMachineConditions'].flatMap((member) =>
    (listAt(check, 'spec', 'checks', member) as readonly KubeObject[]).flatMap((one) => {
      const seconds = countAt(one, 'timeoutSeconds');
      const what = `${textAt(one, 'type')}=${textAt(one, 'status')}`;
      return seconds < shortest ? `${what} after ${seconds} s` : [];
    }),
  );
  const isShort = startup !== 0 && startup < shortest;
  return [...(isShort ? [`no node after ${startup} s`] : []), ...conditions];
}
