import { machineConfigFile } from '../os/read-host.ts';
import { recordPath } from '../os/verify.ts';
import type { Change } from './change.ts';
import { run } from './host-files.ts';
import { removeMarker } from './marker.ts';
import { annotate, type NodeState } from './node-object.ts';
import type { NodeAgentScope } from './world.ts';

/** Where the Machine Config Daemon keeps its records. */
const recordFolder = '/etc/machine-config-daemon';

/** Says that the node has what it should have, on the host and in the cluster. */
export async function complete(scope: NodeAgentScope, change: Change): Promise<string> {
  const { host, signal } = scope;
  const { target, node, object } = change;
  await run(scope, ['mkdir', '-p', recordFolder]);
  await host.writeFile(machineConfigFile, JSON.stringify(object), { signal, mode: 0o600 });
  if (target.image === undefined) await host.remove(recordPath, signal);
  else await host.writeFile(recordPath, target.image, { signal, mode: 0o644 });
  const { config: currentConfig, image: currentImage } = target;
  await annotate(scope, node, { currentConfig, currentImage });
  return finish(scope, { ...node, ...target, currentConfig });
}

/** What a node waits for that has what it should have. */
export const isSettled = 'the node has what it should have';

/** Has the node uncordoned where it was drained, and ends. */
export async function finish(scope: NodeAgentScope, node: NodeState): Promise<string> {
  const { desiredDrain = '', lastAppliedDrain, desiredConfig = '' } = node;
  await removeMarker(scope.host, scope.signal);
  const uncordon = `uncordon-${desiredConfig}`;
  if (desiredDrain.startsWith('drain-')) await annotate(scope, node, { desiredDrain: uncordon });
  const isUncordoned = desiredDrain === '' || lastAppliedDrain === uncordon;
  if (desiredDrain.startsWith('drain-') || (!isUncordoned && desiredDrain === uncordon)) {
    return `the controller uncordons this node: ${uncordon}`;
  }
  await annotate(scope, node, { state: 'Done', reason: undefined });
  return isSettled;
}
